// Reads the problems that a sweep tunes if the user names none, and how problems are made from
// models of configs/shapes.

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "family/decode.h"
#include "family/problem.h"

namespace mgtune {
namespace {

Result<ProblemValues> decode_values(const JsonCursor& cursor, const Operator& op) {
  ProblemValues values;
  MGTUNE_ASSIGN(const std::vector<JsonCursor> members, cursor.members());
  const std::vector<std::string> words = problem_words(op);
  for (const JsonCursor& member : members) {
    if (std::ranges::find(words, member.key()) == words.end()) {
      return cursor.error(
          fmt::format("unknown name '{}'{}", member.key(), did_you_mean(member.key(), words)));
    }
    MGTUNE_ASSIGN(std::string value, member.word());
    values.emplace(member.key(), std::move(value));
  }
  return values;
}

// A template may leave dtypes open; a sweep then uses each in turn. At least one combination must
// bind.
Status check_bindable(const Operator& op, ProblemValues values) {
  for (const DTypeVariable& variable : op.dtypes) {
    if (values.contains(variable.name) || variable.default_slot) continue;
    Status refusal;
    for (const DType dtype : variable.values) {
      values[variable.name] = to_string(dtype);
      Status status = check_bindable(op, values);
      if (status.ok()) return status;
      if (refusal.ok()) refusal = std::move(status);
    }
    return refusal;
  }
  return bind_problem(op, values).status();
}

// The list under `key`, if there is one. With `are_templates`, each element must bind.
Status decode_list(const JsonCursor& problems, std::string_view key, const Operator& op,
                   bool are_templates, std::vector<ProblemValues>& out) {
  const auto list = problems.find(key);
  if (!list) return {};
  MGTUNE_ASSIGN(const std::vector<JsonCursor> elements, list->elements());
  for (const JsonCursor& element : elements) {
    MGTUNE_ASSIGN(ProblemValues values, decode_values(element, op));
    const Status bindable = are_templates ? check_bindable(op, values) : Status();
    if (!bindable.ok()) return element.error(bindable.message());
    out.push_back(std::move(values));
  }
  return {};
}

}  // namespace

Status decode_problems(const JsonCursor& problems, Operator& op) {
  MGTUNE_TRY(problems.expect_keys({}, {"default", "emulation", "model"}));
  MGTUNE_TRY(decode_list(problems, "default", op, true, op.problems));
  MGTUNE_TRY(decode_list(problems, "emulation", op, true, op.emulation_problems));
  return decode_list(problems, "model", op, false, op.model_problems);
}

}  // namespace mgtune
