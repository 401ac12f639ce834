#include "plan/single_problem.h"

#include <utility>
#include <vector>

#include "plan/problem_set.h"

namespace mgtune {

Result<const Operator*> only_operator(Catalog& catalog, const std::string& kernel) {
  MGTUNE_ASSIGN(const std::vector<const Operator*> operators, catalog.find(kernel));
  if (operators.size() == 1) return operators.front();
  std::string message = "--kernel " + kernel + " means several operators; name one of them:";
  for (const Operator* op : operators) message += " " + op->full_name();
  return invalid_argument(std::move(message));
}

Result<Problem> only_problem(const Operator& op, const std::string& problem, DeviceKind device) {
  ProblemRequest request;
  if (!problem.empty()) request.problems.push_back(problem);
  MGTUNE_ASSIGN(std::vector<Problem> problems, make_problems({&op}, request, device));
  if (problems.size() == 1) return std::move(problems.front());
  std::string message = problem.empty()
                            ? "--problem is required; " + op.full_name() + " has for example:"
                            : "--problem " + problem + " means several problems; name one of them:";
  for (const Problem& one : problems) message += "\n  " + one.text();
  return invalid_argument(std::move(message));
}

}  // namespace mgtune
