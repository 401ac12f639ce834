// KnownResults: finds the results that the store already has for a variant on one problem. This
// shows which of the steps are left: build key -> binary -> check -> measurement. A step is looked
// up only if the result of the previous step is known. Nothing is compiled here; other processes do
// that.
//
// One thread. The store, the builder, the cache and the problem must outlive the object.

#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "build/build_cache.h"
#include "build/builder.h"
#include "core/status.h"
#include "device/device.h"
#include "family/problem.h"
#include "family/variant.h"
#include "store/records.h"
#include "store/store.h"
#include "worker/protocol.h"

namespace mgtune {

// One variant on its way from the search to its row in the store. Its outcome is valid once `need`
// is `nothing`.
struct VariantState : OutcomeRecord {
  enum class Need : std::uint8_t { compile, measure, nothing };

  Variant point;  // `variant` is its text
  Need need = Need::compile;
  bool cached = false;        // the build cache has its build, so probably no compiler will run
  std::string launches = {};  // launch_values(); see same_code.h
  std::string code = {};      // machine_code_identity() of the build; "" if it was not read
  // Names for the kernels that its build may have in common with those of other variants.
  std::vector<std::string> kernels = {};
  std::string group = {};  // variants of the problem with the same text may compile together

  bool contends() const { return need == Need::nothing && outcome == Outcome::ok; }
};

// What a sweep tries again although the store has a result.
struct Retries {
  std::set<Outcome> outcomes;
  std::set<std::string> builds = {};  // the keys of builds that this sweep has made again
};

class KnownResults {
 public:
  // Results with the outcomes of `retries` count as unknown. With nullptr, all results count.
  KnownResults(Store& store, Builder& builder, BuildCache& cache, const DeviceInfo& device,
               const Problem& problem, std::int64_t gpu_id, std::int64_t problem_id,
               std::string method, Retries* retries = nullptr);

  // If the names of the variant's kernels cannot be made (an expression in a template argument
  // divides by zero), its outcome is known at once: compile_failed, with an empty build key.
  Result<VariantState> look_up(const Variant& variant);

  // Adds the reply of the compile pool. Afterwards the variant needs measuring, or nothing if its
  // binary has results already or could not be made.
  Status add_build(VariantState& state, const WorkReply& reply);

  // Adds the reply of the measure worker. If the worker crashed or hung, the reply has neither a
  // check nor a measurement. Then a record with this outcome is added, so that a later sweep does
  // not run the variant again.
  void add_measurement(VariantState& state, const WorkReply& reply) const;

 private:
  Status find_results(VariantState& state);
  bool retries(Outcome outcome) const;

  Store& store_;
  Builder& builder_;
  BuildCache& cache_;
  const DeviceInfo& device_;
  const Problem& problem_;
  Binding binding_;
  std::int64_t gpu_id_, problem_id_;
  std::string reference_hash_, method_;
  Retries* retries_;
};

}  // namespace mgtune
