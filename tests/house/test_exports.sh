#!/bin/sh
# libweft.so exports the functions of include/weft, all of them and nothing else; it brings no call
# that would print, exit, abort or install a signal handler, and no mutable globals but two.
# Usage: test_exports.sh SOURCE_FOLDER LIBRARY NM OPTIMISED
root=$1 library=$2 nm=$3 optimised=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
    echo "FAILED: $1"
    sed 's/^/    /' "$2"
    failures=$((failures + 1))
}

# A public function is the name before the first parenthesis of a WEFT_API declaration.
cat "$root"/include/weft/*.h "$root"/include/weft/extra/*.h |
    sed 's#/\*.*\*/##; s#//.*##' | tr '\n' ' ' | sed 's/WEFT_API/\n&/g' | grep '^WEFT_API' |
    grep -v '__attribute__' | sed -nE 's/^WEFT_API [^(;]*[ *](weft_[a-z0-9_]+)\(.*/\1/p' |
    sort -u >"$work/declared"
"$nm" -D --defined-only "$library" | awk '{ print $NF }' | sed 's/@.*//' | sort -u >"$work/exported"

[ "$(wc -l <"$work/declared")" -gt 50 ] || fail "few declarations were found:" "$work/declared"
grep -v '^weft_' "$work/exported" >"$work/foreign" &&
    fail "exported, but not weft's:" "$work/foreign"
comm -23 "$work/declared" "$work/exported" >"$work/absent"
[ -s "$work/absent" ] && fail "declared in include/weft, but not exported:" "$work/absent"
comm -13 "$work/declared" "$work/exported" >"$work/secret"
[ -s "$work/secret" ] && fail "exported, but not declared in include/weft:" "$work/secret"

forbidden='abort|exit|_exit|_Exit|quick_exit|printf|__printf_chk|vprintf|__vprintf_chk|puts|putchar'
forbidden="$forbidden|fprintf|__fprintf_chk|vfprintf|__vfprintf_chk|perror|stdout|stderr|signal"
forbidden="$forbidden|sigaction|__assert_fail|setlocale"
if [ "$optimised" = yes ]; then
    "$nm" -D --undefined-only "$library" | awk '{ print $NF }' | sed 's/@.*//' |
        grep -Ex "$forbidden" >"$work/calls" && fail "called by the library:" "$work/calls"

    # Mutable globals: what the compiler's own code brings (libgcc's on aarch64 has a flag for
    # atomic instructions), the CPU's features and the one
    # counter of ids. (clang puts a static local's function before its name.)
    "$nm" --format=sysv "$library" | tr -d ' ' | awk -F'|' '$4 == "OBJECT" { print $7, $1 }' |
        grep -E '^\.(data|bss) ' |
        grep -Ev ' (completed\.[0-9]+|__dso_handle|__TMC_END__|__aarch64_have_lse_atomics)$' |
        grep -Ev ' ([a-z_]+\.)?(counter|features)(\.[0-9]+)?$' >"$work/globals" &&
        fail "mutable globals:" "$work/globals"
fi

[ $failures = 0 ] && echo "$(wc -l <"$work/exported") functions are exported"
exit $((failures > 0))
