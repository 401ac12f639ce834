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
installer=
clean() {
  [ -z "$installer" ] || kill "$installer" 2>/dev/null || true
  rm -rf "$work"
}
trap clean EXIT
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
export MGTUNE_CACHE_DIR="$work/cache" MGTUNE_DB="$work/none.db" MGTUNE_QUIET=1
unset MGTUNE_CPU_PLUGIN LD_LIBRARY_PATH PYTHONPATH

# The environment is filled while the wheel is built. Byte code is compiled for what the tests import, not for all of it.
python3 -m venv "$work/user"
"$work/user/bin/pip" install --quiet --no-compile torch==2.13.0 numpy transformers pytest pytest-xdist mypy \
  scikit-build-core pyelftools wheel matplotlib &
installer=$!
python3 -m venv "$work/builder"
"$work/builder/bin/pip" wheel --quiet --no-deps --wheel-dir "$work/dist" "${flags[@]}" .
echo "built $(basename "$work"/dist/*.whl) ($(du -h "$work"/dist/*.whl | cut -f 1)) after $SECONDS s"

wait "$installer"
installer=
"$work/user/bin/pip" install --quiet --no-deps "$work"/dist/*.whl
echo "installed after $SECONDS s"
"$work/user/bin/mgtune" --version
"$work/user/bin/mypy" --strict --cache-dir "$work/mypy" -p mgtune
# The tutorial with its section on PyTorch, which the other run of the tutorial has to skip.
PATH="$work/user/bin:$PATH" tests/tutorial/run.sh "$build" >"$work/tutorial.txt" ||
  { cat "$work/tutorial.txt" >&2; exit 1; }
grep -q 'softmax is right' "$work/tutorial.txt"
echo "did the tutorial after $SECONDS s"
# Outside the source tree, so that the installed package is the one that is tested.
cp -r tests/python "$work/tests"
cp -r examples "$work/examples"
mkdir "$work/scripts" && cp scripts/peer_implementations.py "$work/scripts/"
mkdir -p "$work/results/h200" && cp results/h200/attention.md results/h200/gemm.md "$work/results/h200/"
mkdir "$work/python" && cp python/build_backend.py python/README.md "$work/python/" && cp pyproject.toml README.md "$work/"
cp tests/tutorial/run.py docs/pages/guides/tune-a-model.md "$work/"
cd "$work"
# One process per core, with one thread of PyTorch each: the models are tiny.
export OMP_NUM_THREADS=1
"$work/user/bin/python" -m pytest -q -p no:cacheprovider -n auto --maxprocesses 4 --dist worksteal \
  --durations 10 "$work/tests" "$@"
# The guide, word for word. Its results are its own.
env -u MGTUNE_DB XDG_DATA_HOME="$work/data" CUDA_VISIBLE_DEVICES="" PATH="$work/user/bin:$PATH" \
  python3 run.py tune-a-model.md >"$work/guide.txt" || { cat "$work/guide.txt" >&2; exit 1; }
echo "tested after $SECONDS s"
