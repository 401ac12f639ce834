# Sourced by the other scripts. install_packages NAME... makes sure that packages of Debian or Ubuntu
# are there; it asks apt only if one is missing, so that a prepared machine needs no network and no
# root. install_cuda_toolkit does the same for the CUDA Toolkit.

build_packages=(g++ cmake ninja-build binutils nlohmann-json3-dev libfmt-dev libcli11-dev
  libsqlite3-dev zlib1g-dev)
test_packages=(libgtest-dev libgmock-dev libbenchmark-dev pkg-config python3 gdb zsh fish ccache)
lint_packages=(clang-format clang-tidy)
fleet_packages=(slurm-wlm munge)  # a Slurm on this machine alone, for tests/fleet
# For the archives, the ABI check and fuzzing.
package_packages=(abigail-tools clang libclang-rt-dev dpkg-dev file)

install_packages() {
  local missing=() package
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' ||
      missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  if ! command -v apt-get >/dev/null; then
    echo "Please install: ${missing[*]} (this script knows Debian and Ubuntu)" >&2
    return 1
  fi
  local as_root=()
  [ "$(id -u)" -eq 0 ] || as_root=(sudo)
  echo "Installing ${missing[*]}" >&2
  "${as_root[@]}" apt-get update -qq
  DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends \
    "${missing[@]}" >/dev/null
}

# What mgtune needs of the CUDA Toolkit: headers, NVRTC and CUPTI. Nothing of it is linked.
cuda_packages=(nvidia-cuda-nvrtc==13.0.88 nvidia-cuda-runtime==13.0.96 nvidia-cuda-cupti==13.0.85
  nvidia-cuda-cccl==13.0.85 nvidia-cuda-crt==13.0.88)

is_cuda_toolkit() {
  [ -f "$1/include/nvrtc.h" ] && [ -f "$1/include/cuda_fp16.h" ] &&
    [ -n "$(find -L "$1/include" "$1/extras/CUPTI/include" -maxdepth 1 -name cupti.h 2>/dev/null)" ]
}

# Leaves CUDA_HOME set to a toolkit: the one that it names already, /usr/local/cuda, or NVIDIA's
# packages of the Python package index (290 MB), which are unpacked below the user's cache folder.
install_cuda_toolkit() {
  local folder
  for folder in "${CUDA_HOME:-}" /usr/local/cuda; do
    if [ -n "$folder" ] && is_cuda_toolkit "$folder"; then
      export CUDA_HOME=$folder
      return 0
    fi
  done
  local cache=${XDG_CACHE_HOME:-$HOME/.cache}/mgtune/cuda-13.0
  if ! is_cuda_toolkit "$cache/nvidia/cu13"; then
    echo "There is no CUDA Toolkit with NVRTC and CUPTI: installing NVIDIA's packages in $cache" >&2
    python3 -m pip --version >/dev/null 2>&1 || install_packages python3 python3-pip
    mkdir -p "$(dirname "$cache")"
    rm -rf "$cache.part"
    python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps --target "$cache.part" \
      "${cuda_packages[@]}"
    rm -rf "$cache"
    mv "$cache.part" "$cache"
  fi
  export CUDA_HOME=$cache/nvidia/cu13
}

# A compiler cache if there is one: rebuilding then takes seconds.
if command -v ccache >/dev/null; then
  export MGTUNE_COMPILER_LAUNCHER=ccache
  # Paths below the checkout count as relative ones: another clone finds the same objects.
  export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
  # Precompiled headers ask for these two: https://ccache.dev/manual/latest.html#_precompiled_headers
  export CCACHE_SLOPPINESS=pch_defines,time_macros
  # Otherwise ccache finds a precompiled header whose comments alone have changed. For GCC it then is of other
  # files than those that a source includes, and #pragma once does not see that they are the same.
  export CCACHE_DEPEND=1
  # ccache finds only results of the same namespace. Those that were stored without CCACHE_DEPEND may be such headers.
  export CCACHE_NAMESPACE=mgtune-depend
else
  export MGTUNE_COMPILER_LAUNCHER=
fi
