#include "weights/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>

#include "core/safetensors_types.h"
#include "json/json_cursor.h"
#include "system/file_system.h"
#include "weights/model_file.h"

namespace mgtune::engine {
namespace {

constexpr std::uint64_t kMaxHeader = 100'000'000;  // the limit of the format's own library
constexpr std::string_view kIndex = "model.safetensors.index.json";

Status as_corrupt(const Status& status) { return corrupt(status.message()); }

// The data of all tensors begins at `data_begin` of the file's bytes.
Result<TensorView> read_tensor(const JsonCursor& entry, std::string_view bytes_of_file,
                               std::size_t data_begin) {
  MGTUNE_TRY(entry.expect_keys({"dtype", "shape", "data_offsets"}));
  TensorView tensor;
  std::string dtype;
  std::vector<std::uint64_t> offsets;
  MGTUNE_TRY(entry.read("dtype", dtype));
  MGTUNE_TRY(entry.read("shape", tensor.shape));
  MGTUNE_TRY(entry.read("data_offsets", offsets));
  const auto* const found = std::ranges::find(kSafetensorsTypes, dtype, &NamedDType::name);
  if (found == kSafetensorsTypes.end()) {
    return unsupported(entry.error(fmt::format("the dtype {} is not supported", dtype)).message());
  }
  tensor.dtype = found->dtype;
  if (offsets.size() != 2 || offsets[0] > offsets[1]) {
    return entry.error("data_offsets must be a begin and an end");
  }
  const std::string_view data = bytes_of_file.substr(data_begin);
  if (offsets[1] > data.size()) {
    return entry.error(
        fmt::format("the tensor ends at byte {}, but the file has {} bytes; is it truncated?",
                    data_begin + offsets[1], bytes_of_file.size()));
  }
  auto bytes = static_cast<std::uint64_t>(size_in_bytes(tensor.dtype));
  for (const std::uint64_t size : tensor.shape) {
    if (size != 0 && bytes > std::numeric_limits<std::uint64_t>::max() / size) {
      return entry.error("its shape has too many elements");
    }
    bytes *= size;
  }
  if (offsets[1] - offsets[0] != bytes) {
    return entry.error(fmt::format("a {} tensor of shape {} has {} bytes, but data_offsets span {}",
                                   dtype, shape_text(tensor.shape), bytes,
                                   offsets[1] - offsets[0]));
  }
  tensor.bytes = data.substr(offsets[0], bytes);
  return tensor;
}

Status check_overlaps(const std::string& file, const TensorMap& tensors) {
  std::vector<std::pair<std::string_view, std::string_view>> places;  // bytes, name
  for (const auto& [name, tensor] : tensors) {
    if (!tensor.bytes.empty()) places.emplace_back(tensor.bytes, name);
  }
  std::ranges::sort(places, {}, [](const auto& place) { return place.first.data(); });
  for (std::size_t i = 1; i < places.size(); ++i) {
    if (places[i].first.data() < places[i - 1].first.data() + places[i - 1].first.size()) {
      return corrupt(fmt::format("{}: the tensors {} and {} overlap", file, places[i - 1].second,
                                 places[i].second));
    }
  }
  return {};
}

// The files that the index names, each once. `path` is its name for messages.
Result<std::set<std::string>> parse_index(const std::string& path, std::string_view text) {
  Result<JsonValue> value = parse_json(text);
  if (!value.ok()) return std::move(value).take_status().with_context(path);
  const JsonCursor index(path, *value);
  const std::optional<JsonCursor> map = index.find("weight_map");
  if (!map) return index.error("weight_map is missing");
  std::set<std::string> files;
  MGTUNE_ASSIGN(const std::vector<JsonCursor> members, map->members());
  for (const JsonCursor& member : members) {
    MGTUNE_ASSIGN(std::string file, member.string());
    if (file.find('/') != file.npos || !file.ends_with(".safetensors")) {
      return member.error("expected the name of a .safetensors file in the same folder");
    }
    files.insert(std::move(file));
  }
  if (files.empty()) return map->error("it names no file");
  return files;
}

}  // namespace

Result<TensorMap> parse_safetensors(const std::string& file, std::string_view bytes) {
  std::uint64_t length = 0;
  if (bytes.size() < sizeof(length)) {
    return corrupt(fmt::format("{}: it is too short for a safetensors file", file));
  }
  for (std::size_t i = 0; i < sizeof(length); ++i) {
    length |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  if (length > kMaxHeader || length > bytes.size() - sizeof(length)) {
    return corrupt(fmt::format("{}: its header would have {} bytes, but the file has {}", file,
                               length, bytes.size()));
  }
  Result<JsonValue> header = parse_json(bytes.substr(sizeof(length), length));
  if (!header.ok()) {
    return as_corrupt(std::move(header).take_status().with_context(file + ": its header"));
  }
  const JsonCursor object(file, *header);
  Result<std::vector<JsonCursor>> members = object.members();
  if (!members.ok()) return as_corrupt(members.status());
  TensorMap tensors;
  for (const JsonCursor& member : *members) {
    if (member.key() == "__metadata__") continue;
    Result<TensorView> tensor = read_tensor(member, bytes, sizeof(length) + length);
    if (!tensor.ok()) {
      return tensor.status().code() == StatusCode::unsupported ? tensor.status()
                                                               : as_corrupt(tensor.status());
    }
    tensors.emplace(member.key(), std::move(*tensor));
  }
  MGTUNE_TRY(check_overlaps(file, tensors));
  return tensors;
}

Result<TensorSet> open_safetensors(const std::string& folder) {
  TensorSet set;
  set.path = folder + "/model.safetensors";
  std::set<std::string> files = {"model.safetensors"};
  const std::string index = fmt::format("{}/{}", folder, kIndex);
  if (FileSystem::real().exists(index)) {
    set.path = index;
    MGTUNE_ASSIGN(const std::string text, read_model_file(index));
    Result<std::set<std::string>> indexed = parse_index(index, text);
    if (!indexed.ok()) return as_corrupt(indexed.status());
    files = std::move(*indexed);
  }
  for (const std::string& name : files) {
    const std::string path = fmt::format("{}/{}", folder, name);
    MGTUNE_ASSIGN(MappedFile file, MappedFile::open(path));
    MGTUNE_ASSIGN(TensorMap tensors, parse_safetensors(path, file.bytes()));
    for (auto& [tensor_name, tensor] : tensors) {
      if (!set.tensors.emplace(tensor_name, std::move(tensor)).second) {
        return corrupt(fmt::format("{}: another file has the tensor {} too", path, tensor_name));
      }
    }
    set.files.push_back(std::move(file));
  }
  return set;
}

}  // namespace mgtune::engine
