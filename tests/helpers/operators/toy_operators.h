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
#include "json/json_value.h"
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

// Rules of toy.norm that were measured on the device: THREADS=64 up to 1,024 rows for a row of 64
// floats (bytes are 1/120 of the L2 cache), THREADS=256 above; VEC=4 where it is admissible.
inline std::shared_ptr<const Rules> toy_rules(const Operator& op, const DeviceInfo& device) {
  constexpr const char* kText = R"json({
    "format": 1, "operator": "toy.norm",
    "gpu": {"model": "x", "arch": "sm_90", "sm_count": 1, "l2_bytes": 1, "memory_bytes": 1,
            "max_shared_bytes": 1, "mig_profile": "", "emulation": false},
    "bandwidth": 4800000,
    "evidence": {"command": "mgtune fit toy.norm", "commit": "",
      "fitted": {"problems": 40, "median": 0, "percentile_95": 0.01, "worst": 0.02},
      "left_out_problem": {"problems": 40, "median": 0.001, "percentile_95": 0.02, "worst": 0.06},
      "left_out_band": {"problems": 40, "median": 0.01, "percentile_95": 0.05, "worst": 0.1},
      "ladder": {"problems": 40, "median": 0.2, "percentile_95": 0.3, "worst": 0.4},
      "problems": []},
    "variants": [{"design": "row", "parameters": {"THREADS": 64, "VEC": 4}},
                 {"design": "row", "parameters": {"THREADS": 256, "VEC": 4}},
                 {"design": "row", "parameters": {"THREADS": 256, "VEC": 2}}],
    "rules": {"if": "120 * bytes <= device.l2_bytes",
      "then": {"rank": [0, 2],
               "left_out": {"problems": 25, "median": 0.002, "percentile_95": 0.02, "worst": 0.02}},
      "else": {"rank": [1, 2],
               "left_out": {"problems": 15, "median": 0.004, "percentile_95": 0.05, "worst": 0.06}}}
  })json";
  Rules rules = must(read_rules("toy.norm.rules.json", must(parse_json(kText)), op));
  rules.gpu = gpu_record(device);
  return std::make_shared<const Rules>(std::move(rules));
}

inline Evidence toy_evidence(const Operator& op, const DeviceInfo& device) {
  Evidence evidence;
  evidence.rules = {toy_rules(op, device)};
  return evidence;
}

}  // namespace mgtune
