#!/usr/bin/env bash
# Installs a build of this repository into a temporary folder and builds programs against it as
# strangers would: with find_package, with pkg-config, and the examples. Then runs them.
#   tests/package/run.sh BUILD_FOLDER
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: $0 BUILD_FOLDER" >&2; exit 2; }
build=$(realpath "$1")
here=$(realpath "$(dirname "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export MGTUNE_CACHE_DIR="$work/cache" MGTUNE_DB="$work/none.db"
unset MGTUNE_CPU_PLUGIN LD_LIBRARY_PATH

cmake --install "$build" --prefix "$work/first" >/dev/null
mv "$work/first" "$work/install"  # an installed tree may be moved

for name in mgruntime mgengine; do
  library=$(find "$work/install" -name "lib$name.so.0")
  [ -n "$library" ] || { echo "lib$name.so.0 is not installed" >&2; exit 1; }
  prefix=${name:0:3}_
  leaked=$(nm -D --defined-only "$library" | awk '$2 != "A" {sub(/@.*/, "", $3); print $3}' |
    grep -v "^$prefix" || true)
  [ -z "$leaked" ] || { echo "lib$name exports more than $prefix*: $leaked" >&2; exit 1; }
done
# The headers are C, alone, without a CUDA header.
printf '#include <mgruntime/mgruntime.h>\n#include <mgengine/mgengine.h>\n' |
  cc -std=c99 -pedantic -Wall -Wextra -Werror -I "$work/install/include" -xc -fsyntax-only -

for project in "$here" "$here/../../examples"; do
  cmake -S "$project" -B "$work/cmake/$(basename "$project")" -DCMAKE_PREFIX_PATH="$work/install" >/dev/null
  cmake --build "$work/cmake/$(basename "$project")" >/dev/null
done
"$work/cmake/package/consumer_c"
"$work/cmake/package/consumer_cpp"
"$work/cmake/examples/rmsnorm_c" cpu >/dev/null
"$work/cmake/examples/rmsnorm_cpp" cpu >/dev/null
[ "$("$work/cmake/examples/next_tokens" "$here/../engine/models/stories260K" 2 1 403 407 261 378 |
  paste -s -d' ')" = "432 383" ]
echo "CMake: the examples are right"

# What shells and man look for.
for file in share/man/man1/mgtune.1 share/man/man1/mgtune-sweep.1 share/zsh/site-functions/_mgtune \
  share/bash-completion/completions/mgtune share/fish/vendor_completions.d/mgtune.fish; do
  grep -q sweep "$work/install/$file" || { echo "$file is not installed" >&2; exit 1; }
done

export PKG_CONFIG_PATH
PKG_CONFIG_PATH=$(dirname "$(find "$work/install" -name mgruntime.pc)")
# shellcheck disable=SC2046  # flags are to be split
cc -std=c99 -o "$work/by_pkg_config" "$here/consumer.c" $(pkg-config --cflags --libs mgruntime)
LD_LIBRARY_PATH=$(pkg-config --variable=libdir mgruntime) "$work/by_pkg_config"
[ "$(pkg-config --modversion mgruntime)" = "$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$build/CMakeCache.txt")" ]
# The archives hold the same tree, and can be unpacked anywhere.
for kind in TGZ DEB; do
  (cd "$work" && cpack -G $kind --config "$build/CPackConfig.cmake" -B "$work/cpack" >/dev/null)
done
mkdir "$work/tgz" "$work/deb"
tar -xzf "$work"/cpack/*.tar.gz -C "$work/tgz" --strip-components=1
dpkg-deb -x "$work"/cpack/*.deb "$work/deb"
dpkg-deb -f "$work"/cpack/*.deb Depends | grep -q libc6
for tree in "$work/tgz" "$work/deb/usr"; do
  [ -x "$tree/bin/mgtune" ] || { echo "$tree has no bin/mgtune" >&2; exit 1; }
  cmake -S "$here" -B "$work/cmake/$(basename "$tree")" -DCMAKE_PREFIX_PATH="$tree" >/dev/null
  cmake --build "$work/cmake/$(basename "$tree")" >/dev/null
  "$work/cmake/$(basename "$tree")/consumer_c"
done
"$work/tgz/bin/mgtune" devices --json | grep -q '"cpu"'  # finds its plugin where it was unpacked
echo "CPack: the archives are right"

if command -v abidw >/dev/null; then
  "$here/abi.sh" "$build"
fi
echo "package: ok"
