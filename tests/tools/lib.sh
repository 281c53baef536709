# Sourced by the tests of the command: how it is called, and what is expected of a call.
# Each test is called as: TEST.sh WEFT MAKE_TINY_MODEL EMULATOR [more]
set -u
bin=$1 make_tiny=$2 emulator=$3
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failures=0
export XDG_CACHE_HOME=$work/cache # nothing fetched
unset WEFT_CPU

weft() {
    # shellcheck disable=SC2086 # the emulator may be several words, or none
    timeout 60 $emulator "$bin" "$@"
}

# tiny NAME [OPTION…]: makes the model $work/NAME.gguf
tiny() {
    local name=$1
    shift
    # shellcheck disable=SC2086
    $emulator "$make_tiny" "$work/$name.gguf" "$@" || exit 1
}

fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# call CODE ARG…: runs weft; stdout and stderr go to $work/out and $work/err. The exit status must
# be CODE; an error is exactly one line of stderr, `weft: what: why`, without control characters.
call() {
    local want=$1 got
    shift
    weft "$@" >"$work/out" 2>"$work/err" </dev/null
    got=$?
    judge "$want" "$got" "$*"
}

judge() {
    local want=$1 got=$2 what=$3
    [ "$got" = "$want" ] || fail "$what: exit status $got, not $want: $(head -c 300 "$work/err")"
    if [ "$want" = 1 ] || [ "$want" = 2 ]; then
        [ "$(wc -l <"$work/err")" = 1 ] || fail "$what: not one line on stderr: $(cat "$work/err")"
        grep -q '^weft: [^:]*: ' "$work/err" ||
            fail "$what: not 'weft: what: why': $(cat "$work/err")"
        LC_ALL=C grep -q '[[:cntrl:]]' "$work/err" && fail "$what: control characters on stderr"
    fi
    return 0
}

# says TEXT: the last call's stderr has TEXT
says() {
    grep -qF -- "$1" "$work/err" || fail "'$(head -c 300 "$work/err")' does not say '$1'"
}

# quiet: the last call left nothing on stderr
quiet() {
    [ -s "$work/err" ] && fail "on stderr: $(head -c 300 "$work/err")"
    return 0
}

# same FILE FILE WHAT
same() {
    cmp -s "$1" "$2" || fail "$3: '$(head -c 100 "$1")' and '$(head -c 100 "$2")' differ"
}

finish() {
    [ $failures = 0 ] && echo "all fine"
    exit $((failures > 0))
}
