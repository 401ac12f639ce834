// Fits the rules of an operator on a GPU: a few variants, and conditions that say which of them to
// try for a problem. The same measurements always give exactly the same rules file. No state; one
// thread.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "family/catalog.h"
#include "fit/fit_data.h"
#include "fit/held_out.h"

namespace mgtune {

struct FitRequest {
  std::string kernel;    // one operator, or a folder with one
  std::string gpu;       // a product's name; "": the only GPU with results
  std::string database;  // "": the default one
  std::string held_out;  // a database with more problems, to say how good the rules are; "": none
  std::string command;   // written into the rules, to repeat the fit
  std::string commit;    // of the measured sources, written too; may be empty
};

struct FittedRules {
  std::string op, gpu_word;  // "nvidia-h200", for a file's name
  std::string document;      // the content of the rules file
  std::size_t problems = 0, measurements = 0, candidates = 0;
  std::size_t variants = 0, leaves = 0;
  LossSummary fitted, left_out_problem, left_out_band, ladder;
  std::size_t ladder_estimated = 0;  // problems where the ladder's variant has no time
  LossSummary attainable;  // of the best of the variants at each problem: no tree loses less
  std::optional<HeldOut> held_out;
};

// Fits rules to the results in a database. invalid_argument if the kernel or the GPU has no
// results, or is not exactly one; not_found if there are too few problems.
Result<FittedRules> fit_rules(const FitRequest& request, Catalog& catalog);

// Fits rules to measurements that were read before. `held_out` has measurements of more problems;
// null if there are none.
Result<FittedRules> fit_rules(const FitData& data, const FitData* held_out,
                              const std::string& command, const std::string& commit);

}  // namespace mgtune
