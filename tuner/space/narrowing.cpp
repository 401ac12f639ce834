#include "space/narrowing.h"

#include <optional>
#include <utility>

namespace mgtune {
namespace {

// The condition for each design. If it fits no design, the failure of the first one.
Result<std::vector<Narrowing::Condition>> parse_condition(const Operator& op,
                                                          const std::string& text) {
  std::vector<Narrowing::Condition> conditions;
  std::optional<Status> failure;
  bool fits_any = false;
  for (const Design& design : op.designs) {
    Result<Expression> parsed = Expression::parse(text, design.scope, ValueType::boolean);
    if (parsed.ok() && parsed->stage() == Stage::load) {
      return parsed->refusal("it needs build.*, which is known only after a build is loaded");
    }
    if (parsed.ok()) {
      fits_any = true;
      conditions.push_back({*std::move(parsed), "--where " + text});
    } else {
      conditions.push_back({Expression::boolean(false),
                            "--where " + text + ": it has no parameters of these names"});
      if (!failure.has_value()) failure = std::move(parsed).take_status();
    }
  }
  if (!fits_any && failure.has_value()) return *std::move(failure);
  return conditions;
}

}  // namespace

Result<Narrowing> parse_narrowing(const Operator& op, const std::vector<std::string>& conditions) {
  Narrowing narrowing;
  narrowing.designs.resize(op.designs.size());
  for (const std::string& text : conditions) {
    MGTUNE_ASSIGN(std::vector<Narrowing::Condition> of_designs, parse_condition(op, text));
    for (std::size_t i = 0; i < of_designs.size(); ++i) {
      narrowing.designs[i].push_back(std::move(of_designs[i]));
    }
  }
  return narrowing;
}

}  // namespace mgtune
