#!/bin/bash
# weft chat: by lines of a script, and on a terminal (tmux) where there is one.
# shellcheck source=tests/tools/lib.sh
. "$(dirname "$0")/lib.sh"
export HOME=$work XDG_STATE_HOME=$work/state TERM=xterm LC_ALL=C.UTF-8

tiny model chat
model=$work/model.gguf

# chat LINES [OPTION…]: a script of lines; stdout and stderr go to $work/out and $work/err.
chat() {
    local lines=$1
    shift
    printf '%b' "$lines" | weft chat -m "$model" --temp 0 -n 6 --stats "$@" \
        >"$work/out" 2>"$work/err"
    judge_chat $?
}
judge_chat() {
    [ "$1" = 0 ] || fail "chat: exit status $1: $(head -c 300 "$work/err")"
}
# cached N: how many tokens of the N-th prompt came from the cache
cached() {
    sed -n 's/^\[prompt [0-9]* tokens, \([0-9]*\) of them.*/\1/p' "$work/err" | sed -n "$1p"
}
prompt() {
    sed -n 's/^\[prompt \([0-9]*\) tokens.*/\1/p' "$work/err" | sed -n "$1p"
}
positions() {
    sed -n 's/^\[.*; \([0-9]*\) of [0-9]* positions used\]/\1/p' "$work/err" | sed -n "$1p"
}

# A second turn evaluates only what is new: what the first left in the cache is all found again.
chat 'the\nthe the\n'
[ "$(grep -c '^\[prompt' "$work/err")" = 2 ] || fail "not two answers: $(cat "$work/err")"
[ "$(cached 1)" = 0 ] || fail "the first prompt came from a cache"
[ "$(cached 2)" = "$(positions 1)" ] || fail "cached $(cached 2) of $(positions 1) positions"
[ "$(prompt 2)" -gt "$(cached 2)" ] || fail "nothing new in the second prompt"
cp "$work/out" "$work/two"

# Taking the second turn back and giving it again is the same conversation.
chat 'the\na a a\n/undo\nthe the\n'
[ "$(cached 3)" -ge "$(positions 1)" ] || fail "/undo: cached $(cached 3) of $(positions 1)"
sed -n 1p "$work/two" >"$work/want"
sed -n 1p "$work/out" | cmp -s - "$work/want" || fail "/undo changed the first answer"
tail -n 1 "$work/two" >"$work/want"
tail -n 1 "$work/out" | cmp -s - "$work/want" || fail "/undo: another answer than without"

# Another answer to the same prompt: at most its last token is evaluated again.
chat 'the\n/regen\n'
[ "$(cached 2)" -ge $(($(prompt 2) - 1)) ] || fail "/regen evaluated the prompt again"
[ "$(prompt 1)" = "$(prompt 2)" ] || fail "/regen has another prompt"

# Saved, resumed in another process, from the cache.
chat "the\n/save $work/conversation\n"
saved=$(positions 1)
chat 'the the\n' --resume "$work/conversation"
[ "$(cached 1)" = "$saved" ] || fail "--resume: cached $(cached 1) of $saved positions"
tail -n 1 "$work/out" | cmp -s - "$work/want" || fail "--resume: another answer"
chat "/load $work/conversation\nthe the\n"
[ "$(cached 1)" = "$saved" ] || fail "/load: cached $(cached 1) of $saved positions"

# A damaged conversation is refused and loses nothing.
head -c 40 "$work/conversation" >"$work/damaged"
chat "the\n/load $work/damaged\nthe the\n"
says 'is not one of a saved conversation'
tail -n 1 "$work/out" | cmp -s - "$work/want" || fail "a failed /load changed the conversation"
# Without its cache the words are still there.
cp "$work/conversation" "$work/words"
chat "/load $work/words\nthe the\n"
[ "$(cached 1)" = 0 ] || fail "a cache that is not there was used"
tail -n 1 "$work/out" | cmp -s - "$work/want" || fail "/load without cache: another answer"

# What a message spells is no special token: the template's own end is not moved.
chat 'x<|im_end|>y\nthe\n'
[ "$(cached 2)" = "$(positions 1)" ] || fail "a message that spells tokens lost the cache"

# Messages of many lines are one message.
chat '"""\none\ntwo\n"""\nthree \\\nfour\n'
[ "$(grep -c '^\[prompt' "$work/err")" = 2 ] || fail "lines of one text were answered apart"

chat '/params temp 0.5\n/params\n/params temp x\n/nosuch\n/undo\n/system you\n/system\n/help\n'\
'/quit\nx\n'
for text in 'temp 0.5' "wants a number from 0 to 1000, not 'x'" "no command '/nosuch'" \
    'nothing to take back' 'you' '/regen'; do
    says "$text"
done
[ -s "$work/out" ] && fail "/quit did not end: $(cat "$work/out")"
chat '/reset\nthe\n/reset\nthe\n' --system you
says 'forgotten: 2 messages; the system message stays'
[ "$(prompt 1)" = "$(prompt 2)" ] || fail "/reset keeps messages, or drops the system message"

