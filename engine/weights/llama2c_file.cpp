#include "weights/llama2c_file.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <utility>

namespace mgtune::engine {
namespace {

constexpr std::array<std::string_view, 7> kHeaderFields = {
    "dim", "hidden_dim", "n_layers", "n_heads", "n_kv_heads", "vocab_size", "seq_len"};
constexpr std::size_t kLlama2cHeader = kHeaderFields.size() * sizeof(std::int32_t);
constexpr std::int32_t kMaxField = 1 << 22;

constexpr SizeNames kSizeNames = {"n_layers",      "dim",        "n_heads",    "n_kv_heads",
                                  "dim / n_heads", "hidden_dim", "vocab_size", "seq_len"};

using HeaderNumbers = std::array<std::int32_t, kHeaderFields.size()>;

Result<HeaderNumbers> read_header(const std::string& file, std::string_view bytes) {
  HeaderNumbers header{};
  if (bytes.size() < kLlama2cHeader) {
    return corrupt(fmt::format("{}: it is too short for a llama2.c file", file));
  }
  std::memcpy(header.data(), bytes.data(), kLlama2cHeader);
  for (std::size_t i = 0; i < header.size(); ++i) {
    // A negative vocabulary means that the head has weights of its own.
    const bool may_be_negative = kHeaderFields[i] == "vocab_size";
    const std::int64_t size =
        may_be_negative && header[i] < 0 ? -std::int64_t{header[i]} : header[i];
    if (size < 1 || size > kMaxField) {
      return corrupt(fmt::format("{}: {} is {}, but it must be from 1 to {}", file,
                                 kHeaderFields[i], header[i], kMaxField));
    }
  }
  return header;
}

// Hands out the parts of the file one after the other.
class PartReader {
 public:
  explicit PartReader(std::string_view bytes) : bytes_(bytes) {}

  void take(std::string name, std::vector<std::uint64_t> shape) {
    std::uint64_t size = sizeof(float);
    for (const std::uint64_t extent : shape) size *= extent;
    // The check of the file's size comes after all parts: until then a part may lie behind the end.
    const std::string_view part = offset_ <= bytes_.size() ? bytes_.substr(offset_, size) : "";
    offset_ += size;
    if (!name.empty())
      tensors_.emplace(std::move(name), TensorView{DType::f32, std::move(shape), part});
  }
  void take_layers(std::uint32_t layers, std::string_view name,
                   const std::vector<std::uint64_t>& shape) {
    for (std::uint32_t i = 0; i < layers; ++i)
      take(fmt::format("model.layers.{}.{}.weight", i, name), shape);
  }

  std::uint64_t offset() const { return offset_; }
  TensorMap take_tensors() { return std::move(tensors_); }

 private:
  std::string_view bytes_;
  std::uint64_t offset_ = kLlama2cHeader;
  TensorMap tensors_;
};

}  // namespace

Result<Llama2cModel> parse_llama2c(const std::string& file, std::string_view bytes) {
  MGTUNE_ASSIGN(const HeaderNumbers header, read_header(file, bytes));
  Llama2cModel model;
  ModelConfig& config = model.config;
  config.family = "llama";
  config.width = static_cast<std::uint32_t>(header[0]);
  config.inner = static_cast<std::uint32_t>(header[1]);
  config.layers = static_cast<std::uint32_t>(header[2]);
  config.heads = static_cast<std::uint32_t>(header[3]);
  config.kv_heads = static_cast<std::uint32_t>(header[4]);
  config.tied_head = header[5] > 0;
  config.vocabulary = static_cast<std::uint32_t>(header[5] > 0 ? header[5] : -header[5]);
  config.positions = static_cast<std::uint32_t>(header[6]);
  config.rotation = Rotation::pairs;
  config.end_tokens = {1};  // the token that begins a text ends the one before
  if (config.width % config.heads != 0) {
    return corrupt(
        fmt::format("{}: dim {} is no multiple of n_heads {}", file, config.width, config.heads));
  }
  config.head_dim = config.width / config.heads;
  if (config.vocabulary < 2) config.end_tokens.clear();
  const Status sizes = check_model_sizes(config, file, kSizeNames);
  if (!sizes.ok()) return corrupt(sizes.message());

  const std::uint64_t width = config.width;
  const std::uint64_t inner = config.inner;
  const std::uint64_t kv_width = std::uint64_t{config.kv_heads} * config.head_dim;
  const std::uint64_t table = std::uint64_t{config.positions} * config.head_dim / 2;
  // No sum below can overflow: all sizes are at most 2^22, and there are at most 1,000 layers.
  PartReader parts(bytes);
  parts.take("model.embed_tokens.weight", {config.vocabulary, width});
  parts.take_layers(config.layers, "input_layernorm", {width});
  parts.take_layers(config.layers, "self_attn.q_proj", {width, width});
  parts.take_layers(config.layers, "self_attn.k_proj", {kv_width, width});
  parts.take_layers(config.layers, "self_attn.v_proj", {kv_width, width});
  parts.take_layers(config.layers, "self_attn.o_proj", {width, width});
  parts.take_layers(config.layers, "post_attention_layernorm", {width});
  parts.take_layers(config.layers, "mlp.gate_proj", {inner, width});
  parts.take_layers(config.layers, "mlp.down_proj", {width, inner});
  parts.take_layers(config.layers, "mlp.up_proj", {inner, width});
  parts.take("model.norm.weight", {width});
  parts.take("", {2 * table});  // skips cosines and sines, which the engine computes itself
  if (!config.tied_head) parts.take("lm_head.weight", {config.vocabulary, width});
  if (parts.offset() != bytes.size()) {
    return corrupt(fmt::format("{}: it has {} bytes, but by its header it should have {}", file,
                               bytes.size(), parts.offset()));
  }
  model.tensors = parts.take_tensors();
  return model;
}

}  // namespace mgtune::engine
