#include <algorithm>
#include <cctype>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "family/decode.h"
#include "json/json_value.h"

namespace mgtune {
namespace {

bool is_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Adds the names in an expression, or in the JSON of several. Words in other strings are added too.
void add_names(std::string_view text, std::set<std::string, std::less<>>& names) {
  while (!text.empty()) {
    const auto* const begin = std::ranges::find_if(text, is_of_name);
    text.remove_prefix(static_cast<std::size_t>(begin - text.begin()));
    const auto* const end = std::ranges::find_if_not(text, is_of_name);
    names.emplace(text.begin(), end);
    text.remove_prefix(static_cast<std::size_t>(end - text.begin()));
  }
}

// The lets that `names` name, and those that these need. A let names only those before it.
JsonValue lets_of(const JsonValue& all, std::set<std::string, std::less<>> names) {
  JsonValue lets;
  lets.kind = JsonValue::Kind::object;
  for (std::size_t i = all.keys.size(); i-- > 0;) {
    if (!names.contains(all.keys[i])) continue;
    add_names(canonical_json(all.items[i]), names);
    lets.keys.push_back(all.keys[i]);
    lets.items.push_back(all.items[i]);
  }
  return lets;
}

}  // namespace

std::string launch_text(const JsonCursor& design) {
  JsonValue shaping;
  shaping.kind = JsonValue::Kind::object;
  const auto add = [&](const char* key, const JsonValue& value) {
    shaping.keys.emplace_back(key);
    shaping.items.push_back(value);
  };
  for (const char* key : {"align", "arch", "constants", "launches", "workspace"}) {
    if (const JsonValue* value = design.value().find(key)) add(key, *value);
  }
  if (const JsonValue* all = design.value().find("let")) {
    std::set<std::string, std::less<>> names;
    add_names(canonical_json(shaping), names);
    const JsonValue lets = lets_of(*all, std::move(names));
    if (!lets.keys.empty()) add("let", lets);
  }
  return canonical_json(shaping);
}

}  // namespace mgtune
