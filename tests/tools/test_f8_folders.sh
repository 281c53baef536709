#!/bin/bash
# Folders of 8-bit floats with scales: looked at, checked, converted and quantised.
# Usage: test_f8_folders.sh WEFT DATA
weft=$1 data=$2
# shellcheck source=tests/tools/lib.sh
. "$(dirname "$0")/lib.sh"
