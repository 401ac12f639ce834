#include "json/object_reader.h"

#include <fmt/format.h>

#include <cmath>

namespace mgtune {

Json number_or_word(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return "nan";
  return value > 0 ? "inf" : "-inf";
}

ObjectReader::ObjectReader(const JsonCursor& object) : object_(object) {
  keep(object_.members().status());
}

std::vector<JsonCursor> ObjectReader::read_members(std::string_view key) {
  const std::optional<JsonCursor> value = member(key);
  if (!value) return {};
  Result<std::vector<JsonCursor>> members = value->members();
  keep(members.status());
  return members.ok() ? *std::move(members) : std::vector<JsonCursor>();
}

void ObjectReader::keep(const Status& status) {
  if (failure_.ok() && !status.ok()) failure_ = corrupt(status.message());
}

Status ObjectReader::finish() {
  for (const std::string& key : object_.value().keys) {
    if (!known_.contains(key)) fail(fmt::format("unknown key \"{}\"", key));
  }
  return failure_;
}

std::optional<JsonCursor> ObjectReader::member(std::string_view key) {
  known_.emplace(key);
  if (!has(key)) fail(fmt::format("no key \"{}\"", key));
  return object_.find(key);
}

void ObjectReader::fail_word(std::string_view key, std::string_view kind, std::string_view word) {
  if (has(key)) keep(object_.at(key).error(fmt::format("no {} is called \"{}\"", kind, word)));
}

}  // namespace mgtune
