#!/usr/bin/env bash
# The site, as CTest runs it if MGTUNE_LONG_TESTS is set (scripts/test.sh --all); otherwise the exit code is 77, which means skipped.
#   tests/docs/run.sh site BUILD_FOLDER     builds docs/, checks its links, and opens its front page and demo report in a browser; skipped too if the packages cannot be downloaded
#   tests/docs/run.sh guides BUILD_FOLDER   does what the guides say, on the cpu device
# The guide about PyTorch is run by tests/python/run.sh, which has PyTorch.
set -euo pipefail
[ $# -eq 2 ] || { echo "usage: $0 site|guides BUILD_FOLDER" >&2; exit 2; }
if [ -z "${MGTUNE_LONG_TESTS:-}" ]; then
  echo "SKIPPED, NOTHING WAS TESTED: scripts/test.sh --all builds the site; MGTUNE_LONG_TESTS=1 does it here"
  exit 77
fi
build=$(realpath "$2")
cd "$(dirname "$0")/../.."
case $1 in
  site)
    scripts/docs.sh "$build"
    . scripts/packages.sh
    command -v chromium >/dev/null || install_packages chromium
    command -v npm >/dev/null || install_packages nodejs npm
    (cd tests/report && npm ci --silent --no-audit --no-fund &&
      node site_test.mjs "$build/docs/site" --artifacts "$build/report-pages")
    ;;
  guides) tests/tutorial/run.sh "$build" docs/pages/guides/{ship-a-pack,own-kernel,fleet}.md ;;
  *) echo "unknown test '$1'; it must be site or guides" >&2; exit 2 ;;
esac
