// The problems that a sweep tunes if it names none, and how problems are made from models of
// configs/shapes.

#include <fmt/format.h>

#include <algorithm>

#include "core/suggest.h"
#include "family/decode.h"
#include "family/problem.h"

namespace mgtune {
namespace {

using Values = std::map<std::string, std::string>;

Result<std::string> decode_value(const JsonCursor& cursor) {
  switch (cursor.value().kind) {
    case JsonValue::Kind::integer:
    case JsonValue::Kind::string:
      return cursor.value().string;
    case JsonValue::Kind::boolean:
      return std::string(cursor.value().boolean ? "true" : "false");
    default:
      return cursor.error("expected an integer, a string or a boolean");
  }
}

Result<Values> decode_values(const JsonCursor& cursor, const Operator& op) {
  Values values;
  MGTUNE_ASSIGN(const std::vector<JsonCursor> members, cursor.members());
  const std::vector<std::string> words = problem_words(op);
  for (const JsonCursor& member : members) {
    if (std::ranges::find(words, member.key()) == words.end()) {
      return cursor.error(
          fmt::format("unknown name '{}'{}", member.key(), did_you_mean(member.key(), words)));
    }
    MGTUNE_ASSIGN(std::string value, decode_value(member));
    values.emplace(member.key(), std::move(value));
  }
  return values;
}

// A template may leave dtypes open; a sweep then uses each in turn. At least one combination must
// bind.
Status check_bindable(const Operator& op, Values values) {
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

Status decode_templates(const JsonCursor& list, const Operator& op,
                        std::vector<ProblemTemplate>& templates) {
  MGTUNE_ASSIGN(const std::vector<JsonCursor> elements, list.elements());
  for (const JsonCursor& element : elements) {
    MGTUNE_ASSIGN(Values values, decode_values(element, op));
    const Status bindable = check_bindable(op, values);
    if (!bindable.ok()) return element.error(bindable.message());
    templates.push_back({std::move(values)});
  }
  return {};
}

}  // namespace

Status decode_problems(const JsonCursor& problems, Operator& op) {
  MGTUNE_TRY(problems.expect_keys({}, {"default", "emulation", "model"}));
  if (const auto list = problems.find("default")) {
    MGTUNE_TRY(decode_templates(*list, op, op.problems));
  }
  if (const auto list = problems.find("emulation")) {
    MGTUNE_TRY(decode_templates(*list, op, op.emulation_problems));
  }
  if (const auto list = problems.find("model")) {
    MGTUNE_ASSIGN(const std::vector<JsonCursor> elements, list->elements());
    for (const JsonCursor& element : elements) {
      MGTUNE_ASSIGN(Values values, decode_values(element, op));
      op.model_problems.push_back({std::move(values)});
    }
  }
  return {};
}

}  // namespace mgtune
