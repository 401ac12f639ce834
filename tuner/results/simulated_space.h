// The spaces that `mgtune simulate` replays. Every time in them is known: they come from a recorded
// file, or from a database in which a sweep visited every variant of a problem. The functions keep
// no state.

#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/status.h"
#include "family/catalog.h"
#include "results/result_words.h"
#include "search/replay.h"
#include "space/variant_set.h"
#include "store/store.h"

namespace mgtune {

struct SimulatedSpace {
  std::string name;
  const VariantSet* set;              // owned by `owner`
  TimeOf time_of;                     // refers to `owner`
  std::vector<double> times;          // of all variants; 0: the variant failed
  std::shared_ptr<const void> owner;  // its type depends on the source
  WarmStart warm_start = {};          // what searches know from another space
  std::string warm_from = {};         // the name of that space
};

Result<SimulatedSpace> space_of_file(const std::string& path);

// The same, but with a warm start: its searches begin with the fastest variants of the space in the
// file `warm_from`, like a sweep that has results of another GPU or another problem.
// invalid_argument if the two spaces have different parameters.
Result<SimulatedSpace> space_of_file(const std::string& path, const std::string& warm_from);

// The space of a problem whose variants a sweep has measured completely. The times are nanoseconds.
// `rows` must be rows of this problem, one GPU and one method. Rows of variants that the operator
// does not offer any more are ignored. corrupt if a variant has no row (the message says how many
// have one), or if no variant passed. The operator must outlive the result.
Result<SimulatedSpace> swept_space(std::string name, const Problem& problem,
                                   const DeviceLimits& device, std::span<const OutcomeView> rows);

// Checks the kernel and the problem of the filter: invalid_argument or not_found, with a
// suggestion, for a name that none of the operators has.
Status check_swept_filter(Catalog& catalog, const ResultFilter& filter);

struct SweptSpaces {
  std::vector<SimulatedSpace>
      spaces;                         // "rmsnorm.forward rows=4096 T=bf16 on NVIDIA H200, rotating"
  std::vector<std::string> left_out;  // problems whose variants were not all visited, and why
};

// One space for each problem, GPU and method of the results that the filter's kernel and problem
// select. The catalog must outlive the result.
Result<SweptSpaces> spaces_of_store(Store& store, Catalog& catalog, const ResultFilter& filter);

}  // namespace mgtune
