// ProblemSweepTest: a sweep with workers that take their time and write down what they do when, and
// the events that they wrote. Header-only.

#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "device/device_lock.h"
#include "family/catalog.h"
#include "selection/variant_selection.h"
#include "space/space.h"
#include "sweep/sweep.h"
#include "system/file_system.h"
#include "tests/helpers/all_variants.h"
#include "tests/helpers/environment_variable.h"
#include "tests/helpers/store_fixture.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {

struct WorkerEvent {
  std::string kind, event;  // "compile", "measure" or "final"; "begins" or "is"
  double stop_above_ns = 0, stop_above_mhz = 0;
  std::string device, problem, variant;  // the problem as "rows=4,hidden=64,T=f32"
};

class ProblemSweepTest : public StoreTest {
 protected:
  ProblemSweepTest() : catalog_(FileSystem::real()) {
    problem_ = bind_problem(*catalog_.find_operator("rmsnorm.forward").value(),
                            {{"rows", "4"}, {"hidden", "64"}, {"T", "f32"}})
                   .value();
    DeviceInfo& device = devices_.front();
    device.kind = DeviceKind::cpu;
    device.id = device.name = device.arch = "cpu";
    device.limits = {90, 1, 232448, 1000000};
    options_.kernel = "rmsnorm";
    options_.strategy = "exhaustive";
    options_.budget.evaluations = 6;
    options_.method = {"emulation", ""};
    options_.program = fake_worker_path();
    options_.lock_directory = folder_.path();
  }

  std::vector<PlannedProblem> planned(const std::vector<Problem>& problems) const {
    std::vector<PlannedProblem> planned;
    for (const Problem& problem : problems) {
      planned.push_back(plan_problem(problem, devices_.front(), kCountedNodes));
    }
    return planned;
  }

  SweepSummary sweep() { return sweep({problem_}); }

  SweepSummary sweep(const std::vector<Problem>& problems) {
    order_.clear();
    const auto note = [this](const SweepProgress& progress) {
      if (order_.empty() || order_.back() != progress.problem_index) {
        order_.push_back(progress.problem_index);
      }
    };
    const Result<SweepSummary> summary =
        run_sweep(options_, devices_, planned(problems), store_, note, [] { return false; });
    EXPECT_TRUE(summary.ok()) << summary.status().message();
    return summary.ok() ? *summary : SweepSummary();
  }

  // A problem nearby.
  Problem neighbor() const {
    return bind_problem(*problem_.op, {{"rows", "4"}, {"hidden", "63"}, {"T", "f32"}}).value();
  }

  // Admissible variants of the problem that are not in its ladder.
  std::vector<std::string> beside_ladder() const {
    const Space space(problem_, devices_[0].limits);
    const std::vector<Variant> ladder = space.ladder();
    std::vector<std::string> texts;
    for (const Variant& variant : all_variants(space)) {
      if (std::ranges::find(ladder, variant) == ladder.end()) {
        texts.push_back(variant_text(*problem_.op, variant));
      }
    }
    return texts;
  }

  // What an earlier sweep found of another problem, each variant slower than the one before.
  void record_neighbor(const std::vector<std::string>& variants) {
    OutcomeRecord row = outcome_in(store_, gpu_record(devices_[0]));
    row.key.problem = *store_.problem_id("rmsnorm.forward", "rows=8 hidden=64 T=f32", 1, 1);
    double median_ns = 500;
    for (const std::string& variant : variants) {
      row.variant = variant;
      row.key.build_sha256 = row.build.sha256 = row.build.key = "neighbor's " + variant;
      row.measurement->median_ns = median_ns;
      median_ns *= 1.1;
      ASSERT_TRUE(store_.record(row).ok());
    }
    TunedRecord tuned;
    tuned.sweep = row.sweep;
    tuned.gpu = row.key.gpu;
    tuned.problem = row.key.problem;
    tuned.variant = variants.front();
    tuned.build_sha256 = "neighbor's " + variants.front();
    tuned.method = "emulation";
    tuned.median_ns = 500;
    ASSERT_TRUE(store_.record_tuned(tuned).ok());
  }

  std::vector<std::string> measured() const {
    std::vector<std::string> variants;
    for (const WorkerEvent& event : events()) {
      if (event.kind == "measure" && event.event == "begins") variants.push_back(event.variant);
    }
    return variants;
  }

  std::vector<WorkerEvent> events() const {
    std::vector<WorkerEvent> events;
    std::ifstream log(folder_.file("log"));
    for (std::string line; std::getline(log, line);) {
      WorkerEvent event;
      std::istringstream words(line);
      words >> event.kind >> event.event;
      if (event.event == "is") words.ignore(5);  // " done"
      words >> event.stop_above_ns;
      if (words.peek() == '@') words.ignore() >> event.stop_above_mhz;
      words >> event.device >> event.problem >> std::ws;
      std::getline(words, event.variant);
      events.push_back(event);
    }
    return events;
  }

  // Three GPUs, as far as the loop can tell: their workers are fakes.
  void use_three_devices() {
    devices_.resize(3, devices_.front());
    devices_[1].id = "cpu-1";
    devices_[2].id = "cpu-2";
  }

  static std::size_t count(const std::vector<WorkerEvent>& events, const std::string& kind) {
    return static_cast<std::size_t>(std::ranges::count(events, kind, &WorkerEvent::kind));
  }

  Catalog catalog_;
  Problem problem_;
  std::vector<DeviceInfo> devices_ = std::vector<DeviceInfo>(1);
  SweepOptions options_;
  Store store_ = open();
  std::vector<std::int64_t> order_;  // of the problems that the last sweep was at
  const Variable log_{"FAKE_WORKER_LOG", folder_.file("log")};
};

}  // namespace mgtune
