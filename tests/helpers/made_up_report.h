// Rows as a store would return them, for the tests of reports: an H200 with a winner, a tie,
// failures of several kinds and a raced-out variant, and the cpu device.

#pragma once

#include <string>
#include <utility>

#include "model/report_model.h"

namespace mgtune {

inline constexpr std::int64_t kH200 = 7;
inline constexpr std::int64_t kCpu = 1;  // lower than the GPU's: order must not come from row ids

inline GpuRecord h200_record() {
  GpuRecord gpu;
  gpu.model = "NVIDIA H200";
  gpu.arch = "sm_90";
  gpu.sm_count = 132;
  gpu.l2_bytes = 60LL << 20;
  gpu.memory_bytes = 141LL << 30;
  gpu.max_shared_bytes = 227 << 10;
  return gpu;
}

inline GpuRecord cpu_record() {
  GpuRecord gpu;
  gpu.model = "cpu";
  gpu.arch = "cpu";
  gpu.emulation = true;
  return gpu;
}

inline OutcomeView made_up_outcome(std::int64_t gpu, const std::string& problem,
                                   std::string variant, Outcome outcome, double median_ns = 0) {
  OutcomeView view;
  view.sweep = 1;
  view.gpu = gpu == kCpu ? cpu_record() : h200_record();
  view.gpu_id = gpu;
  view.op = "rmsnorm.forward";
  view.problem = problem;
  view.variant = std::move(variant);
  view.bytes = 67117056;
  view.flops = 67108864;
  view.outcome = outcome;
  view.build_sha256 = "4bf5122f344554c53bde2ebb8cd2b7e3d1600ad631c385a5d7cce23c7785459a";
  view.registers = 32;
  view.spill_bytes = 0;
  view.static_shared_bytes = 128;
  if (gpu != kCpu) view.code_bytes = 3968, view.ptx_bytes = 14208;
  if (outcome != Outcome::compile_failed) view.check = CheckRecord{outcome, "", 1.25e-4, 8e-3};
  if (median_ns > 0) {
    MeasurementRecord measurement;
    measurement.outcome = outcome;
    measurement.method = gpu == kCpu ? "emulation" : "rotating";
    measurement.median_ns = median_ns;
    measurement.q1_ns = median_ns * 0.99;
    measurement.q3_ns = median_ns * 1.01;
    measurement.min_ns = median_ns * 0.98;
    measurement.samples = 40;
    view.measurement = measurement;
  }
  return view;
}

inline TunedView made_up_pick(std::int64_t gpu, const std::string& problem, std::string variant,
                              double median_ns, std::string default_variant, double default_ns,
                              bool tie = false) {
  TunedView view;
  view.tuned.sweep = 1;
  view.tuned.gpu = gpu;
  view.tuned.variant = std::move(variant);
  view.tuned.default_variant = std::move(default_variant);
  view.tuned.method = gpu == kCpu ? "emulation" : "rotating";
  view.tuned.median_ns = median_ns;
  view.tuned.default_median_ns = default_ns;
  view.tuned.tie = tie;
  view.gpu = gpu == kCpu ? cpu_record() : h200_record();
  view.op = "rmsnorm.forward";
  view.problem = problem;
  view.bytes = 67117056;
  view.flops = 67108864;
  return view;
}

inline SweepView made_up_sweep(std::int64_t id, std::int64_t gpu, std::string started_at) {
  SweepView view;
  view.gpu = gpu == kCpu ? cpu_record() : h200_record();
  view.environment = {"0.1.0", gpu == kCpu ? "g++ 12.2.0" : "NVRTC 13.0.88",
                      gpu == kCpu ? "" : "580.65.06", "Debian GNU/Linux 12, Linux 6.1, x86_64"};
  view.sweep.id = id;
  view.sweep.gpu = gpu;
  view.sweep.command =
      std::string("mgtune sweep --kernel rmsnorm --gpu ") + (gpu == kCpu ? "cpu" : "H200");
  view.sweep.strategy = "exhaustive";
  view.sweep.started_at = std::move(started_at);
  view.sweep.finished_at = "2026-11-21T09:14:30Z";
  return view;
}

inline constexpr char kDefaultVariant[] = "row THREADS_PER_ROW=128 ROWS_PER_BLOCK=1 VEC=8";
inline constexpr char kFastVariant[] = "row THREADS_PER_ROW=512 ROWS_PER_BLOCK=1 VEC=8";

// In no useful order, as the model has to bring it.
inline StoredRows made_up_rows() {
  const std::string large = "rows=4096 hidden=4096 T=bf16";
  const std::string small = "rows=64 hidden=4096 T=bf16";
  const std::string tiny = "rows=64 hidden=256 T=f32";
  StoredRows rows;
  auto& outcomes = rows.outcomes;
  outcomes.push_back(made_up_outcome(kCpu, tiny, "row VEC=4", Outcome::ok, 2.4e6));
  outcomes.push_back(made_up_outcome(kCpu, tiny, "row VEC=1", Outcome::ok, 3.0e6));
  outcomes.push_back(made_up_outcome(kH200, large, "row VEC=1", Outcome::raced_out, 60000));
  outcomes.push_back(made_up_outcome(kH200, large, kDefaultVariant, Outcome::ok, 30000));
  outcomes.push_back(made_up_outcome(kH200, large, kFastVariant, Outcome::ok, 20000));
  outcomes.push_back(made_up_outcome(kH200, large, "row VEC=2", Outcome::wrong));
  outcomes.back().message = "y[3, 17]: 0.5 where the reference has 0.25 (tolerance 8e-03)";
  for (const char* variant : {"row VEC=16", "row VEC=32"}) {
    outcomes.push_back(made_up_outcome(kH200, large, variant, Outcome::compile_failed));
    outcomes.back().message =
        "In file included from a.cu:1:\nforward.cu(61): error: no 32-byte vector";
  }
  outcomes.push_back(made_up_outcome(kH200, small, kDefaultVariant, Outcome::ok, 2500));
  outcomes.push_back(made_up_outcome(kH200, small, kFastVariant, Outcome::ok, 2490));

  rows.tuned.push_back(made_up_pick(kCpu, tiny, "row VEC=4", 2.4e6, "row VEC=1", 3.0e6));
  rows.tuned.push_back(made_up_pick(kH200, large, kFastVariant, 20000, kDefaultVariant, 30000));
  rows.tuned.push_back(
      made_up_pick(kH200, small, kDefaultVariant, 2500, kDefaultVariant, 2500, true));
  rows.sweeps.push_back(made_up_sweep(1, kCpu, "2026-11-20T08:00:00Z"));
  rows.sweeps.push_back(made_up_sweep(2, kH200, "2026-11-21T09:00:00Z"));
  return rows;
}

}  // namespace mgtune
