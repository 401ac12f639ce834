// Two small operators for the tests of dispatch: a norm with a row stride and an optional output,
// and a reduction with everything a launch can have: build.*, lets of all stages, a workspace, two
// kernels of which one may not run. Free of GoogleTest: benchmarks use them as well.

#pragma once

#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "family/operator.h"
#include "family/problem.h"
#include "family/variant.h"
#include "selection/variant_selection.h"
#include "tests/helpers/fakes/fake_device.h"

namespace mgtune {

inline constexpr char kToyNorm[] = R"json({
  "format": 1,
  "dims": {"rows": "dynamic", "hidden": "static",
           "x_stride": {"kind": "dynamic", "default": "hidden"}},
  "dtypes": {"T": ["f32", "bf16"]},
  "scalars": {"eps": "f32"},
  "constraints": ["rows <= 1000000"],
  "tensors": {
    "x": {"role": "in", "dtype": "T", "shape": ["rows", "hidden"], "strides": ["x_stride", "1"],
          "fill": "normal"},
    "y": {"role": "out", "dtype": "T", "shape": ["rows", "hidden"]},
    "rstd": {"role": "out", "dtype": "f32", "shape": ["rows"], "optional": true}},
  "cost": {"bytes": "2 * rows * hidden * sizeof(T)", "flops": "4 * rows * hidden"},
  "check": {"reference": "norm_reference", "measure": "relative_l2",
            "tolerance": {"f32": 1e-6, "bf16": 1e-2}},
  "problems": {"default": [{"rows": 4096, "hidden": 1024}], "emulation": [{"rows": 4, "hidden": 64}]},
  "designs": {"row": {
    "source": "norm.cu",
    "params": {"THREADS": [32, 64, 128, 256], "VEC": [1, 2, 4]},
    "constraints": ["hidden % VEC == 0", "x_stride % VEC == 0"],
    "align": {"x": "VEC * sizeof(T)", "y": "VEC * sizeof(T)"},
    "launches": [{"kernel": "norm<T, hidden, THREADS, VEC, has(rstd)>", "grid": ["rows"],
                  "block": ["THREADS"],
                  "args": ["x", "y", "rstd", "rows:i64", "x_stride:i32", "eps"]}],
    "defaults": [{"THREADS": 128, "VEC": 4}, {"THREADS": 64, "VEC": 2}, {"THREADS": 32, "VEC": 1}]}}
})json";

inline constexpr char kToySplit[] = R"json({
  "format": 1,
  "dims": {"batch": "dynamic", "length": "hint", "width": "static"},
  "dtypes": {"T": ["f32"]},
  "tensors": {
    "x": {"role": "in", "dtype": "T", "shape": ["batch", "length", "width"], "align": 16,
          "fill": "normal"},
    "y": {"role": "out", "dtype": "T", "shape": ["batch", "width"]}},
  "cost": {"bytes": "batch * length * width * sizeof(T)", "flops": "batch * length * width"},
  "check": {"reference": "split_reference", "measure": "relative_l2", "tolerance": {"f32": 1e-6}},
  "problems": {"default": [{"batch": 8, "length": 1024, "width": 64}],
               "emulation": [{"batch": 1, "length": 64, "width": 64}]},
  "designs": {"split": {
    "source": "split.cu",
    "params": {"THREADS": [64, 128], "WAVES": [1, 2]},
    "let": {"shared": "THREADS * 8", "slots": "device.sm_count * build.blocks_per_sm * WAVES",
            "splits": "max(1, min(ceil_div(length, 32), slots / max(batch, 1)))"},
    "constraints": ["shared <= device.max_shared", "batch != 13"],
    "workspace": {
      "partial": {"when": "splits > 1", "dtype": "f32", "shape": ["splits", "batch", "width"],
                  "zero": "never"},
      "sums": {"dtype": "f32", "shape": ["batch"], "zero": "each_launch"},
      "ticket": {"dtype": "u32", "shape": ["batch"], "zero": "once"}},
    "launches": [
      {"kernel": "split<T, width, THREADS>", "grid": ["splits", "batch"], "block": ["THREADS"],
       "shared": "shared",
       "args": ["x", "partial", "y", "ticket", "sums", "splits:i32", "length:i64"]},
      {"when": "splits > 1", "kernel": "combine<T, width>", "grid": ["batch"], "block": ["64"],
       "pdl": "WAVES == 2", "args": ["partial", "y", "splits:i32"]}],
    "defaults": [{"THREADS": 128, "WAVES": 2}]}}
})json";

