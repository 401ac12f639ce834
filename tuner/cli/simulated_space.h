// What `mgtune simulate` replays: spaces of which every time is known, out of a file that somebody
// recorded, or out of a database in which a sweep visited every variant of a problem.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/status.h"
#include "family/catalog.h"
#include "search/replay.h"
#include "space/variant_set.h"
#include "store/store.h"

namespace mgtune {

struct SimulatedSpace {
  std::string name;
  const VariantSet* set;              // owned by `owner`
  TimeOf time_of;                     // refers to `owner`
  std::vector<double> times;          // of all variants; 0: it failed
  std::shared_ptr<const void> owner;  // shared, because what it is differs
};

Result<SimulatedSpace> space_of_file(const std::string& path);

// Which problems of a database are meant.
struct SweptWords {
  std::string kernel;   // family, operator or folder
  std::string problem;  // "rows=4096,T=bf16": those that have these values; "": all
};

// invalid_argument or not_found, with a suggestion, where they name what none of the operators has.
Status check_swept_words(Catalog& catalog, const SweptWords& words);

struct SweptSpaces {
  std::vector<SimulatedSpace>
      spaces;                         // "rmsnorm.forward rows=4096 T=bf16 on NVIDIA H200, rotating"
  std::vector<std::string> left_out;  // problems of which not every variant was visited, and why
};

// One space for each problem, GPU and method that the words mean. The catalog outlives them.
Result<SweptSpaces> spaces_of_store(Store& store, Catalog& catalog, const SweptWords& words);

}  // namespace mgtune
