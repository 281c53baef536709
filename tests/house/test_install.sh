#!/bin/bash
# Installs into a temporary prefix, moves it elsewhere, and builds docs/examples/generate.c against
# it as an application would: by pkg-config, shared and static, and in a CMake project.
# Each of the programs runs on a model where there is one, and must fail clearly on what is none.
# Usage: test_install.sh SOURCE_FOLDER BUILD_FOLDER CC LIBRARY_FOLDER SHARED_DATA
# Environment, for a cross build: WEFT_EMULATOR, WEFT_TOOLCHAIN.
set -u
source=$1 build=$2 cc=$3 libdir=$4 shared=$5
emulator=${WEFT_EMULATOR:-} toolchain=${WEFT_TOOLCHAIN:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}
quietly() {
    "$@" >"$work/log" 2>&1 || {
        fail "$*"
        tail -n 20 "$work/log"
        return 1
    }
}

# Nothing may depend on the folder that was named at installation.
cmake --install "$build" --prefix "$work/first" >"$work/log" 2>&1 || {
    cat "$work/log"
    exit 1
}
mv "$work/first" "$work/there"
prefix=$work/there
for file in bin/weft "$libdir/libweft.so" "$libdir/libweft.so.0" "$libdir/libweft.a" \
    include/weft/weft.h include/weft/extra/inspect.h "$libdir/pkgconfig/weft.pc" \
    "$libdir/cmake/weft/weftConfig.cmake"; do
    [ -e "$prefix/$file" ] || fail "$file is not installed"
done
grep -rl -e "$source/" -e "$work/first" "$prefix/$libdir/pkgconfig" "$prefix/$libdir/cmake" \
    >"$work/log" && fail "paths of the build in $(cat "$work/log")"
soname=$(readelf -d "$prefix/$libdir/libweft.so" | sed -n 's/.*(SONAME).*\[\(.*\)\].*/\1/p')
[ "$soname" = libweft.so.0 ] || fail "the soname is '$soname'"

# The first model that is there: the default one where it was fetched, or a tiny one.
model=
tiny=$shared/reference/models/llama/llama-f32.gguf
real=${XDG_CACHE_HOME:-$HOME/.cache}/weft/SmolLM2-135M-Instruct.Q4_1.gguf
[ -z "$emulator" ] || real=$tiny # an emulator would take minutes
for candidate in "$real" "$tiny"; do
    [ -f "$candidate" ] && model=$candidate && break
done
[ -n "$model" ] || echo "no model here: the programs are only started"

# try NAME COMMAND…: streams text from the model; a file that is no model is one clear line.
try() {
    local name=$1
    shift
    "$@" "$source/README.md" >"$work/out" 2>"$work/err"
    [ $? = 1 ] || fail "$name: a file that is no model does not end in exit 1: $(cat "$work/err")"
    [ "$(wc -l <"$work/err")" = 1 ] || fail "$name: not one line: $(cat "$work/err")"
    grep -q README.md "$work/err" || fail "$name: the file is not named: $(cat "$work/err")"
    [ -n "$model" ] || return 0
    "$@" "$model" "What is wool?" >"$work/out" 2>"$work/err" || fail "$name: $(cat "$work/err")"
    [ -s "$work/out" ] || fail "$name: no text"
}

# The command runs from where it was put.
quietly $emulator "$prefix/bin/weft" --version

example=$source/docs/examples/generate.c
[ "$(wc -l <"$example")" -le 60 ] || fail "generate.c has more than 60 lines"
strict="-std=c11 -Wall -Wextra -Wconversion -Wshadow -Werror"
if [ -z "$emulator" ]; then
    export PKG_CONFIG_PATH=$prefix/$libdir/pkgconfig
else
    export PKG_CONFIG_LIBDIR=$prefix/$libdir/pkgconfig:/usr/lib/${libdir##*/}/pkgconfig
    export PKG_CONFIG_LIBDIR=$PKG_CONFIG_LIBDIR:/usr/lib/$($cc -dumpmachine)/pkgconfig
fi
# shellcheck disable=SC2046,SC2086
if quietly $cc $strict "$example" -o "$work/shared" $(pkg-config --cflags --libs weft); then
    LD_LIBRARY_PATH=$prefix/$libdir try shared $emulator "$work/shared"
    readelf -d "$work/shared" | grep -q 'NEEDED.*libweft.so.0' ||
        fail "shared: not linked to libweft.so"
fi
# shellcheck disable=SC2046,SC2086
if quietly $cc $strict "$example" -o "$work/static" $(pkg-config --cflags weft) \
    $(pkg-config --static --libs weft | sed 's/-lweft/-l:libweft.a/'); then
    try static $emulator "$work/static"
    readelf -d "$work/static" | grep -q 'NEEDED.*libweft' && fail "static: needs libweft.so"
fi

mkdir "$work/app"
cp "$example" "$work/app"
cat >"$work/app/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(app LANGUAGES C)
find_package(weft 0.1 REQUIRED COMPONENTS static)
add_executable(shared generate.c)
target_link_libraries(shared PRIVATE weft::weft)
add_executable(static generate.c)
target_link_libraries(static PRIVATE weft::weft_static)
CMAKE
options=("-DCMAKE_PREFIX_PATH=$prefix" "-DCMAKE_C_COMPILER=$cc")
[ -z "$toolchain" ] || options=("-DCMAKE_PREFIX_PATH=$prefix" "-DCMAKE_TOOLCHAIN_FILE=$toolchain")
if quietly cmake -G Ninja -S "$work/app" -B "$work/app/build" "${options[@]}" &&
    quietly cmake --build "$work/app/build"; then
    try "CMake, shared" $emulator "$work/app/build/shared"
    try "CMake, static" $emulator "$work/app/build/static"
fi

[ $failures = 0 ] && echo "installed, moved, used: ${model:-without a model}"
exit $((failures > 0))
