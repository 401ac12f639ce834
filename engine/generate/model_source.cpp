#include "generate/model_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "core/embedded.h"
#include "core/text.h"
#include "system/file_system.h"
#include "weights/llama2c_file.h"
#include "weights/model_file.h"
#include "weights/safetensors.h"

namespace mgtune {

std::span<const EmbeddedFile> shipped_model_configs();  // made by engine/CMakeLists.txt

}  // namespace mgtune

namespace mgtune::engine {
namespace {

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == path.npos ? "." : path.substr(0, slash);
}

// The .bin files directly in a folder. Tokenizers are the files whose names begin with "tok".
struct BinaryFiles {
  std::vector<std::string> models;
  std::vector<std::string> tokenizers;
};

Result<BinaryFiles> binary_files(const std::string& folder) {
  std::error_code error;
  BinaryFiles found;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string file = entry->path().filename().string();
    if (!file.ends_with(".bin")) continue;
    (file.starts_with("tok") ? found.tokenizers : found.models)
        .push_back(fmt::format("{}/{}", folder, file));
  }
  if (error) return io_error(fmt::format("{}: {}", folder, error.message()));
  return found;
}

Result<ModelSource> open_llama2c(const std::string& path) {
  ModelSource source;
  source.tensors.path = path;
  MGTUNE_ASSIGN(MappedFile file, MappedFile::open(path));
  MGTUNE_ASSIGN(Llama2cModel model, parse_llama2c(path, file.bytes()));
  source.config = std::move(model.config);
  source.tensors.tensors = std::move(model.tensors);
  source.tensors.files.push_back(std::move(file));
  MGTUNE_ASSIGN(const BinaryFiles files, binary_files(folder_of(path)));
  if (files.tokenizers.size() == 1) source.tokenizer = files.tokenizers[0];
  return source;
}

std::string_view name_of(const EmbeddedFile& file) {
  std::string_view stem = file.path.substr(file.path.rfind('/') + 1);
  stem.remove_suffix(std::string_view(".json").size());
  return stem;
}

bool is_shipped(const std::string& name) {
  return std::ranges::any_of(shipped_model_configs(),
                             [&](const EmbeddedFile& file) { return name_of(file) == name; });
}

// The config of a file in configs/models.
Result<ModelConfig> shipped_config(const std::string& name) {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : shipped_model_configs()) {
    const std::string_view stem = name_of(file);
    if (stem == name) return parse_model_config(std::string(file.path), file.content);
    names.emplace_back(stem);
  }
  return io_error(fmt::format("{}: there is no such model, and no shipped config has this name{}",
                              name, must_be_one_of(name, names)));
}

}  // namespace

Result<ModelSource> open_model(const std::string& path) {
  FileSystem& system = FileSystem::real();
  if (!system.exists(path)) {
    if (!is_shipped(path)) return io_error(fmt::format("{}: there is no such model", path));
    return io_error(
        fmt::format("{}: this is a shipped config and has no weights: name the folder of a model, "
                    "or run mgengine bench or tune with --random-weights",
                    path));
  }
  if (!system.is_directory(path)) {
    if (path.ends_with(".bin")) return open_llama2c(path);
    return invalid_argument(
        fmt::format("{}: a model is a folder with config.json, or a llama2.c file that ends with "
                    ".bin",
                    path));
  }
  if (!system.exists(path + "/config.json")) {
    MGTUNE_ASSIGN(const BinaryFiles files, binary_files(path));
    if (files.models.size() == 1) return open_llama2c(files.models[0]);
    return invalid_argument(
        fmt::format("{}: a model's folder has config.json, or one llama2.c file that ends with "
                    ".bin; this one has {} of them",
                    path, files.models.size()));
  }
  ModelSource source;
  MGTUNE_ASSIGN(source.config, open_config(path));
  MGTUNE_ASSIGN(source.tensors, open_safetensors(path));
  if (system.exists(path + "/tokenizer.json")) source.tokenizer = path + "/tokenizer.json";
  return source;
}

Result<ModelConfig> open_config(const std::string& path) {
  FileSystem& system = FileSystem::real();
  if (!system.exists(path) && path.find('/') == path.npos) return shipped_config(path);
  const bool is_llama2c =
      system.is_directory(path) ? !system.exists(path + "/config.json") : !path.ends_with(".json");
  if (is_llama2c) {
    MGTUNE_ASSIGN(const ModelSource source, open_model(path));
    return source.config;
  }
  const std::string file = system.is_directory(path) ? path + "/config.json" : path;
  MGTUNE_ASSIGN(const std::string text, read_model_file(file));
  Result<ModelConfig> config = parse_model_config(file, text);
  // For the caller, a mistake in the text means that the file is damaged.
  if (config.status().code() != StatusCode::invalid_argument) return config;
  return corrupt(config.status().message());
}

}  // namespace mgtune::engine
