#!/usr/bin/env bash
# tests/report/run.sh BUILD_DIR: the report in a headless browser. The committed page is what its sources give;
# pages of made-up documents, up to 100,000 variants, and the report of a small sweep on the cpu device open
# without errors, policy violations or requests. Screenshots are left in BUILD_DIR/report-pages.
set -euo pipefail
build=$(realpath "$1")
cd "$(dirname "$0")"
. ../../scripts/packages.sh

command -v chromium >/dev/null || install_packages chromium
command -v npm >/dev/null || install_packages nodejs npm
npm ci --silent --no-audit --no-fund

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

(cd ../../reports/web && npm ci --silent --no-audit --no-fund &&
  npm run --silent build -- --outDir "$work/web" --emptyOutDir --logLevel warn)
cmp "$work/web/report.html" ../../reports/web/dist/report.html || {
  echo "reports/web/dist/report.html is not what its sources give: run npm run build in reports/web" >&2
  exit 1
}

node page_test.mjs --artifacts "$build/report-pages"
node live_test.mjs

"$build/mgtune" sweep --kernel rmsnorm --gpu cpu --dtype f32 --problem rows=4,hidden=64 \
  --budget 6 --db "$work/results.db" >/dev/null
"$build/mgtune" report --db "$work/results.db" -o "$work/report.html" >/dev/null
for recorded in ../../results/h200/recorded/*.t4.json.gz; do
  "$build/mgtune" import "$recorded" --db "$work/h200.db" >/dev/null 2>&1
done
"$build/mgtune" report --db "$work/h200.db" -o "$work/h200.html" >/dev/null
node check.mjs "$work"/*.html
