#include "family/operator_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/text.h"
#include "json/json_cursor.h"

namespace mgtune {
namespace {

constexpr std::size_t kMaxFiles = 4;  // an operator's own file and those that it extends

void set_file(JsonValue& value, std::uint8_t file) {
  value.file = file;
  for (JsonValue& item : value.items) set_file(item, file);
}

// The path below the family's folder that "extends" names.
Result<std::string> base_path(const JsonCursor& extends, const SourceTree& sources,
                              const std::vector<std::string>& files) {
  MGTUNE_ASSIGN(std::string path, extends.string());
  if (!path.ends_with(".json")) return extends.unexpected("a .json file of the family");
  if (!sources.files.contains(path)) {
    return extends.error(fmt::format("no file '{}' in {}", path, sources.folder));
  }
  if (std::ranges::find(files, sources.folder + "/" + path) != files.end()) {
    return extends.error(fmt::format("'{}' extends this file, directly or through others", path));
  }
  if (files.size() == kMaxFiles) {
    return extends.error(fmt::format("at most {} files are merged, and this is the last of {}",
                                     kMaxFiles, files.front()));
  }
  return path;
}

const JsonValue* child(const JsonValue& value, std::string_view step) {
  if (value.kind == JsonValue::Kind::object) return value.find(step);
  const auto index = parse_number<std::size_t>(step);
  return index && *index < value.items.size() ? &value.items[*index] : nullptr;
}

}  // namespace

const std::string& OperatorText::file_of(const std::string& pointer) const {
  const JsonValue* found = &value;
  for (std::size_t begin = 1; begin < pointer.size();) {
    const std::size_t end = std::min(pointer.find('/', begin), pointer.size());
    const JsonValue* next = child(*found, std::string_view(pointer).substr(begin, end - begin));
    if (next == nullptr) break;
    found = next;
    begin = end + 1;
  }
  return files[found->file];
}

Result<OperatorText> read_operator_text(const SourceTree& sources, const std::string& name) {
  OperatorText text;
  text.files.reserve(kMaxFiles);
  std::vector<JsonValue> values;  // the operator's own, its base, ...
  for (std::string path = name + ".json"; !path.empty();) {
    text.files.push_back(sources.folder + "/" + path);
    const std::string& file = text.files.back();
    const auto content = sources.files.find(path);
    if (content == sources.files.end()) return invalid_argument(file + ": no such file");
    Result<JsonValue> value = parse_json(content->second);
    if (!value.ok()) return invalid_argument(file + ": " + value.status().message());
    set_file(*value, static_cast<std::uint8_t>(values.size()));
    path.clear();
    if (const auto extends = JsonCursor(text.files, *value).find("extends")) {
      MGTUNE_ASSIGN(path, base_path(*extends, sources, text.files));
    }
    value->erase("extends");
    values.push_back(*std::move(value));
  }
  text.value = std::move(values.back());
  for (values.pop_back(); !values.empty(); values.pop_back()) {
    merge_json(text.value, std::move(values.back()));
  }
  return text;
}

}  // namespace mgtune
