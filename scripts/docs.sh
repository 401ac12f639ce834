#!/usr/bin/env bash
# Builds the site from docs/, with a report of recorded data in it, and checks every link.
#   scripts/docs.sh [--picture] [BUILD_FOLDER]
# BUILD_FOLDER has the program mgtune, which describes its commands (default: build). The site is then in BUILD_FOLDER/docs/site.
# The packages of docs/requirements.txt are installed into BUILD_FOLDER/docs/environment. Exit code 77: they cannot be downloaded.
# --picture also makes docs/images/report.png, which README.md shows: the first screen of that report, by Chromium.
set -euo pipefail
picture=
if [ "${1:-}" = --picture ]; then
  picture=yes
  shift
fi
[ $# -le 1 ] || { echo "usage: $0 [--picture] [BUILD_FOLDER]" >&2; exit 2; }
cd "$(dirname "$0")/.."
. scripts/packages.sh
build=$(realpath "${1:-build}")
[ -x "$build/mgtune" ] || { echo "$build has no program mgtune: run scripts/quickstart.sh, or name a build folder" >&2; exit 2; }

environment=$build/docs/environment
if ! cmp --silent docs/requirements.txt "$environment/installed.txt"; then
  install_packages python3 python3-venv
  rm -rf "$environment"
  python3 -m venv "$environment"
  "$environment/bin/pip" install --quiet --no-compile --disable-pip-version-check --requirement docs/requirements.txt || {
    echo "SKIPPED, NOTHING WAS TESTED: the packages of docs/requirements.txt could not be installed" >&2
    exit 77
  }
  cp docs/requirements.txt "$environment/installed.txt"
fi

export MGTUNE_PROGRAM=$build/mgtune NO_MKDOCS_2_WARNING=true
"$environment/bin/mkdocs" build --strict --config-file docs/mkdocs.yml --site-dir "$build/docs/site"
python3 docs/generator/check_links.py "$build/docs/site"
echo "wrote $build/docs/site/index.html after $SECONDS s"

if [ -n "$picture" ]; then
  command -v chromium >/dev/null || install_packages chromium
  command -v npm >/dev/null || install_packages nodejs npm
  (cd tests/report && npm ci --silent --no-audit --no-fund)
  node docs/generator/picture.mjs "$build/docs/site/demo/report.html" "$build/docs/report.png"
  # 64 colors: a third of the size, and no difference that one sees.
  "$environment/bin/python" -c 'import sys
from PIL import Image
picture = Image.open(sys.argv[1]).convert("RGB").quantize(64, dither=Image.Dither.NONE)
picture.save(sys.argv[2], optimize=True)' "$build/docs/report.png" docs/images/report.png
  echo "wrote docs/images/report.png, $(stat -c %s docs/images/report.png) bytes"
fi
