#!/usr/bin/env bash
# tests/report/run.sh BUILD_DIR: sweeps a little on the cpu device and opens the report in a headless
# browser: no errors, no policy violations, no network, readable without JavaScript.
set -euo pipefail
build=$(realpath "$1")
cd "$(dirname "$0")"
. ../../scripts/packages.sh

command -v chromium >/dev/null || install_packages chromium
npm ci --silent --no-audit --no-fund

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$build/mgtune" sweep --kernel rmsnorm --gpu cpu --dtype f32 --problem rows=4,hidden=64 \
  --budget 6 --db "$work/results.db" >/dev/null
"$build/mgtune" report --db "$work/results.db" -o "$work/report.html"
node check.mjs "$work/report.html"
