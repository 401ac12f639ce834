#include "family/problem.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cassert>
#include <optional>

#include "core/text.h"

namespace mgtune {
namespace {

std::int64_t& at(Slots& slots, int slot) { return slots[static_cast<std::size_t>(slot)]; }
std::int64_t at(const Slots& slots, int slot) { return slots[static_cast<std::size_t>(slot)]; }

enum class DimSet { all, compiled_in, of_launches };

bool is_in(DimSet set, const Dim& dim) {
  return set == DimSet::all || (set == DimSet::compiled_in) == (dim.kind == DimKind::fixed);
}

Result<std::int64_t> parse_dim(const std::string& name, const std::string& word) {
  const auto value = parse_number<std::int64_t>(word);
  if (!value) return invalid_argument(fmt::format("{}: '{}' is not a 64-bit integer", name, word));
  if (*value < 0) return invalid_argument(fmt::format("{}: {} is negative", name, *value));
  return *value;
}

Status missing(const Operator& op, const std::string& name, std::string_view example) {
  return invalid_argument(fmt::format("{} needs `{}`: add it to the problem, for example {}={}",
                                      op.full_name(), name, name, example));
}

Status check_words(const Operator& op, const ProblemValues& words) {
  const std::vector<std::string> known = problem_words(op);
  for (const auto& [name, value] : words) {
    if (std::ranges::find(known, name) != known.end()) continue;
    return invalid_argument(fmt::format("unknown name '{}': {} takes {}{}", name, op.full_name(),
                                        fmt::join(known, " "), did_you_mean(name, known)));
  }
  return {};
}

Status bind_dtype(const Operator& op, const DTypeVariable& variable, const ProblemValues& words,
                  Slots& slots) {
  std::vector<std::string> offered;
  for (const DType dtype : variable.values) offered.emplace_back(to_string(dtype));
  std::string word = offered[0];
  if (const auto found = words.find(variable.name); found != words.end()) {
    word = found->second;
  } else if (variable.default_slot) {
    word = to_string(static_cast<DType>(at(slots, *variable.default_slot)));
  } else if (offered.size() > 1) {
    return missing(op, variable.name,
                   fmt::format("{}; it can be {}", word, fmt::join(offered, ", ")));
  }
  const auto chosen = std::ranges::find(offered, word);
  if (chosen == offered.end()) {
    return invalid_argument(fmt::format("{}: '{}' is not offered; it can be {}", variable.name,
                                        word, fmt::join(offered, ", ")));
  }
  const DType dtype = variable.values[static_cast<std::size_t>(chosen - offered.begin())];
  at(slots, variable.slot) = static_cast<std::int64_t>(dtype);
  return {};
}

Status bind_bool(const std::string& name, int slot, const ProblemValues& words, Slots& slots) {
  const auto word = words.find(name);
  if (word == words.end() || word->second == "false") return {};
  if (word->second != "true") {
    return invalid_argument(fmt::format("{}: '{}' is neither true nor false", name, word->second));
  }
  at(slots, slot) = 1;
  return {};
}

// The value of a dim that the words leave out.
Status bind_default(const Operator& op, const Dim& dim, Slots& slots) {
  if (!dim.fallback) return missing(op, dim.name, example_of(op, dim));
  const Result<std::int64_t> value = dim.fallback->evaluate(slots);
  if (!value.ok()) {
    return value.status().with_context(op.place("/dims/" + dim.name + "/default"));
  }
  if (*value < 0) {
    return invalid_argument(fmt::format("{} needs `{}`, because its default '{}' is {}",
                                        op.full_name(), dim.name, dim.fallback->text(), *value));
  }
  at(slots, dim.slot) = *value;
  return {};
}

std::string values_of(const Expression& expression, const Operator& op, const Slots& slots) {
  std::string text;
  for (const int slot : expression.slots()) {
    const Name& name = op.scope.names()[static_cast<std::size_t>(slot)];
    text += fmt::format(" {}={}", name.text, op.scope.value_text(name.type, at(slots, slot)));
  }
  return text;
}

Status check_constraints(const Operator& op, Stage known, const Slots& slots) {
  for (std::size_t i = 0; i < op.constraints.size(); ++i) {
    const Expression& constraint = op.constraints[i];
    if (constraint.stage() > known) continue;
    const Result<std::int64_t> holds = constraint.evaluate(slots);
    if (!holds.ok()) {
      return holds.status().with_context(op.place(fmt::format("/constraints/{}", i)));
    }
    if (*holds != 0) continue;
    return invalid_argument(fmt::format("'{}' does not hold for{}", constraint.text(),
                                        values_of(constraint, op, slots)));
  }
  return {};
}

Status bind_compiled(const Operator& op, const ProblemValues& words, Slots& slots) {
  for (const DTypeVariable& variable : op.dtypes) {
    MGTUNE_TRY(bind_dtype(op, variable, words, slots));
  }
  for (const Flag& flag : op.flags) MGTUNE_TRY(bind_bool(flag.name, flag.slot, words, slots));
  for (const Tensor& tensor : op.tensors) {
    if (tensor.optional) MGTUNE_TRY(bind_bool(tensor.name, tensor.has_slot, words, slots));
  }
  return {};
}

Status bind_dims(const Operator& op, const ProblemValues& words, DimSet set, Slots& slots) {
  for (const Dim& dim : op.dims) {
    if (!is_in(set, dim)) continue;
    if (const auto word = words.find(dim.name); word != words.end()) {
      MGTUNE_ASSIGN(at(slots, dim.slot), parse_dim(dim.name, word->second));
    } else {
      MGTUNE_TRY(bind_default(op, dim, slots));
    }
  }
  return {};
}

bool has_default_value(const Dim& dim, const Slots& slots) {
  if (!dim.fallback) return false;
  const Result<std::int64_t> value = dim.fallback->evaluate(slots);
  return value.ok() && *value == at(slots, dim.slot);
}

std::string text_of(const Operator& op, const Slots& slots, DimSet set) {
  std::vector<std::string> words;
  for (const Dim& dim : op.dims) {
    if (!is_in(set, dim) || has_default_value(dim, slots)) continue;
    words.push_back(fmt::format("{}={}", dim.name, at(slots, dim.slot)));
  }
  for (const DTypeVariable& variable : op.dtypes) {
    if (variable.default_slot && at(slots, *variable.default_slot) == at(slots, variable.slot)) {
      continue;
    }
    const auto dtype = static_cast<DType>(at(slots, variable.slot));
    words.push_back(fmt::format("{}={}", variable.name, to_string(dtype)));
  }
  for (const Flag& flag : op.flags) {
    if (at(slots, flag.slot) != 0) words.push_back(flag.name + "=true");
  }
  for (const Tensor& tensor : op.tensors) {
    if (tensor.optional && at(slots, tensor.has_slot) != 0) words.push_back(tensor.name + "=true");
  }
  return fmt::format("{}", fmt::join(words, " "));
}

}  // namespace

std::string Binding::text() const { return text_of(*op, slots, DimSet::compiled_in); }

Binding Problem::binding() const {
  Binding binding{op, slots};
  for (const Dim& dim : op->dims) {
    if (dim.kind != DimKind::fixed) at(binding.slots, dim.slot) = 0;
  }
  return binding;
}

std::string Problem::text() const { return text_of(*op, slots, DimSet::all); }

std::int64_t Problem::dim(std::string_view name) const {
  const auto found = std::ranges::find(op->dims, name, &Dim::name);
  assert(found != op->dims.end());
  return at(slots, found->slot);
}

Result<Problem> bind_problem(const Operator& op, const ProblemValues& values) {
  Problem problem{&op, Slots(op.scope.size())};
  MGTUNE_TRY(check_words(op, values));
  MGTUNE_TRY(bind_compiled(op, values, problem.slots));
  MGTUNE_TRY(bind_dims(op, values, DimSet::all, problem.slots));
  MGTUNE_TRY(check_constraints(op, Stage::launch, problem.slots));
  return problem;
}

Result<Binding> bind_static(const Operator& op, const ProblemValues& values) {
  Binding binding{&op, Slots(op.scope.size())};
  MGTUNE_TRY(check_words(op, values));
  for (const Dim& dim : op.dims) {
    if (dim.kind == DimKind::fixed || !values.contains(dim.name)) continue;
    return invalid_argument(
        fmt::format("{} is a dim of each launch, not of what is compiled in", dim.name));
  }
  MGTUNE_TRY(bind_compiled(op, values, binding.slots));
  MGTUNE_TRY(bind_dims(op, values, DimSet::compiled_in, binding.slots));
  MGTUNE_TRY(check_constraints(op, Stage::compile, binding.slots));
  return binding;
}

Result<ProblemValues> parse_assignments(std::string_view text) {
  constexpr std::string_view kSeparators = ", \t";
  ProblemValues words;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(kSeparators), text.size()));
    if (text.empty()) return words;
    const std::string_view part = text.substr(0, text.find_first_of(kSeparators));
    text.remove_prefix(part.size());
    const std::size_t equals = std::min(part.find('='), part.size());
    if (equals == 0 || equals + 1 >= part.size()) {
      return invalid_argument(fmt::format("'{}' is not of the form name=value", part));
    }
    const std::string name(part.substr(0, equals));
    if (!words.emplace(name, part.substr(equals + 1)).second) {
      return invalid_argument(fmt::format("{} is given twice", name));
    }
  }
}

