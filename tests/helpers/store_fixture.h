// StoreTest: a store in a folder of its own, and an outcome to record in it.

#pragma once

#include <gtest/gtest.h>

#include <string>

#include "store/record_json.h"
#include "store/store.h"
#include "system/file_system.h"
#include "tests/helpers/test_folder.h"

namespace mgtune {

inline const GpuRecord kH200Record{"NVIDIA H200",   "sm_90", 132, 60 << 20,
                                   150'000'000'000, 232'448, "",  false};
inline const GpuRecord kCpuRecord{"cpu", "cpu", 0, 0, 0, 48 << 10, "", true};
// All fields of a GPU, to compare two records to the byte.
inline std::string gpu_text(const GpuRecord& gpu) { return record_json(gpu).line_text(); }

inline const EnvironmentRecord kEnvironment{"0.1.0", "g++ 12.2.0", "", "Debian GNU/Linux 12"};

class StoreTest : public testing::Test {
 protected:
  StoreTest() : path_(folder_.file("results.db")) {}

  Store open() { return Store::open(path_, Store::Mode::read_write).value(); }
  std::string content() { return *FileSystem::real().read_file(path_); }

  // A sweep on `gpu` with one problem, and an outcome in it that was checked and measured.
  OutcomeRecord outcome_in(Store& store, const GpuRecord& gpu = kCpuRecord) {
    SweepRecord sweep;
    sweep.gpu = *store.gpu_id(gpu);
    sweep.environment = *store.environment_id(kEnvironment);
    sweep.command = "mgtune sweep --kernel rmsnorm";
    sweep.strategy = "exhaustive";
    sweep.started_at = "2026-11-21T09:00:00Z";
    OutcomeRecord record;
    record.sweep = *store.begin_sweep(sweep);
    record.key = {sweep.gpu, *store.problem_id("rmsnorm.forward", "rows=4 hidden=64 T=f32", 1e3, 2),
                  "sha-1", "launch-1", "reference-1"};
    record.variant = "row VEC=8";
    record.build = {{40, 0, 16}, "key-1", "sha-1", "cpu", "a warning"};
    record.check = CheckRecord{Outcome::ok, "", 1e-7, 2e-6};
    record.measurement = MeasurementRecord{
        Outcome::ok, "", "emulation", 100.5, 99,  102,
        98,          31, "a note",    100,   101, {1980, 3201, 300, 50, "sw_power_cap", 1}};
    return record;
  }

  TestFolder folder_;
  std::string path_;
};

}  // namespace mgtune
