// The problems that a sweep tunes: those asked for, those a model brings, or the operators' own.
// Pure functions; the operators outlive the problems.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "core/status.h"
#include "device/device.h"
#include "family/catalog.h"
#include "family/operator.h"
#include "family/problem.h"
#include "plan/shapes.h"

namespace mgtune {

struct ProblemRequest {
  std::vector<std::string> problems;  // "rows=4096,hidden=4096"; may name dtypes and flags as well
  std::optional<ModelShapes> model;
  std::optional<RecordedShapes> recorded = {};  // instead of a model; of every operator asked about
  // Of every dtype variable that a problem leaves open; empty: all it has. Problems of the operator
  // or model that have none of them are left out.
  std::vector<DType> dtypes;
};

// Every problem asked for, of every operator, in every combination of the dtypes left open (those
// with a default have that) which the operator's constraints allow; each once. With neither
// problems nor a model nor a recording: the operators' defaults, the small ones on the cpu device.
// Shapes, strides and cost of each have been evaluated (family/problem_check.h). invalid_argument
// names the words at fault, or the place in the operator's file.
Result<std::vector<Problem>> make_problems(const std::vector<const Operator*>& operators,
                                           const ProblemRequest& request, DeviceKind device);

// For commands that take exactly one operator and one problem: the operator that `kernel` names.
// invalid_argument, with the operators listed, if it names several.
Result<const Operator*> only_operator(Catalog& catalog, const std::string& kernel);

// The problem that `problem` ("rows=4096,hidden=4096") names, or the operator's own if it has only
// one. invalid_argument, with the problems listed, if several remain.
Result<Problem> only_problem(const Operator& op, const std::string& problem, DeviceKind device);

}  // namespace mgtune