std::vector<std::string> problem_words(const Operator& op) {
  std::vector<std::string> words;
  for (const Dim& dim : op.dims) words.push_back(dim.name);
  for (const DTypeVariable& variable : op.dtypes) words.push_back(variable.name);
  for (const Flag& flag : op.flags) words.push_back(flag.name);
  for (const Tensor& tensor : op.tensors) {
    if (tensor.optional) words.push_back(tensor.name);
  }
  return words;
}

std::string example_of(const Operator& op, const Dim& dim) {
  for (const ProblemValues& problem : op.problems) {
    if (const auto value = problem.find(dim.name); value != problem.end()) return value->second;
  }
  return "4096";
}

Result<Problem> complete(const Binding& binding, const std::map<std::string, std::int64_t>& dims) {
  const Operator& op = *binding.op;
  ProblemValues words;
  for (const auto& [name, value] : dims) {
    const auto dim = std::ranges::find(op.dims, name, &Dim::name);
    if (dim == op.dims.end()) {
      return invalid_argument(
          fmt::format("unknown dim '{}'{}", name, did_you_mean(name, op.dims, &Dim::name)));
    }
    if (dim->kind == DimKind::fixed) {
      return invalid_argument(name + " is compiled in; a launch cannot set it");
    }
    words.emplace(name, std::to_string(value));
  }
  Problem problem{&op, binding.slots};
  MGTUNE_TRY(bind_dims(op, words, DimSet::of_launches, problem.slots));
  MGTUNE_TRY(check_constraints(op, Stage::launch, problem.slots));
  return problem;
}

}  // namespace mgtune
