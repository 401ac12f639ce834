// Fits the rules of an operator on a GPU: which few variants, and when to try which of them. The
// same measurements give the same bytes. No state; one thread.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "family/catalog.h"
#include "fit/held_out.h"
#include "fit/loss_table.h"

namespace mgtune {

struct FitRequest {
  std::string kernel;    // one operator, or a folder with one
  std::string gpu;       // a product's name; "": the only GPU with results
  std::string database;  // "": the default one
  std::string held_out;  // a database with more problems, to say how good the rules are; "": none
  std::string command;   // written into the rules, to repeat the fit
  std::string commit;    // likewise: of the sources that were measured; may be empty
};

struct FittedRules {
  std::string op, gpu_word;  // "nvidia-h200", for a file's name
  std::string document;      // the content of the rules file
  std::size_t problems = 0, measurements = 0, candidates = 0;
  std::size_t variants = 0, leaves = 0;
  LossSummary fitted, left_out_problem, left_out_band, ladder;
  LossSummary attainable;  // of the best of the variants at each problem: no rules lose less
  std::optional<HeldOut> held_out;
};

// Of results in a database. invalid_argument if the kernel or the GPU is not one of those with
// results, or not exactly one; not_found if there are too few problems.
Result<FittedRules> fit_rules(const FitRequest& request, Catalog& catalog);

// Of measurements that were read before. `held_out` are those of more problems; null: none.
Result<FittedRules> fit_rules(const FitData& data, const FitData* held_out,
                              const std::string& command, const std::string& commit);

}  // namespace mgtune
