#!/bin/bash
# Ctrl-C ends a text cleanly, a second one the process; a closed pipe is no error.
. "$(dirname "$0")/lib.sh"
tiny m
forever="-n -1 --ignore-eos --context-shift -c 64 -s 1"

# A reader that has seen enough.
# shellcheck disable=SC2086
weft run -m "$work/m.gguf" -p hi $forever 2>"$work/err" | head -c 100 >"$work/out"
code=${PIPESTATUS[0]}
[ "$code" = 0 ] || fail "a closed pipe: exit status $code"
quiet
[ "$(wc -c <"$work/out")" = 100 ] || fail "a closed pipe: no text"

# start: generates into $work/out; waits for the first text
start() {
    # shellcheck disable=SC2086
    $emulator "$bin" run -m "$work/m.gguf" -p hi $forever >"$1" 2>"$work/err" &
    pid=$!
}
wait_for() {
    for _ in $(seq 600); do
        [ -s "$1" ] && return
        sleep 0.05
    done
    fail "no text came"
}

start "$work/out"
wait_for "$work/out"
kill -INT $pid
wait $pid
code=$?
[ $code = 130 ] || fail "Ctrl-C: exit status $code"
quiet
[ -z "$(tail -c 1 "$work/out")" ] || fail "Ctrl-C: the text does not end with a newline"
[ "$(wc -c <"$work/out")" -gt 1 ] || fail "Ctrl-C: the text so far is lost"

# Nobody reads, so that the writing waits: the first Ctrl-C cannot end it, the second one does.
mkfifo "$work/fifo"
exec 3<>"$work/fifo"
python3 -c "import fcntl; fcntl.fcntl(3, 1031, 4096)" # F_SETPIPE_SZ: full after a page
# How much lies in the pipe.
queued() {
    python3 -c "import array, fcntl, termios
n = array.array('i', [0])
fcntl.ioctl(3, termios.FIONREAD, n)
print(n[0])"
}
start "$work/fifo"
# Full but for less than a token, asleep, and no CPU time passing: it waits for a reader. (A busy
# machine alone lets it sleep as well.)
for _ in $(seq 600); do
    state=$(sed 's/.*) //; s/ .*//' /proc/$pid/stat)
    before=${now:-} now=$(sed 's/.*) //' /proc/$pid/stat | cut -d ' ' -f 12,13)
    [ "$state" = S ] && [ "$now" = "$before" ] && [ "$(queued)" -gt 4000 ] && break
    sleep 0.2
done
kill -INT $pid
sleep 0.3
kill -0 $pid 2>/dev/null || fail "one Ctrl-C killed it"
kill -INT $pid
wait $pid
code=$?
[ $code = 130 ] || fail "a second Ctrl-C: exit status $code"
finish
