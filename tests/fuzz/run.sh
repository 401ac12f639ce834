#!/usr/bin/env bash
# Builds the fuzz targets with clang and runs each for SECONDS (30). Seeds: the shipped operators' files,
# the recorded spaces of tests/golden, the models of tests/engine, and tables and packs that a test of the ci build writes.
#   tests/fuzz/run.sh CI_BUILD_FOLDER [SECONDS]
set -euo pipefail
[ $# -ge 1 ] || { echo "usage: $0 CI_BUILD_FOLDER [SECONDS]" >&2; exit 2; }
ci=$(realpath "$1")
seconds=${2:-30}
cd "$(dirname "$0")/../.."
# What the targets write should not wait for a disk.
if [ -w /dev/shm ]; then work=$(mktemp -d /dev/shm/mgtune-fuzz.XXXXXX); else work=$(mktemp -d); fi
trap 'rm -rf "$work"' EXIT

cmake --preset fuzz >/dev/null
cmake --build --preset fuzz --target table_fuzz pack_fuzz operator_fuzz space_fuzz mgr_fuzz engine_fuzz
mkdir "$work/operator" "$work/table" "$work/pack" "$work/space" "$work/mgr" "$work/engine" "$work/files"
cp tests/golden/exchange/*.json "$work/space"
for file in kernels/*/*.json; do cp "$file" "$work/operator/$(echo "$file" | tr / .)"; done
MGTUNE_FUZZ_SEEDS="$work" "$ci/tests/unit_dispatch" --gtest_filter='PackTest.WritesSeeds' >/dev/null
for file in tests/engine/models/*/*.{json,safetensors,bin} tests/engine/models/tokenizers/*/tokenizer.json; do
  cp "$file" "$work/engine/$(echo "$file" | tr / .)"
done
"$ci/mgengine" show program --model tests/engine/models/llama >"$work/engine/program.txt"
"$ci/mgengine" show program --model tests/engine/models/llama --output "$work/engine/program"
pids=()
for name in table pack operator space mgr engine; do
  TMPDIR="$work/files" build/fuzz/fuzz/${name}_fuzz "$work/$name" -max_total_time="$seconds" -max_len=65536 -timeout=10 -rss_limit_mb=2048 \
    -artifact_prefix="build/fuzz/$name-" >"build/fuzz/$name.log" 2>&1 &
  pids+=($!)
done
failed=0
for pid in "${pids[@]}"; do wait "$pid" || failed=1; done
for name in table pack operator space mgr engine; do
  echo "$name: $(tail -n 1 "build/fuzz/$name.log")"
  [ "$failed" -eq 0 ] || tail -n 40 "build/fuzz/$name.log" >&2
done
[ "$failed" -eq 0 ] || { echo "an input that fails is in build/fuzz" >&2; exit 1; }
