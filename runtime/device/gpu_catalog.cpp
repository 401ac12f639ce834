#include "device/gpu_catalog.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "core/embedded.h"
#include "json/json_cursor.h"
#include "json/json_value.h"

namespace mgtune {
namespace {

constexpr std::int64_t kMaxUnits = 1'000'000;  // of SMs, GB, MB

Result<std::string> text_of(const JsonCursor& cursor) {
  const JsonValue& value = cursor.value();
  if (value.kind == JsonValue::Kind::string && !value.string.empty()) return value.string;
  return cursor.unexpected("a text");
}

Result<double> figure_of(const JsonCursor& cursor) {
  MGTUNE_ASSIGN(const double figure, cursor.number());
  if (!(figure > 0)) return cursor.unexpected("a number above 0");
  return figure;
}

Status decode_peak(const JsonCursor& peak, GpuProduct& gpu) {
  MGTUNE_TRY(peak.expect_keys({"bandwidth_gbps", "fp32_tflops", "fp16_dense_tflops"},
                              {"bf16_dense_tflops"}));
  MGTUNE_ASSIGN(gpu.peak.bandwidth_gbps, figure_of(peak.at("bandwidth_gbps")));
  MGTUNE_ASSIGN(gpu.peak.fp32_tflops, figure_of(peak.at("fp32_tflops")));
  MGTUNE_ASSIGN(gpu.peak.fp16_dense_tflops, figure_of(peak.at("fp16_dense_tflops")));
  if (const auto bf16 = peak.find("bf16_dense_tflops")) {
    MGTUNE_ASSIGN(gpu.peak.bf16_dense_tflops, figure_of(*bf16));
  }
  return {};
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
  const Result<JsonValue> document = parse_json(json);
  if (!document.ok()) return document.status().with_context(file);
  const JsonCursor root(file, *document);
  MGTUNE_TRY(root.expect_keys(
      {"format", "name", "aliases", "arch", "sm_count", "memory_gb", "l2_mb", "peak", "source"}));
  MGTUNE_TRY(root.at("format").integer(1, 1).status());
  GpuProduct gpu;
  MGTUNE_ASSIGN(gpu.name, text_of(root.at("name")));
  MGTUNE_ASSIGN(const std::vector<JsonCursor> aliases, root.at("aliases").elements());
  for (const JsonCursor& alias : aliases) {
    MGTUNE_ASSIGN(std::string word, text_of(alias));
    gpu.aliases.push_back(std::move(word));
  }
  MGTUNE_ASSIGN(gpu.arch, text_of(root.at("arch")));
  if (!is_arch(gpu.arch)) return root.at("arch").unexpected("an architecture such as sm_90");
  MGTUNE_ASSIGN(gpu.sm_count, root.at("sm_count").integer(1, kMaxUnits));
  MGTUNE_ASSIGN(gpu.memory_gb, root.at("memory_gb").integer(1, kMaxUnits));
  MGTUNE_ASSIGN(gpu.l2_mb, root.at("l2_mb").integer(1, kMaxUnits));
  MGTUNE_TRY(decode_peak(root.at("peak"), gpu));
  MGTUNE_ASSIGN(gpu.source, text_of(root.at("source")));
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
