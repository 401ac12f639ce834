# Sourced by the other scripts: install_packages WORD... makes sure that Debian or Ubuntu packages are
# there. Asks apt only when one is missing, so that a prepared machine needs no network and no root.

build_packages=(g++ cmake ninja-build binutils nlohmann-json3-dev libfmt-dev libcli11-dev
  libsqlite3-dev zlib1g-dev)
test_packages=(libgtest-dev libgmock-dev libbenchmark-dev pkg-config python3)
lint_packages=(clang-format clang-tidy)
package_packages=(abigail-tools clang dpkg-dev file)  # of the archives, the ABI and fuzzing

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

# A compiler cache when there is one: rebuilding a lane then takes seconds.
if command -v ccache >/dev/null; then
  export MGTUNE_COMPILER_LAUNCHER=ccache
  # Paths below the checkout count as relative ones: another clone finds the same objects.
  export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
else
  export MGTUNE_COMPILER_LAUNCHER=
fi
