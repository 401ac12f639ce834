// KnownResults: what the store already has of a variant on one problem, and what is still to do:
// build key -> binary -> check -> measurement. A step is looked up only if the one before is known.
// Nothing is compiled here; that happens in other processes.
//
// One thread. Store, builder, cache and problem outlive the object.

#pragma once

#include <cstdint>
#include <optional>
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

// One variant on its way from the search to its row. Its outcome is valid once nothing is needed.
struct VariantState : OutcomeRecord {
  enum class Need : std::uint8_t { compile, measure, nothing };

  Variant point;  // of which `variant` is the text
  Need need = Need::compile;
  bool cached = false;  // the build cache holds its build: compiling costs nothing

  bool contends() const { return need == Need::nothing && outcome == Outcome::ok; }
};

class KnownResults {
 public:
  KnownResults(Store& store, Builder& builder, BuildCache& cache, const DeviceInfo& device,
               const Problem& problem, std::int64_t gpu_id, std::int64_t problem_id,
               std::string method);

  // A variant whose kernels cannot even be named (an expression in a template argument that divides
  // by zero) is known at once: compile_failed, with an empty build key.
  Result<VariantState> look_up(const Variant& variant);

  // The reply of the compile pool. Then the variant is known (its binary has results already, or
  // could not be made) or needs measuring.
  Status add_build(VariantState& state, const WorkReply& reply);

  // The reply of the measure worker. A crash or hang that left no check or measurement becomes one,
  // so that it is not run into again.
  void add_measurement(VariantState& state, const WorkReply& reply) const;

 private:
  Status find_results(VariantState& state);

  Store& store_;
  Builder& builder_;
  BuildCache& cache_;
  const DeviceInfo& device_;
  const Problem& problem_;
  Binding binding_;
  std::int64_t gpu_id_, problem_id_;
  std::string reference_hash_, method_;
};

}  // namespace mgtune
