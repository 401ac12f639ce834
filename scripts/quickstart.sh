#!/usr/bin/env bash
# From a fresh clone to a first result: installs packages, builds build/mgtune, sweeps RMSNorm on the
# GPU if there is one and on the cpu device if not, writes report.html, prints what was found.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/packages.sh

install_packages "${build_packages[@]}"
cmake --preset release
cmake --build --preset release

sweep=0
build/mgtune sweep --kernel rmsnorm --gpu auto || sweep=$?
# 3: some variants failed and were recorded; the rest stands.
[ "$sweep" -eq 0 ] || [ "$sweep" -eq 3 ] || exit "$sweep"

build/mgtune report -o report.html
echo
echo "Next: open report.html, or run build/mgtune --help."
