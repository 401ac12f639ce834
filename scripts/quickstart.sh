#!/usr/bin/env bash
# From a fresh clone to a first result: installs packages, builds build/mgtune, sweeps RMSNorm on the
# GPU (if there is none, on the cpu device), and writes report.html.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/packages.sh

install_packages "${build_packages[@]}"
install_cuda_toolkit
cmake --preset release
cmake --build --preset release

sweep=0
build/mgtune sweep --kernel rmsnorm --gpu auto || sweep=$?
# Exit code 3 means that some variants failed and were recorded. The other results stand.
[ "$sweep" -eq 0 ] || [ "$sweep" -eq 3 ] || exit "$sweep"

build/mgtune report -o report.html
echo
echo "Next: open report.html, or run build/mgtune --help."
