#include "sweep/model_shapes.h"

#include <nlohmann/json.hpp>
#include <string_view>

#include "core/embedded.h"
#include "core/suggest.h"

namespace mgtune {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFolder = "configs/shapes/";
constexpr std::string_view kSuffix = ".json";

Status malformed(const std::string& file, const std::string& path, const std::string& what) {
  return invalid_argument(file + ": " + path + ": " + what);
}

Result<std::int64_t> read_count(const std::string& file, const std::string& path,
                                const Json& value) {
  if (!value.is_number_integer() || value < 1 || value > (1 << 30)) {
    return malformed(file, path, "expected an integer from 1 to 1073741824, got " + value.dump());
  }
  return value.get<std::int64_t>();
}

Result<ModelShapes> decode(const std::string& file, std::string_view text) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::exception& error) {
    return invalid_argument(file + ": " + error.what());
  }
  if (!json.is_object()) return malformed(file, "/", "expected an object");
  if (json.value("format", Json()) != 1) return malformed(file, "/format", "expected 1");
  ModelShapes shapes;
  shapes.name = file;
  for (const auto& [key, value] : json.items()) {
    const std::string path = "/" + key;
    if (key == "name" && value.is_string()) {
      shapes.name = value.get<std::string>();
    } else if (key == "tokens") {
      if (!value.is_array()) return malformed(file, path, "expected an array of integers");
      for (std::size_t i = 0; i < value.size(); ++i) {
        MGTUNE_ASSIGN(const std::int64_t tokens,
                      read_count(file, path + "/" + std::to_string(i), value[i]));
        shapes.tokens.push_back(tokens);
      }
    } else if (key != "format" && key != "source") {
      MGTUNE_ASSIGN(shapes.fields[key], read_count(file, path, value));
    }
  }
  if (shapes.tokens.empty()) return malformed(file, "/tokens", "expected at least one token count");
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
