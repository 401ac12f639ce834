#!/usr/bin/env bash
# The tests. Installs what they need, builds, runs them; ends with CTest's summary.
#   scripts/test.sh         unit, command-line and fault tests
#   scripts/test.sh --all   adds fault loops and kernel samples in full, the tests under ASan + UBSan and
#                           under TSan, formatting, clang-tidy, schemas, the installed package and its
#                           ABI, 30 s of fuzzing, and the report in a browser
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/packages.sh

section() { printf '\n==== %s (after %s s)\n' "$1" "$SECONDS"; }

build() {
  section "$1: build"
  cmake --preset "$1" >/dev/null
  cmake --build --preset "$1"
}

run_tests() {
  section "$1: test"
  ctest --preset "$1" -j "$(nproc)"
}

check_format() {
  section "clang-format"
  git ls-files '*.h' '*.hpp' '*.c' '*.cpp' '*.cu' '*.cuh' | xargs clang-format --dry-run --Werror
}

check_tidy() {
  section "clang-tidy"
  git ls-files '*.cpp' ':!tests' | xargs -P "$(nproc)" -n 4 clang-tidy --quiet -p build/ci
}

check_schemas() {
  section "schemas"
  (cd tests/schema && npm ci --silent --no-audit --no-fund && node validate.mjs)
}

case "${1:-}" in
  "")
    install_packages "${build_packages[@]}" "${test_packages[@]}"
    build ci
    ;;
  --all)
    install_packages "${build_packages[@]}" "${test_packages[@]}" "${lint_packages[@]}" \
      "${package_packages[@]}"
    command -v npm >/dev/null || install_packages nodejs npm
    check_format
    check_schemas
    for sanitizer in asan tsan; do
      build "$sanitizer"
      run_tests "$sanitizer"
    done
    build ci
    check_tidy
    export MGTUNE_LONG_TESTS=1  # the fault loops and kernel samples in full
    section "installed package"
    tests/package/run.sh build/ci
    section "fuzz"
    tests/fuzz/run.sh build/ci
    section "report in a browser"
    tests/report/run.sh build/ci
    ;;
  *)
    echo "usage: scripts/test.sh [--all]" >&2
    exit 2
    ;;
esac
run_tests ci
