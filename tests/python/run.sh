#!/usr/bin/env bash
# Builds the wheel in an empty environment, installs it in another one with PyTorch, and runs the
# Python tests and mypy there.
#   tests/python/run.sh BUILD_FOLDER [PYTEST_ARGUMENT ...]
# The build folder is that of the preset ci: what it has compiled is not compiled again.
set -euo pipefail
[ $# -ge 1 ] || { echo "usage: $0 BUILD_FOLDER [PYTEST_ARGUMENT ...]" >&2; exit 2; }
build=$(realpath "$1")
shift
cd "$(dirname "$0")/../.."
. scripts/packages.sh
install_packages python3-venv
flags=(-C "build-dir=$build" -C cmake.args=--preset=ci -C cmake.build-type=RelWithDebInfo
  -C cmake.define.MGTUNE_STATIC_LIBRARIES=OFF)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
export MGTUNE_CACHE_DIR="$work/cache" MGTUNE_DB="$work/none.db" MGTUNE_QUIET=1
unset MGTUNE_CPU_PLUGIN LD_LIBRARY_PATH PYTHONPATH

python3 -m venv "$work/builder"
"$work/builder/bin/pip" wheel --quiet --no-deps --wheel-dir "$work/dist" "${flags[@]}" .
echo "built $(basename "$work"/dist/*.whl) ($(du -h "$work"/dist/*.whl | cut -f 1)) after $SECONDS s"

python3 -m venv "$work/user"
"$work/user/bin/pip" install --quiet "$work"/dist/*.whl torch==2.13.0 numpy transformers pytest mypy scikit-build-core matplotlib
echo "installed after $SECONDS s"
"$work/user/bin/mgtune" --version
"$work/user/bin/mypy" --strict --cache-dir "$work/mypy" -p mgtune
# Outside the source tree, so that the installed package is the one that is tested.
cp -r tests/python "$work/tests"
cp -r examples "$work/examples"
mkdir "$work/python" && cp python/build_backend.py "$work/python/" && cp pyproject.toml "$work/"
cd "$work"
"$work/user/bin/python" -m pytest -q -p no:cacheprovider "$work/tests" "$@"
