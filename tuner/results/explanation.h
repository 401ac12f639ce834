// Explains which variant a program would run for a problem, why, and how much slower than the
// best variant it may be. It compiles and launches nothing. One thread at a time.

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "device/device.h"
#include "family/catalog.h"
#include "family/problem.h"
#include "selection/cross_validation.h"
#include "selection/evidence.h"
#include "selection/variant_selection.h"

namespace mgtune {

struct ExplainRequest {
  std::string kernel;   // one operator, or a folder with one
  std::string problem;  // "": only the cross-validation
  std::string gpu = "auto";
  std::string database;  // "": the default one
  bool cross_validate = false;
};

struct SelectionReport {
  std::unique_ptr<const Evidence> evidence;  // the lists below point into it
  std::string source;                        // source_lines(): where the tuned rows come from
  std::vector<std::string> notes;            // the rows that were left out, and other warnings
  DeviceInfo device;  // that --gpu means: one of this machine, or one with results in the database
  bool is_here = true;                    // whether the device is in this machine
  std::optional<Problem> problem;         // nullopt: only the cross-validation was asked for
  std::vector<SelectedVariant> selected;  // best first
  std::vector<HeldOut> neighbors;         // the nearest measured problems, as in cross_validate()
  std::vector<std::string> failed;        // variants that are never dispatched on this GPU
  std::vector<std::vector<HeldOut>>
      cross_validated;  // one list per combination of dtypes and flags
};

// `catalog` must outlive the report. unsupported if no variant serves the problem; not_found if
// there is nothing to cross-validate; corrupt for a named database with values that the operators
// do not offer.
Result<SelectionReport> explain(const ExplainRequest& request, Catalog& catalog);

}  // namespace mgtune
