#!/usr/bin/env bash
# Installs a build into a temporary folder, as a user would, and does what the pages say (by default
# kernels/TUTORIAL.md), word for word, on the cpu device. Sections on PyTorch need a python3 that has torch.
#   tests/tutorial/run.sh BUILD_FOLDER [PAGE.md...]
set -euo pipefail
[ $# -ge 1 ] || { echo "usage: $0 BUILD_FOLDER [PAGE.md...]" >&2; exit 2; }
build=$(realpath "$1")
shift
here=$(realpath "$(dirname "$0")")
pages=("$here/../../kernels/TUTORIAL.md")
[ $# -eq 0 ] || mapfile -t pages < <(realpath "$@")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_DATA_HOME="$work/data" MGTUNE_CACHE_DIR="$work/cache" CUDA_VISIBLE_DEVICES=""
unset MGTUNE_CPU_PLUGIN MGTUNE_DB LD_LIBRARY_PATH

cmake --install "$build" --prefix "$work/install" >/dev/null
export PATH="$work/install/bin:$PATH" PKG_CONFIG_PATH
PKG_CONFIG_PATH=$(dirname "$(find "$work/install" -name mgruntime.pc)")
words=()
python3 -c 'import torch' 2>/dev/null || words+=(--skip PyTorch)
for page in "${pages[@]}"; do
  python3 "$here/run.py" "$page" "${words[@]}"
done
