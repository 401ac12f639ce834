#include "plan/problem_set.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "expression/expression.h"
#include "plan/problem_check.h"

namespace mgtune {
namespace {

using ProblemWords = std::map<std::string, std::string>;

// How many problems a request may try to bind, over all combinations of dtypes. It takes a second.
constexpr std::int64_t kMaxCombinations = 100'000;

std::string list_text(const std::vector<DType>& dtypes, const char* separator = ",") {
  std::vector<std::string_view> words(dtypes.size());
  std::ranges::transform(dtypes, words.begin(), [](DType dtype) { return to_string(dtype); });
  return fmt::format("{}", fmt::join(words, separator));
}

// The dtypes of a variable for a problem that leaves it open.
Result<std::vector<DType>> open_dtypes(const Operator& op, const DTypeVariable& variable,
                                       const std::vector<DType>& asked) {
  if (asked.empty()) return variable.values;
  std::vector<DType> dtypes;
  std::ranges::copy_if(variable.values, std::back_inserter(dtypes),
                       [&](DType dtype) { return std::ranges::find(asked, dtype) != asked.end(); });
  if (!dtypes.empty()) return dtypes;
  return invalid_argument("--dtype " + list_text(asked) +
                          " leaves nothing to sweep: " + op.full_name() + " has " + variable.name +
                          " in " + list_text(variable.values, ", "));
}

// Goes through all combinations of the dtypes that ProblemWords leave open. The last variable
// changes fastest. There may be more combinations than a list can hold.
class DTypeCombinations {
 public:
  static Result<DTypeCombinations> make(const Operator& op, const ProblemWords& words,
                                        const std::vector<DType>& asked) {
    DTypeCombinations all;
    all.words_ = words;
    for (const DTypeVariable& variable : op.dtypes) {
      if (words.contains(variable.name) || variable.default_slot) continue;
      MGTUNE_ASSIGN(std::vector<DType> dtypes, open_dtypes(op, variable, asked));
      all.words_[variable.name] = to_string(dtypes.front());
      all.open_.push_back({variable.name, std::move(dtypes)});
    }
    return all;
  }

  const ProblemWords& words() const { return words_; }

  bool advance() {  // false: this was the last one
    for (auto variable = open_.rbegin(); variable != open_.rend(); ++variable) {
      variable->place = (variable->place + 1) % variable->dtypes.size();
      words_[variable->name] = to_string(variable->dtypes[variable->place]);
      if (variable->place > 0) return true;
    }
    return false;
  }

