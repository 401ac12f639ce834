#!/usr/bin/env bash
# Compares the ABI of a built libmgruntime with mgruntime.abi, the one that programs were linked
# against: what was removed or changed its meaning fails, what was added does not.
#   tests/package/abi.sh BUILD_FOLDER             compare
#   tests/package/abi.sh BUILD_FOLDER --update    after an addition, with MGR_ABI_VERSION one larger
set -euo pipefail
[ $# -ge 1 ] || { echo "usage: $0 BUILD_FOLDER [--update]" >&2; exit 2; }
build=$(realpath "$1")
here=$(realpath "$(dirname "$0")")
library=$(find "$build" -maxdepth 1 -name 'libmgruntime.so.*.*.*')
dump=$(mktemp)
trap 'rm -f "$dump"' EXIT

# Of the header's own types and functions; without what differs from one machine to the next.
abidw --headers-dir "$here/../../runtime/include/mgruntime" --drop-private-types --no-comp-dir-path \
  --no-corpus-path --no-show-locs --exported-interfaces-only --out-file "$dump" "$library"
if [ "${2:-}" = --update ]; then
  cp "$dump" "$here/mgruntime.abi"
  exit 0
fi
status=0
abidiff --no-added-syms "$here/mgruntime.abi" "$dump" || status=$?
# 1: an error, 2: usage, 4: a change, 8: an incompatible one.
if [ "$status" -ne 0 ]; then
  echo "the ABI of libmgruntime is not that of $here/mgruntime.abi: see the top of $0" >&2
  exit 1
fi
echo "ABI: as before"