# When the context is full, the system message stays whole: of its 160 characters each is a token.
long=$(printf 'z %.0s' $(seq 80))
chat "$(printf 'the the the the\\n%.0s' $(seq 12))" --system "$long" -c 384
[ "$(prompt 12)" -gt 384 ] || fail "the conversation fits: $(prompt 12) tokens"
[ "$(cached 12)" -ge 160 ] || fail "the system message was dropped: $(cached 12) positions kept"
# A line with a NUL is no message; it is not cut there either.
chat 'a\0b\nthe\n'
says 'NUL byte'
[ "$(grep -c '^\[prompt' "$work/err")" = 1 ] || fail "a line with a NUL was answered"
chat '/params top-k -3\n'
says 'from 0 to 2147483647'

chat 'the\n/undo\n/system a\n/system -\n'
for text in 'taken back: "the" and its answer' 'system message set' 'system message removed'; do
    says "$text"
done
chat '"""\nthis is a long message of many words that goes on and on\nand on\n"""\n/undo\n'
says 'taken back: "this is a long message of many words tha…" and its answer'
tiny base
printf 'the\n' | weft chat -m "$work/base.gguf" -n 3 >"$work/out" 2>"$work/err"
grep -q 'ChatML' "$work/err" || fail "chat without a template: $(cat "$work/err")"

call 2 chat --temp hot -m "$model"
call 1 chat --resume "$work/nosuch" -m "$model"

# ---- On a terminal ----

if ! command -v tmux >/dev/null || [ -n "$emulator" ]; then
    echo "skipped: weft chat on a terminal (no tmux, or an emulator)"
    exit $((failures > 0))
fi
socket=$work/tmux
screen() {
    tmux -S "$socket" capture-pane -p
}
# await TEXT: within ten seconds the screen has it
await() {
    for _ in $(seq 100); do
        screen | grep -qF -- "$1" && return
        sleep 0.1
    done
    fail "the terminal does not show '$1': $(screen | grep -v '^$')"
}
keys() {
    tmux -S "$socket" send-keys "$@"
}
tmux -S "$socket" -f /dev/null new-session -d -x 60 -y 24 \
    "'$bin' chat -m '$model' --temp 0 -n 4000 -c 4096 --stats 2>&1; echo ended; sleep 30"
await '/help lists'
keys '/he' Tab Enter
await 'take the last message'
keys 'thx' C-c
keys '/params tokens 3' Enter
await '> /params tokens 3'
keys 'the' Enter
await 'positions used'
keys Up Up Enter # recalls a line of before
keys '/params tokens 100000' Enter
keys 'the' Enter
sleep 1
keys C-c # stops the answer, not the chat
sleep 0.5
keys '/params tokens' Enter
await 'tokens 100000'
screen | grep -qF '^C' && fail "Ctrl-C is shown inside of an answer"
# Several commands begin so: they are shown.
keys '/re' Tab
await '/reset  /regen'
keys C-c
# A pasted text of several lines, wide characters and a colour in it, is one message.
keys '/params tokens 3' Enter
await '> /params tokens 3'
tmux -S "$socket" set-buffer "$(printf '/one line\nsecond \033[31mline\nthird 日本é')"
tmux -S "$socket" paste-buffer -p
await 'third 日本é'
keys ' more' BSpace BSpace BSpace BSpace BSpace Enter
await 'positions used'
keys '/undo' Enter
await 'taken back: "/one line…" and its answer'
# Lines follow the window's width, also while they are edited.
tmux -S "$socket" resize-window -x 30 -y 24
keys "$(printf 'w%.0s' $(seq 40))"
await "> $(printf 'w%.0s' $(seq 28))"
screen | grep -qx 'w\{12\}' || fail "a line of 40 in a window of 30: $(screen)"
keys C-c C-d
await 'ended'
tmux -S "$socket" kill-server

# What a model says changes no colour and clears no screen.
socket=$work/tmux2
printf '\033\\[2J\302\23331mred' >"$work/regex"
tmux -S "$socket" -f /dev/null new-session -d -x 60 -y 24 \
    "'$bin' chat -m '$model' --no-history -n 60 --regex '@$work/regex' 2>&1; sleep 30"
await '/help lists'
keys 'the' Enter
await '?[2J?31mred'
screen | grep -qF '/help lists' || fail "an answer cleared the screen"
tmux -S "$socket" kill-server
# A word that ends with the line leaves no blank at the beginning of the next one, and a block of
# code that was not closed ends with its answer.
socket=$work/tmux3
printf 'a{38} bcd efg\\n```\\nx {60}y' >"$work/regex"
tmux -S "$socket" -f /dev/null new-session -d -x 38 -y 24 \
    "'$bin' chat -m '$model' --no-history -n 200 --regex '@$work/regex' 2>&1; sleep 30"
await '/help lists'
keys 'the' Enter
await ' y'
keys 'the' Enter
await '> the'
for _ in 1 2 3 4 5 6 7 8 9 10; do
    [ "$(screen | grep -cx 'bcd efg')" = 2 ] && break
    sleep 0.2
done
[ "$(screen | grep -cx 'bcd efg')" = 2 ] || fail "words of two answers do not wrap alike: $(screen)"
tmux -S "$socket" kill-server
grep -q 'the' "$XDG_STATE_HOME/weft/chat_history" || fail "lines are not remembered"
[ "$(stat -c %a "$XDG_STATE_HOME/weft/chat_history")" = 600 ] || fail "the history is not private"
exit $((failures > 0))
