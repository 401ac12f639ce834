// A database with many results of toy.norm, opened as a program opens it, and plans from it on a
// device that does nothing. Free of GoogleTest: benchmarks use it as well.

#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "device/shared_modules.h"
#include "dispatch/plan.h"
#include "selection/pick_key.h"
#include "source/tuned_source.h"
#include "store/store.h"
#include "tests/helpers/operators/toy_operators.h"
#include "tests/helpers/test_folder.h"

namespace mgtune {

class TunedDatabase {
 public:
  // `problems` tuned problems, each with its outcome, of so many values of the static dim. Without
  // keys, the picks are as those of format 6.
  TunedDatabase(std::int64_t problems, std::int64_t bindings, bool has_keys = true) {
    declare_toy_kernels(device);
    std::filesystem::create_directory(folder_.file("toy"));
    std::ofstream(folder_.file("toy/norm.json")) << kToyNorm;
    std::ofstream(folder_.file("toy/norm.cu")) << "// norm";
    std::ofstream(folder_.file("toy/reference.cu")) << "// nobody runs it";
    op_ = must(catalog_.find(folder_.file("toy"))).front();
    write(problems, bindings, has_keys);
    open();
  }

  // What mgr_open does with a database.
  void open() { source_ = must(open_tuned_sources(path(), catalog_, device.info())); }

  // What mgr_plan does.
  std::unique_ptr<Plan> plan() {
    const Binding binding = bound(*op_, {{"hidden", "64"}, {"T", "f32"}});
    const std::vector<DimRange> ranges = {{1, 65536}, {1, 0}};
    const auto evidence =
        must(evidence_for(binding, ranges, gpu_record(device.info()), catalog_, source_));
    return must(Plan::make(modules_, builder_, binding, ranges, *evidence));
  }

  std::string path() const { return folder_.file("results.db"); }
  const TunedSource& source() const { return source_; }

  FakeDevice device;

 private:
  void write(std::int64_t problems, std::int64_t bindings, bool has_keys) const {
    const std::array<const char*, 4> variants = {"row THREADS=32 VEC=4", "row THREADS=64 VEC=4",
                                                 "row THREADS=128 VEC=4", "row THREADS=256 VEC=4"};
    ImportedSweep sweep;
    sweep.gpu = gpu_record(device.info());
    for (std::int64_t i = 0; i < problems; ++i) {
      const std::string text = "rows=" + std::to_string(1 + i / bindings) +
                               " hidden=" + std::to_string(64 * (1 + i % bindings)) + " T=f32";
      const std::string variant = variants[std::size_t(i / bindings) % variants.size()];
      TunedView pick;
      pick.op = "toy.norm";
      pick.problem = text;
      pick.tuned.variant = pick.tuned.default_variant = variant;
      pick.tuned.method = "rotating";
      pick.tuned.median_ns = 1000;
      if (has_keys)
        pick.tuned.key = key_of(must(bind_problem(*op_, must(parse_assignments(text)))));
      sweep.picks.push_back(std::move(pick));
      ImportedOutcome outcome;
      outcome.problem = {"toy.norm", text, 1, 1};
      outcome.variant = variant;
      sweep.outcomes.push_back(std::move(outcome));
    }
    Store store = must(Store::open(path(), Store::Mode::read_write));
    must(store.import_results({sweep}));
  }

  TestFolder folder_;
  Catalog catalog_{FileSystem::real()};
  const Operator* op_ = nullptr;
  TunedSource source_;
  SharedModules modules_{device};
  Builder builder_ = fake_builder();
};

}  // namespace mgtune
