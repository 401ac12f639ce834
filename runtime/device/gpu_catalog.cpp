#include "device/gpu_catalog.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "core/embedded.h"
#include "core/suggest.h"

namespace mgtune {
namespace {

using Json = nlohmann::ordered_json;

// One JSON object being decoded: every member by its name, and errors that say where.
class Reader {
 public:
  Reader(const std::string& file, std::string place, const Json& object)
      : file_(file), place_(std::move(place)), object_(object) {}

  Status error(const std::string& member, const std::string& message) const {
    return invalid_argument(file_ + ": " + place_ + member + ": " + message);
  }

  Status wrong(const std::string& member, std::string_view expected, const Json& got) const {
    return error(member, "expected " + std::string(expected) + ", got " + got.dump());
  }

  Status expect_members(const std::vector<std::string>& known) const {
    if (!object_.is_object()) return wrong("", "an object", object_);
    for (const auto& [name, value] : object_.items()) {
      if (std::ranges::find(known, name) == known.end()) {
        return error(name, "unknown member" + did_you_mean(name, known));
      }
    }
    return {};
  }

  bool has(const std::string& member) const { return object_.contains(member); }

  Result<const Json*> get(const std::string& member) const {
    const auto found = object_.find(member);
    if (found == object_.end()) return error(member, "is missing");
    return &*found;
  }

  Status read(const std::string& member, std::string& out) const {
    MGTUNE_ASSIGN(const Json* value, get(member));
    if (!value->is_string() || value->get_ref<const std::string&>().empty()) {
      return wrong(member, "a text", *value);
    }
    out = value->get<std::string>();
    return {};
  }

  Status read(const std::string& member, std::int64_t& out) const {
    MGTUNE_ASSIGN(const Json* value, get(member));
    const bool fits = value->is_number_integer() && *value >= 1 && *value <= 1'000'000;
    if (!fits) return wrong(member, "an integer from 1 to 1000000", *value);
    out = value->get<std::int64_t>();
    return {};
  }

  Status read(const std::string& member, double& out) const {
    MGTUNE_ASSIGN(const Json* value, get(member));
    if (!value->is_number() || value->get<double>() <= 0) {
      return wrong(member, "a number above 0", *value);
    }
    out = value->get<double>();
    return {};
  }

  Status read(const std::string& member, std::vector<std::string>& out) const {
    MGTUNE_ASSIGN(const Json* value, get(member));
    if (!value->is_array()) return wrong(member, "a list of texts", *value);
    for (std::size_t i = 0; i < value->size(); ++i) {
      const Json& word = (*value)[i];
      if (!word.is_string()) return wrong(member + "/" + std::to_string(i), "a text", word);
      out.push_back(word.get<std::string>());
    }
    return {};
  }

 private:
  const std::string& file_;
  std::string place_;
  const Json& object_;
};

Status read_peak(const Reader& product, const std::string& file, GpuProduct& gpu) {
  MGTUNE_ASSIGN(const Json* json, product.get("peak"));
  const Reader peak(file, "/peak/", *json);
  MGTUNE_TRY(peak.expect_members(
      {"bandwidth_gbps", "fp32_tflops", "fp16_dense_tflops", "bf16_dense_tflops"}));
  MGTUNE_TRY(peak.read("bandwidth_gbps", gpu.peak.bandwidth_gbps));
  MGTUNE_TRY(peak.read("fp32_tflops", gpu.peak.fp32_tflops));
  MGTUNE_TRY(peak.read("fp16_dense_tflops", gpu.peak.fp16_dense_tflops));
  if (!peak.has("bf16_dense_tflops")) return {};
  return peak.read("bf16_dense_tflops", gpu.peak.bf16_dense_tflops);
}

// "sm_89"
bool is_arch(std::string_view text) {
  return text.starts_with("sm_") && text.size() > 4 && text.size() < 7 &&
         std::ranges::all_of(text.substr(3), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

bool same_word(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

bool GpuProduct::is_called(std::string_view word) const {
  return same_word(name, word) ||
         std::ranges::any_of(aliases, [&](const auto& alias) { return same_word(alias, word); });
}

Result<GpuProduct> decode_gpu_product(const std::string& file, std::string_view json) {
  Json document;
  try {
    document = Json::parse(json);
  } catch (const Json::exception& exception) {
    return invalid_argument(file + ": " + exception.what());
  }
  GpuProduct gpu;
  const Reader reader(file, "/", document);
  MGTUNE_TRY(reader.expect_members(
      {"format", "name", "aliases", "arch", "sm_count", "memory_gb", "l2_mb", "peak", "source"}));
  MGTUNE_ASSIGN(const Json* format, reader.get("format"));
  if (*format != 1) return reader.wrong("format", "1", *format);
  MGTUNE_TRY(reader.read("name", gpu.name));
  MGTUNE_TRY(reader.read("aliases", gpu.aliases));
  MGTUNE_TRY(reader.read("arch", gpu.arch));
  if (!is_arch(gpu.arch)) return reader.wrong("arch", "an architecture such as sm_90", gpu.arch);
  MGTUNE_TRY(reader.read("sm_count", gpu.sm_count));
  MGTUNE_TRY(reader.read("memory_gb", gpu.memory_gb));
  MGTUNE_TRY(reader.read("l2_mb", gpu.l2_mb));
  MGTUNE_TRY(read_peak(reader, file, gpu));
  MGTUNE_TRY(reader.read("source", gpu.source));
  return gpu;
}

Result<std::vector<GpuProduct>> shipped_gpu_products() {
  std::vector<GpuProduct> products;
  for (const EmbeddedFile& file : embedded_files()) {
    if (!file.path.starts_with("configs/gpus/")) continue;
    MGTUNE_ASSIGN(GpuProduct product, decode_gpu_product(std::string(file.path), file.content));
    products.push_back(std::move(product));
  }
  return products;
}

}  // namespace mgtune