 private:
  struct Open {
    std::string name;
    std::vector<DType> dtypes;
    std::size_t place = 0;
  };
  ProblemWords words_;
  std::vector<Open> open_;
};

Status too_many_combinations(const Operator& op) {
  return invalid_argument(
      fmt::format("the problems of {} have more than {} combinations of dtypes, which is the limit "
                  "of one request; choose some with --dtype, or name dtypes in --problem, for "
                  "example {}={}",
                  op.full_name(), kMaxCombinations, op.dtypes.front().name,
                  to_string(op.dtypes.front().values.front())));
}

// Whether `words` fix every dtype of the operator, and none of these dtypes is in `asked`.
bool contradicts(const Operator& op, const ProblemWords& words, const std::vector<DType>& asked) {
  const auto misses = [&](const DTypeVariable& variable) {
    const auto word = words.find(variable.name);
    if (word == words.end()) return variable.default_slot.has_value();  // another variable decides
    return std::ranges::none_of(asked,
                                [&](DType dtype) { return to_string(dtype) == word->second; });
  };
  return !asked.empty() && !op.dtypes.empty() && std::ranges::all_of(op.dtypes, misses);
}

// The words of a mapping for one token count. The mapping gives dims as expressions over the
// model's fields.
Result<ProblemWords> evaluate_mapping(const Operator& op, const ProblemValues& mapping,
                                      const ModelShapes& model, std::int64_t tokens) {
  Scope scope;
  Slots values;
  const auto declare = [&](const std::string& name, std::int64_t value) -> Status {
    MGTUNE_ASSIGN(const int slot, scope.declare(name, ValueType::integer, Stage::compile));
    values.resize(scope.size());
    values[std::size_t(slot)] = value;
    return {};
  };
  MGTUNE_TRY(declare("tokens", tokens));
  for (const auto& [name, value] : model.fields) MGTUNE_TRY(declare(name, value));

  ProblemWords words;
  for (const auto& [name, text] : mapping) {
    words[name] = text;
    if (std::ranges::find(op.dims, name, &Dim::name) == op.dims.end()) continue;
    MGTUNE_ASSIGN(const Expression dim, Expression::parse(text, scope, ValueType::integer));
    MGTUNE_ASSIGN(const std::int64_t value, dim.evaluate(values));
    words[name] = std::to_string(value);
  }
  return words;
}

Result<std::vector<ProblemWords>> words_of_model(const Operator& op, const ModelShapes& model) {
  if (op.model_problems.empty()) {
    return invalid_argument(op.place("/problems/model") + ": " + op.full_name() +
                            " does not say which problems a model brings; use --problem");
  }
  std::vector<ProblemWords> all;
  for (const ProblemValues& mapping : op.model_problems) {
    for (const std::int64_t tokens : model.tokens) {
      Result<ProblemWords> words = evaluate_mapping(op, mapping, model, tokens);
      if (!words.ok()) {
        return std::move(words).take_status().with_context(op.place("/problems/model") + ", for " +
                                                           model.name);
      }
      all.push_back(*std::move(words));
    }
  }
  return all;
}

Result<std::vector<ProblemWords>> words_of_recording(const Operator& op,
                                                     const RecordedShapes& recorded) {
  std::vector<ProblemWords> all;
  const auto problems = recorded.find(op.full_name());
  if (problems == recorded.end()) return all;
  for (const std::string& text : problems->second) {
    MGTUNE_ASSIGN(ProblemWords words, parse_assignments(text));
    all.push_back(std::move(words));
  }
  return all;
}

Result<std::vector<ProblemWords>> words_of_operator(const Operator& op, DeviceKind device) {
  const bool emulation = device == DeviceKind::cpu;
  const auto& problems = emulation ? op.emulation_problems : op.problems;
  if (!problems.empty()) return problems;
  return invalid_argument(op.place(emulation ? "/problems/emulation" : "/problems/default") + ": " +
                          op.full_name() + " has no problems for this device; use --problem");
}

Result<std::vector<ProblemWords>> asked_words(const Operator& op, const ProblemRequest& request,
                                              DeviceKind device) {
  std::vector<ProblemWords> all;
  for (const std::string& text : request.problems) {
    MGTUNE_ASSIGN(ProblemWords words, parse_assignments(text));
    if (contradicts(op, words, request.dtypes)) {
      return invalid_argument("--dtype " + list_text(request.dtypes) + " contradicts --problem " +
                              text + ", which names its dtypes itself");
    }
    all.push_back(std::move(words));
  }
  if (!all.empty() && !request.model.has_value() && !request.recorded.has_value()) return all;
  MGTUNE_ASSIGN(std::vector<ProblemWords> brought,
                request.recorded.has_value() ? words_of_recording(op, *request.recorded)
                : request.model.has_value()  ? words_of_model(op, *request.model)
                                             : words_of_operator(op, device));
  std::erase_if(brought, [&](const ProblemWords& w) { return contradicts(op, w, request.dtypes); });
  all.insert(all.end(), brought.begin(), brought.end());
  if (!all.empty()) return all;
  return invalid_argument("--dtype " + list_text(request.dtypes) + ": no problem of " +
                          op.full_name() + " has it; name one with --problem");
}

// The failure with advice, if binding `words` failed: for a dim without a value, how to give one.
Status explain_failure(const Operator& op, const ProblemWords& words, Status failure) {
  const std::vector<std::string> known = problem_words(op);
  const bool all_known = std::ranges::all_of(
      words, [&](const auto& word) { return std::ranges::find(known, word.first) != known.end(); });
  const auto missing = std::ranges::find_if(
      op.dims, [&](const Dim& dim) { return !dim.fallback && !words.contains(dim.name); });
  if (!all_known || missing == op.dims.end()) return failure;
  std::string example;
  for (const Dim& dim : op.dims) {
    if (dim.fallback) continue;
    const auto word = words.find(dim.name);
    example += (example.empty() ? "" : ",") + dim.name + "=" +
               (word == words.end() ? example_of(op, dim) : word->second);
  }
  return invalid_argument(op.full_name() + " needs `" + missing->name +
                          "`: add it to --problem, for example --problem " + example);
}

// Calls visit(problem) for each problem of the request until visit() returns false. Some problems
// may come twice.
template <typename Visit>
Status for_each_problem(const std::vector<const Operator*>& operators,
                        const ProblemRequest& request, DeviceKind device, const Visit& visit) {
  // If there are several operators, one may support fewer models than the others.
  const bool may_leave_out =
      request.model.has_value() && request.problems.empty() && operators.size() > 1;
  std::int64_t tried = 0;
  bool visited = false;
  Status left_out;  // why the first problem was left out
  for (const Operator* op : operators) {
    MGTUNE_ASSIGN(const std::vector<ProblemWords> asked, asked_words(*op, request, device));
    for (const ProblemWords& words : asked) {
      MGTUNE_ASSIGN(auto combinations, DTypeCombinations::make(*op, words, request.dtypes));
      Status refusal;  // of the first combination
      bool any = false;
      do {
        if (++tried > kMaxCombinations && !op->dtypes.empty()) return too_many_combinations(*op);
        Result<Problem> problem = bind_problem(*op, combinations.words());
        if (!problem.ok()) {
          if (refusal.ok()) refusal = std::move(problem).take_status();
          continue;
        }
        any = visited = true;
        MGTUNE_TRY(check_tensors(*problem));
        if (!visit(*std::move(problem))) return {};
      } while (combinations.advance());
      if (any) continue;
      if (!may_leave_out) {
        return request.problems.empty() ? refusal : explain_failure(*op, words, refusal);
      }
      if (left_out.ok()) left_out = std::move(refusal);
    }
  }
  return visited ? Status() : left_out;
}

}  // namespace

Result<std::vector<Problem>> make_problems(const std::vector<const Operator*>& operators,
                                           const ProblemRequest& request, DeviceKind device) {
  std::vector<Problem> problems;
  std::set<std::pair<std::string, std::string>> seen;
  MGTUNE_TRY(for_each_problem(operators, request, device, [&](Problem problem) {
    if (seen.emplace(problem.op->full_name(), problem.text()).second) {
      problems.push_back(std::move(problem));
    }
    return true;
  }));
  return problems;
}

Result<Problem> first_problem(const Operator& op, DeviceKind device) {
  Problem first;
  MGTUNE_TRY(for_each_problem({&op}, {}, device, [&](Problem problem) {
    first = std::move(problem);
    return false;
  }));
  return first;
}

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
