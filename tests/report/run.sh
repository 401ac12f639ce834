#!/usr/bin/env bash
# tests/report/run.sh BUILD_DIR [RECORDED...]: the report in a headless browser. The committed page is what its sources give;
# pages of made-up documents, up to 100,000 variants, and the report of a small sweep on the cpu device open
# without errors, policy violations or requests. So does that of a sweep that was recorded on a GPU: RECORDED are databases
# (.db, .db.gz) or exports that 'mgtune import' takes; by default the databases in results/h200/recorded, else the exports
# there. Screenshots are left in BUILD_DIR/report-pages.
set -euo pipefail
build=$(realpath "$1")
shift
recorded=()
for file in "$@"; do recorded+=("$(realpath "$file")"); done
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
shopt -s nullglob
if [ ${#recorded[@]} -eq 0 ]; then recorded=(../../results/h200/recorded/*.db.gz); fi
if [ ${#recorded[@]} -eq 0 ]; then recorded=(../../results/h200/recorded/*/*.t4.json.gz); fi
reports=()
for file in "${recorded[@]}"; do
  name=$(basename "${file%.gz}" .db)
  case $file in
    *.db.gz) gzip -dc "$file" >"$work/$name.db" ;;
    *.db) cp "$file" "$work/$name.db" ;;
    *)
      name=recorded
      "$build/mgtune" import "$file" --db "$work/$name.db" >/dev/null 2>&1
      ;;
  esac
  "$build/mgtune" report --db "$work/$name.db" -o "$work/$name.html" >/dev/null
  reports+=("$work/$name.html")
done
mapfile -t reports < <(printf '%s\n' "${reports[@]}" | sort -u)
node recorded_test.mjs "${reports[@]}" --artifacts "$build/report-pages"
node check.mjs "$work/report.html" "${reports[@]}"
