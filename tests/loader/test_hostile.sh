#!/bin/sh
# Every case of the hostile corpus through the weft command: `weft inspect --check` and `weft run`.
#
#   test_hostile.sh WEFT SHARED [asan]
#
# WEFT is the binary, SHARED the folder of reference data. With `asan` the address space is not
# limited. Exit status 77 (skipped) where the corpus's generator or Python is not there.
set -u
[ $# -ge 2 ] || { echo "usage: test_hostile.sh WEFT SHARED [asan]" >&2; exit 2; }
weft=$1
shared=$2
if [ ! -f "$shared/hostile/make_hostile.py" ] || ! command -v python3 > /dev/null; then
    echo "skipped: no $shared/hostile, or no python3"
    exit 77
fi

corpus=$(mktemp -d) || exit 2
trap 'rm -rf "$corpus"' EXIT
trap 'exit 2' INT TERM
python3 "$shared/hostile/make_hostile.py" "$corpus" > /dev/null || exit 2

HOSTILE_DIR=$corpus
export HOSTILE_DIR
if [ "${3:-}" = asan ]; then
    HOSTILE_VMEM=unlimited
    HOSTILE_TIME=${HOSTILE_TIME:-30}
    export HOSTILE_VMEM HOSTILE_TIME
fi

status=0
echo "weft inspect --check:"
sh "$shared/hostile/run_hostile.sh" "$weft" inspect --check || status=1
echo "weft run:"
sh "$shared/hostile/run_hostile.sh" "$weft" run -p hi -n 1 -m || status=1
exit $status
