#include "plan/shapes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/embedded.h"
#include "core/text.h"
#include "json/json_cursor.h"
#include "json/json_value.h"

namespace mgtune {
namespace {

constexpr std::string_view kFolder = "configs/shapes/";
constexpr std::string_view kSuffix = ".json";
constexpr std::int64_t kMaxField = 1 << 30;

Result<ModelShapes> decode_members(const std::string& file, std::string_view text) {
  const Result<JsonValue> document = parse_json(text);
  if (!document.ok()) return document.status().with_context(file);
  const JsonCursor root(file, *document);
  MGTUNE_ASSIGN(const std::vector<JsonCursor> members, root.members());
  for (const char* key : {"format", "tokens"}) {
    if (!root.find(key)) return root.error("missing key '" + std::string(key) + "'");
  }
  MGTUNE_TRY(root.at("format").integer(1, 1).status());
  ModelShapes shapes;
  shapes.name = file;
  for (const JsonCursor& member : members) {
    const std::string& key = member.key();
    if (key == "format" || key == "source") continue;
    if (key == "name") {
      MGTUNE_ASSIGN(shapes.name, member.string());
    } else if (key == "tokens") {
      MGTUNE_ASSIGN(const std::vector<JsonCursor> tokens, member.elements());
      for (const JsonCursor& count : tokens) {
        MGTUNE_ASSIGN(const std::int64_t value, count.integer(1, kMaxField));
        shapes.tokens.push_back(value);
      }
    } else {
      MGTUNE_ASSIGN(shapes.fields[key], member.integer(1, kMaxField));
    }
  }
  if (shapes.tokens.empty()) return root.at("tokens").error("expected at least one token count");
  return shapes;
}

// Wrong content is the fault of the file, not of the words that name the file: corrupt, not
// invalid_argument.
Result<ModelShapes> decode_model(const std::string& file, std::string_view text) {
  Result<ModelShapes> shapes = decode_members(file, text);
  return shapes.ok() ? std::move(shapes) : corrupt(shapes.status().message());
}

struct RecordedLine {
  std::string op, problem;
  std::int64_t launches = 0;  // 0: the line does not say
};

Result<RecordedLine> read_recorded(const std::string& place, std::string_view line) {
  const Result<JsonValue> value = parse_json(line);
  if (!value.ok()) return value.status().with_context(place);
  const JsonCursor root(place, *value);
  MGTUNE_TRY(root.expect_keys({"operator", "problem"}, {"launches"}));
  RecordedLine shape;
  MGTUNE_ASSIGN(shape.op, root.at("operator").string());
  MGTUNE_ASSIGN(shape.problem, root.at("problem").string());
  if (const auto launches = root.find("launches")) {
    MGTUNE_ASSIGN(shape.launches, launches->integer(1, kMaxField));
  }
  return shape;
}

Result<std::vector<RecordedLine>> read_recording(FileSystem& file_system, const std::string& path) {
  MGTUNE_ASSIGN(const std::string text, file_system.read_file(path));
  std::vector<RecordedLine> lines;
  std::string_view rest = text;
  for (int number = 1; !rest.empty(); ++number) {
    const std::size_t end = rest.find('\n');
    const bool is_whole = end != std::string_view::npos;
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(is_whole ? end + 1 : rest.size());
    Result<RecordedLine> shape = read_recorded(path + ": line " + std::to_string(number), line);
    if (!shape.ok() && !is_whole) break;
    if (!shape.ok()) return corrupt(shape.status().message());
    lines.push_back(*std::move(shape));
  }
  if (lines.empty()) return corrupt(path + ": no problems are recorded there");
  return lines;
}

}  // namespace

std::vector<std::string> shipped_models() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_files()) {
    if (!file.path.starts_with(kFolder) || !file.path.ends_with(kSuffix)) continue;
    const std::size_t size = file.path.size() - kFolder.size() - kSuffix.size();
    names.emplace_back(file.path.substr(kFolder.size(), size));
  }
  return names;
}

Result<ModelShapes> load_model_shapes(FileSystem& file_system, const std::string& name_or_file) {
  if (name_or_file.find('/') != std::string::npos || name_or_file.ends_with(kSuffix)) {
    MGTUNE_ASSIGN(const std::string text, file_system.read_file(name_or_file));
    return decode_model(name_or_file, text);
  }
  const std::string file = std::string(kFolder) + name_or_file + std::string(kSuffix);
  const std::optional<std::string_view> text = embedded_file(file);
  if (text.has_value()) return decode_model(file, *text);
  const std::vector<std::string> models = shipped_models();
  return invalid_argument(fmt::format("unknown model '{}'{} (there are {}, or name a .json file)",
                                      name_or_file, did_you_mean(name_or_file, models),
                                      fmt::join(models, ", ")));
}

bool is_recording(FileSystem& file_system, const std::string& word) {
  if (word.find('/') == std::string::npos && word.find(".json") == std::string::npos) return false;
  const Result<std::string> text = file_system.read_file(word);
  if (!text.ok()) return word.ends_with(".jsonl");
  return read_recorded(word, std::string_view(*text).substr(0, text->find('\n'))).ok();
}

Result<RecordedShapes> load_recorded_shapes(FileSystem& file_system, const std::string& path) {
  MGTUNE_ASSIGN(std::vector<RecordedLine> lines, read_recording(file_system, path));
  RecordedShapes shapes;
  for (RecordedLine& line : lines) {
    std::vector<std::string>& problems = shapes[line.op];
    if (std::ranges::find(problems, line.problem) == problems.end()) {
      problems.push_back(std::move(line.problem));
    }
  }
  return shapes;
}

Result<RecordedLaunches> load_recorded_launches(FileSystem& file_system, const std::string& path) {
  MGTUNE_ASSIGN(const std::vector<RecordedLine> lines, read_recording(file_system, path));
  RecordedLaunches launches;
  for (const RecordedLine& line : lines) {
    if (line.launches > 0) launches[line.op + ' ' + line.problem] = line.launches;
  }
  return launches;
}

}  // namespace mgtune
