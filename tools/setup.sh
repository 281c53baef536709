# Shared by tools/demo and tools/check, which source it from the top folder: installs what is
# missing with apt, and runs long steps quietly, their output in a log that is shown on failure.

BUILD_PACKAGES="gcc libc6-dev cmake ninja-build pkg-config libjansson-dev libpcre2-dev \
libutf8proc-dev libopenblas-dev libedit-dev"
FETCH_PACKAGES="python3 python3-pip ca-certificates"
TEST_PACKAGES="g++ libcmocka-dev tmux"
CLANG_PACKAGES="clang libclang-rt-dev"
ARM_PACKAGES="gcc-aarch64-linux-gnu qemu-user libc6-dev:arm64 libjansson-dev:arm64 \
libpcre2-dev:arm64 libutf8proc-dev:arm64 libedit-dev:arm64 libcmocka-dev:arm64"

say() {
    printf '%s\n' "$*" >&2
}

# quietly LOG COMMAND…: output to LOG; on failure its end is shown.
quietly() {
    log=$1
    shift
    mkdir -p "$(dirname "$log")"
    if "$@" >"$log" 2>&1 </dev/null; then
        return 0
    fi
    say "failed: $* (the end of $log follows)"
    tail -n 80 "$log" >&2
    return 1
}

# As root: directly, else through sudo (which may ask on a terminal only).
as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif [ -t 0 ]; then
        sudo "$@"
    else
        sudo -n "$@"
    fi
}

# Those of the packages that are not installed, on one line.
missing_packages() {
    dpkg-query -W -f '${Package}:${Architecture} ${db:Status-Status}\n' 2>/dev/null |
        awk -v wanted="$*" -v native="$(dpkg --print-architecture)" '
            $2 == "installed" { have[$1] = 1 }
            END {
                n = split(wanted, list, " ")
                for (i = 1; i <= n; i++) {
                    name = list[i]
                    full = name ~ /:/ ? name : name ":" native
                    if (!(full in have) && !((name ":all") in have))
                        printf "%s%s", sep++ ? " " : "", name
                }
            }'
}

# need PACKAGE…: says what is missing and installs it; silent when nothing is.
need() {
    if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
        say "weft: no apt-get here; these Debian packages (or their like) are needed: $*"
        return 0
    fi
    missing=$(missing_packages "$@")
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
        say "weft: neither root nor sudo; install these first: apt-get install $missing"
        return 1
    fi
    say "weft: installing with apt: $missing"
    case $missing in
    *:arm64*)
        if ! dpkg --print-foreign-architectures | grep -qx arm64; then
            as_root dpkg --add-architecture arm64 || return 1
        fi
        ;;
    esac
    if [ -t 0 ] && [ "$(id -u)" != 0 ]; then
        sudo -v || return 1 # asks here, where its question is seen
    fi
    quietly build/apt-update.log as_root apt-get -q update || return 1
    # shellcheck disable=SC2086
    quietly build/apt-install.log as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y \
        -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 install --no-install-recommends \
        $missing || return 1
}

# compile FOLDER [CMAKE_OPTION…]: says how long it may take, since there is nothing to see.
compile() {
    say "weft: compiling with $(nproc) jobs; the first time takes minutes (progress: $1/build.log)"
    folder=$1
    shift
    quietly "$folder/build.log" cmake --build "$folder" -j "$(nproc)" "$@"
}

# build PRESET FOLDER [CMAKE_OPTION…]: configures and builds everything that is switched on.
build() {
    preset=$1
    folder=$2
    shift 2
    say "weft: configuring $folder"
    quietly "$folder/configure.log" cmake --preset "$preset" -B "$folder" "$@" || return 1
    compile "$folder"
}
