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
  std::optional<RecordedShapes> recorded = {};  // used instead of a model
  RecordedLaunches launches = {};               // of the recorded problems
  // If a problem does not set a dtype variable, there is a problem for each of these dtypes. Empty:
  // for each dtype that the variable has. Problems of an operator's file or of a model that have
  // none of these dtypes are left out.
  std::vector<DType> dtypes;
};

// Makes the requested problems for every operator, each problem once. If a problem does not set a
// dtype variable, the variable gets its default. If it has no default, there is a problem for each
// of its dtypes that the operator's constraints allow. If the request has no problems, no model and
// no recording, the problems are the defaults in the operator's file (the small ones on the cpu
// device). If there are several operators, problems of a model that an operator refuses are left
// out, as long as another operator has some. Shapes, strides and cost of each problem are checked
// (plan/problem_check.h). The message of invalid_argument names the wrong words, or the place in
// the operator's file. More than 100,000 combinations of problems and dtypes are refused before
// they are made.
Result<std::vector<Problem>> make_problems(const std::vector<const Operator*>& operators,
                                           const ProblemRequest& request, DeviceKind device);

// The first of the operator's own problems. The others are not made. It fails in the same cases as
// make_problems().
Result<Problem> first_problem(const Operator& op, DeviceKind device);

// For commands that take exactly one operator and one problem: the operator that `kernel` names. If
// it names several: invalid_argument, with a list of the operators.
Result<const Operator*> only_operator(Catalog& catalog, const std::string& kernel);

// The problem that `problem` ("rows=4096,hidden=4096") names, or the operator's own problem if it
// has only one. If several remain: invalid_argument, with a list of the problems.
Result<Problem> only_problem(const Operator& op, const std::string& problem, DeviceKind device);

}  // namespace mgtune
