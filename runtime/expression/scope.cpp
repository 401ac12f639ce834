#include "expression/scope.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/dtype.h"
#include "expression/token.h"

namespace mgtune {
namespace {

constexpr std::array<std::string_view, 10> kReserved = {
    "true", "false", "min", "max", "ceil_div", "round_up", "gcd", "is_pow2", "sizeof", "has"};

}  // namespace

std::string_view to_string(ValueType type) {
  constexpr std::array<std::string_view, 3> kWords = {"integer", "boolean", "identifier"};
  return kWords[static_cast<std::size_t>(type)];
}

std::string_view to_string(Stage stage) {
  constexpr std::array<std::string_view, 3> kWords = {"compile", "load", "launch"};
  return kWords[static_cast<std::size_t>(stage)];
}

bool is_dtype(std::int64_t symbol) { return symbol < static_cast<std::int64_t>(kDTypes.size()); }

Scope::Scope() {
  for (const DType dtype : kDTypes) intern(to_string(dtype));
}

Result<int> Scope::declare(std::string_view text, ValueType type, Stage stage,
                           std::span<const std::string> symbols) {
  if (std::ranges::find(kReserved, text) != kReserved.end()) {
    return invalid_argument(in_quotes(text) + " is a word of the expression language");
  }
  if (find(text) != nullptr) return invalid_argument("the name " + in_quotes(text) + " is taken");
  if (find_symbol(text)) {
    return invalid_argument(in_quotes(text) +
                            " is a dtype or a parameter's value, not a free name");
  }
  Name name{std::string(text), type, stage, static_cast<int>(names_.size()), {}};
  for (const std::string& symbol : symbols) {
    const bool reserved = std::ranges::find(kReserved, symbol) != kReserved.end();
    if (reserved || symbol == text || find(symbol) != nullptr) {
      return invalid_argument(in_quotes(symbol) + " cannot be a value: it means something else");
    }
  }
  for (const std::string& symbol : symbols) name.symbols.push_back(intern(symbol));
  slots_.emplace(name.text, name.slot);
  refusals_.erase(name.text);
  names_.push_back(std::move(name));
  return names_.back().slot;
}

void Scope::refuse(std::string_view text, std::string reason) {
  refusals_.insert_or_assign(std::string(text), std::move(reason));
}

const std::string* Scope::refusal(std::string_view text) const {
  const auto found = refusals_.find(text);
  return found == refusals_.end() ? nullptr : &found->second;
}

const Name* Scope::find(std::string_view text) const {
  const auto found = slots_.find(text);
  return found == slots_.end() ? nullptr : &names_[static_cast<std::size_t>(found->second)];
}

std::int64_t Scope::intern(std::string_view symbol) {
  if (const auto known = find_symbol(symbol)) return *known;
  const auto id = static_cast<std::int64_t>(symbols_.size());
  symbols_.emplace_back(symbol);
  symbol_ids_.emplace(symbol, id);
  return id;
}

std::optional<std::int64_t> Scope::find_symbol(std::string_view symbol) const {
  const auto found = symbol_ids_.find(symbol);
  if (found == symbol_ids_.end()) return std::nullopt;
  return found->second;
}

std::string Scope::value_text(ValueType type, std::int64_t value) const {
  switch (type) {
    case ValueType::boolean:
      return value != 0 ? "true" : "false";
    case ValueType::symbol:
      return symbol_text(value);
    case ValueType::integer:
      break;
  }
  return std::to_string(value);
}

}  // namespace mgtune