// The value of what cannot fail unless the toys themselves are wrong.
template <typename T>
T must(Result<T> result) {
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", result.status().message().c_str());
    std::abort();
  }
  return std::move(result).value();
}

inline Operator decode_toy(const std::string& full_name, const std::string& text) {
  const std::size_t dot = full_name.find('.');
  const std::string family = full_name.substr(0, dot), name = full_name.substr(dot + 1);
  auto sources = std::make_shared<SourceTree>();
  sources->folder = family;
  sources->files[name + ".json"] = text;
  sources->files["norm.cu"] = "// norm";
  sources->files["split.cu"] = "// split";
  return must(decode_operator(family, name, std::move(sources)));
}

inline Operator toy_norm() { return decode_toy("toy.norm", kToyNorm); }
inline Operator toy_split() { return decode_toy("toy.split", kToySplit); }

// Sizes of the parameters as the toy kernels declare them.
inline void declare_toy_kernels(FakeDevice& device) {
  device.parameters["norm"] = {8, 8, 8, 8, 4, 4};
  device.parameters["split"] = {8, 8, 8, 8, 8, 4, 8};
  device.parameters["combine"] = {8, 8, 4};
}

inline Binding bound(const Operator& op, const std::map<std::string, std::string>& words) {
  return must(bind_static(op, words));
}

inline Variant variant_of(const Operator& op, const std::string& text) {
  return must(parse_variant(op, text));
}

// A tuned entry as a sweep would leave it. `problem` as on the command line.
inline TunedEntry tuned_entry(const Operator& op, const std::string& problem,
                              const std::string& variant, const DeviceInfo& device,
                              double median_ns = 1000) {
  return {must(bind_problem(op, must(parse_assignments(problem)))), variant_of(op, variant),
          gpu_record(device), median_ns};
}

// What a sweep of toy.norm would leave: about `rows` measurements, of every variant on problems
// with ever more rows. THREADS=64 is best up to 1000 rows, THREADS=256 above; VEC=4 always.
inline Evidence toy_evidence(const Operator& op, const DeviceInfo& device, std::int64_t rows) {
  Evidence evidence;
  evidence.gpus = {gpu_record(device)};
  evidence.drivers = {device.driver};
  for (const char* threads : {"32", "64", "128", "256"}) {
    for (const char* width : {"1", "2", "4"}) {
      evidence.variants.push_back(
          variant_of(op, std::string("row THREADS=") + threads + " VEC=" + width));
    }
  }
  const std::int64_t problems = rows / 12;
  for (std::int64_t i = 0; i < problems; ++i) {
    const std::int64_t extent = problems > 100 ? 16 + i : std::int64_t{16} << i;
    evidence.problems.push_back(
        must(bind_problem(op, {{"rows", std::to_string(extent)}, {"hidden", "64"}, {"T", "f32"}})));
    for (std::uint32_t variant = 0; variant < 12; ++variant) {
      const std::int64_t threads = evidence.variants[variant].values[0];
      const std::int64_t width = evidence.variants[variant].values[1];
      const double misfit = threads == (extent <= 1000 ? 64 : 256) ? 1 : 1.5;
      const double median_ns = 100 * static_cast<double>(extent) * misfit * (width == 4 ? 1 : 1.2);
      evidence.rows.push_back(
          {0, static_cast<std::uint32_t>(i), variant, 0, Outcome::ok, median_ns});
    }
  }
  return evidence;
}

}  // namespace mgtune
