// Makes the problems that a sweep tunes. They come from --problem, from the shapes of a model, from
// a recording, or from the operator's file. Pure functions; the operators must outlive the
// problems.

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
  std::optional<RecordedShapes> recorded = {};  // instead of a model
  RecordedLaunches launches = {};               // of problems that are recorded
  // If a problem does not set a dtype variable, it gets each of these dtypes. Empty: all dtypes
  // that the variable has. Problems of an operator's file or of a model that have none of these
  // dtypes are left out.
  std::vector<DType> dtypes;
};

// Makes the requested problems for every operator, each problem once. If a problem does not set a
// dtype variable, the variable gets its default. If it has no default, there is a problem for each
// of its dtypes that the operator's constraints allow. If the request has no problems, no model and
// no recording, the problems are the defaults in the operator's file (the small ones on the cpu
// device). Of several operators, those that refuse a model's problems have fewer or none, as long
// as another one has some. Shapes, strides and cost of each problem are checked
// (plan/problem_check.h). The message of invalid_argument has the wrong words, or the place in the
// operator's file. More than 100,000 combinations of problems and dtypes are refused before they
// are made.
Result<std::vector<Problem>> make_problems(const std::vector<const Operator*>& operators,
                                           const ProblemRequest& request, DeviceKind device);

// The first of the operator's own problems, without making the others. It fails in the same cases.
Result<Problem> first_problem(const Operator& op, DeviceKind device);

// For commands that take exactly one operator and one problem: the operator that `kernel` names.
// invalid_argument, with the operators listed, if it names several.
Result<const Operator*> only_operator(Catalog& catalog, const std::string& kernel);

// The problem that `problem` ("rows=4096,hidden=4096") names, or the operator's own if it has only
// one. invalid_argument, with the problems listed, if several remain.
Result<Problem> only_problem(const Operator& op, const std::string& problem, DeviceKind device);

}  // namespace mgtune
