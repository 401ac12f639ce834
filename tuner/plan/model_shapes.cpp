#include "plan/model_shapes.h"

#include <string_view>

#include "core/embedded.h"
#include "core/suggest.h"
#include "json/json_cursor.h"
#include "json/json_value.h"

namespace mgtune {
namespace {

constexpr std::string_view kFolder = "configs/shapes/";
constexpr std::string_view kSuffix = ".json";
constexpr std::int64_t kMostOfAField = 1 << 30;

Result<ModelShapes> decode(const std::string& file, std::string_view text) {
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
        MGTUNE_ASSIGN(const std::int64_t value, count.integer(1, kMostOfAField));
        shapes.tokens.push_back(value);
      }
    } else {
      MGTUNE_ASSIGN(shapes.fields[key], member.integer(1, kMostOfAField));
    }
  }
  if (shapes.tokens.empty()) return root.at("tokens").error("expected at least one token count");
  return shapes;
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
    return decode(name_or_file, text);
  }
  const std::string file = std::string(kFolder) + name_or_file + std::string(kSuffix);
  const std::optional<std::string_view> text = embedded_file(file);
  if (text.has_value()) return decode(file, *text);
  std::string known;
  for (const std::string& model : shipped_models()) known += (known.empty() ? "" : ", ") + model;
  return invalid_argument("unknown model '" + name_or_file + "'" +
                          did_you_mean(name_or_file, shipped_models()) + " (there are " + known +
                          ", or name a .json file)");
}

}  // namespace mgtune
