#include "plan/recorded_shapes.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "json/json_cursor.h"
#include "json/json_value.h"

namespace mgtune {
namespace {

Result<std::pair<std::string, std::string>> read_line(const std::string& place,
                                                      std::string_view line) {
  const Result<JsonValue> value = parse_json(line);
  if (!value.ok()) return value.status().with_context(place);
  const JsonCursor root(place, *value);
  MGTUNE_TRY(root.expect_keys({"operator", "problem"}));
  std::pair<std::string, std::string> shape;
  MGTUNE_ASSIGN(shape.first, root.at("operator").string());
  MGTUNE_ASSIGN(shape.second, root.at("problem").string());
  return shape;
}

}  // namespace

bool is_recording(FileSystem& file_system, const std::string& word) {
  if (word.find('/') == std::string::npos && word.find(".json") == std::string::npos) return false;
  const Result<std::string> text = file_system.read_file(word);
  if (!text.ok()) return word.ends_with(".jsonl");
  return read_line(word, std::string_view(*text).substr(0, text->find('\n'))).ok();
}

Result<RecordedShapes> load_recorded_shapes(FileSystem& file_system, const std::string& path) {
  MGTUNE_ASSIGN(const std::string text, file_system.read_file(path));
  RecordedShapes shapes;
  std::string_view rest = text;
  for (int number = 1; !rest.empty(); ++number) {
    const std::size_t end = rest.find('\n');
    const bool is_whole = end != std::string_view::npos;
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(is_whole ? end + 1 : rest.size());
    Result<std::pair<std::string, std::string>> shape =
        read_line(path + ": line " + std::to_string(number), line);
    if (!shape.ok() && !is_whole) break;
    if (!shape.ok()) return corrupt(shape.status().message());
    std::vector<std::string>& problems = shapes[shape->first];
    if (std::ranges::find(problems, shape->second) == problems.end()) {
      problems.push_back(std::move(shape->second));
    }
  }
  if (shapes.empty()) return corrupt(path + ": no problems are recorded there");
  return shapes;
}

}  // namespace mgtune
