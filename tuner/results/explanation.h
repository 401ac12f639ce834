// Explains which variant a program would run for a problem, why, and what is known about its loss.
// It compiles and launches nothing. One thread at a time.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/status.h"
#include "device/device.h"
#include "family/catalog.h"
#include "family/problem.h"
#include "selection/evidence.h"
#include "selection/variant_selection.h"

namespace mgtune {

struct ExplainRequest {
  std::string kernel;  // one operator, or a folder with one
  std::string problem;
  std::string gpu = "auto";
  std::string database;  // "": the default one
};

struct SelectionReport {
  std::string source;              // source_lines(): where the tuned rows come from
  std::vector<std::string> notes;  // the rows that were left out, and other warnings
  DeviceInfo device;    // the one --gpu means: of this machine, or with results in the database
  bool is_here = true;  // whether the device is in this machine
  Problem problem;
  std::vector<SelectedVariant> selected;  // best first
  std::shared_ptr<const Rules> rules;     // of this GPU or the most similar one; null: none
  std::vector<std::string> rules_lines;   // if rules chose: the path through the tree, the loss
  std::string improvement;                // what would improve the choice; "" if nothing would
  std::vector<std::string> failed;        // variants that are never dispatched on this GPU
};

// `catalog` must outlive the report. unsupported if no variant serves the problem; corrupt for a
// named database with values that the operators do not offer.
Result<SelectionReport> explain(const ExplainRequest& request, Catalog& catalog);

}  // namespace mgtune
