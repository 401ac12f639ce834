#!/usr/bin/env bash
# Installs what the tests need, builds, runs the tests, and ends with CTest's summary.
#   scripts/test.sh         runs the unit, kernel, command-line and fault tests
#   scripts/test.sh --all   also runs them under ASan + UBSan and under TSan, runs the fault loops and
#                           the kernel samples in full, and checks the formatting, clang-tidy, the
#                           schemas, the installed package and its ABI, the Python wheel, the fuzz
#                           targets for 30 s, the report in a browser, the site, and a fleet on Slurm
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

# clang-tidy spends most of its time in the standard library's headers. So it reads all sources of a library
# as one file, which includes them once. The largest libraries come last in the list and are read first, so
# that no core waits for them at the end. clang-tidy cannot read GCC's precompiled headers, and does not
# know all of its options.
check_tidy() {
  section "clang-tidy"
  cmake --preset ci -B build/tidy -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON -DMGTUNE_TESTS=OFF \
    -DMGTUNE_UNITY_LIBRARIES=ON >/dev/null
  cmake -E copy_directory build/ci/generated build/tidy/generated
  grep -oE '"file": "[^"]*\.(cpp|cxx)"' build/tidy/compile_commands.json | cut -d '"' -f 4 | tac |
    xargs -P "$(nproc)" -n 1 clang-tidy --quiet -p build/tidy \
      --checks=-bugprone-suspicious-include --extra-arg=-Wno-unknown-warning-option \
      --extra-arg=-Wno-unused-command-line-argument
}

check_schemas() {
  section "schemas"
  (cd tests/schema && npm ci --silent --no-audit --no-fund && node validate.mjs)
}

check_package() {
  section "installed package"
  tests/package/run.sh build/ci
}

check_python() {
  section "Python"
  tests/python/run.sh build/ci
}

check_fuzz() {
  section "fuzz"
  tests/fuzz/run.sh build/ci
}

check_report() {
  section "report in a browser"
  tests/report/run.sh build/ci
}

# side_by_side NAME...: runs check_NAME of all names at once, because each of them waits for downloads
# or for one core for a good part of its time. Shows what each one printed, and fails if one fails.
side_by_side() {
  local name failed=0
  local -A pids=()
  for name in "$@"; do
    "check_$name" >"build/$name.log" 2>&1 &
    pids[$name]=$!
  done
  for name in "$@"; do
    wait "${pids[$name]}" || failed=1
    cat "build/$name.log"
  done
  return "$failed"
}

install_packages "${build_packages[@]}" "${test_packages[@]}"
install_cuda_toolkit
case "${1:-}" in
  "")
    build ci
    ;;
  --all)
    install_packages "${lint_packages[@]}" "${package_packages[@]}" "${fleet_packages[@]}"
    command -v npm >/dev/null || install_packages nodejs npm
    check_format
    check_schemas
    for sanitizer in asan tsan; do
      build "$sanitizer"
      run_tests "$sanitizer"
    done
    build ci
    export MGTUNE_LONG_TESTS=1  # the fault loops and kernel samples in full, and the site
    # The Python section links libraries in build/ci again. The package and the report are tested from that
    # folder, so they come after it.
    side_by_side tidy python
    side_by_side package report
    check_fuzz
    ;;
  *)
    echo "usage: scripts/test.sh [--all]" >&2
    exit 2
    ;;
esac
run_tests ci
