#include "lower/lower.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "elements/elements.h"
#include "lower/tensor_names.h"
#include "program/operation.h"

namespace mgtune::engine {
namespace {

// The operands of a norm, which may become a part of the linear instruction after it.
struct NormOperands {
  std::uint32_t weight = kNone;
  std::uint32_t bias = kNone;
};

class Lowering {
 public:
  Lowering(const ModelConfig& config, const LowerOptions& options)
      : config_(config), options_(options) {
    program_.rows = options.rows;
    program_.capacity = options.capacity;
    program_.positions = options.positions;
    program_.vocabulary = config.vocabulary;
  }

  LoweredModel lower() {
    tokens_ = add_buffer(std::string(kTokens), BufferKind::state, DType::i32, options_.rows);
    positions_ = add_buffer(std::string(kPositions), BufferKind::state, DType::i32, options_.rows);
    lengths_ = add_buffer(std::string(kLengths), BufferKind::state, DType::i32, options_.rows);
    if (config_.rotation != Rotation::none) {
      rotary_ = add_buffer("rotary_table", BufferKind::weight, DType::f32,
                           std::uint64_t{options_.capacity} * config_.head_dim);
      recipes_.push_back({WeightRecipe::Kind::rotary_table, program_.buffers[rotary_].name, {}});
    }
    embed();
    for (layer_ = 0; layer_ < config_.layers; ++layer_) {
      attention_block();
      feed_forward_block();
    }
    layer_ = kNone;
    head();
    return {std::move(program_), std::move(recipes_)};
  }

 private:
  std::uint32_t add_buffer(std::string name, BufferKind kind, DType dtype, std::uint64_t elements) {
    Buffer buffer{std::move(name), kind, dtype, elements, ends_[static_cast<std::size_t>(kind)]};
    const std::uint64_t size = elements * static_cast<std::uint64_t>(size_in_bytes(dtype));
    ends_[static_cast<std::size_t>(kind)] +=
        (size + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
    program_.buffers.push_back(std::move(buffer));
    return static_cast<std::uint32_t>(program_.buffers.size() - 1);
  }

  std::uint32_t add_scratch(std::string_view name, DType dtype, std::uint64_t columns) {
    return add_buffer(layer_name(name), BufferKind::scratch, dtype, options_.rows * columns);
  }

  std::uint32_t add_weight(std::string name, std::vector<WeightPart> parts) {
    std::uint64_t elements = 0;
    for (const WeightPart& part : parts) {
      std::uint64_t count = 1;
      for (const std::uint64_t extent : part.shape) count *= extent;
      elements += count;
    }
    const std::uint32_t buffer =
        add_buffer(std::move(name), BufferKind::weight, options_.precision.weights, elements);
    recipes_.push_back(
        {WeightRecipe::Kind::parts, program_.buffers[buffer].name, std::move(parts)});
    return buffer;
  }

  std::string layer_name(std::string_view name) const {
    return layer_ == kNone ? std::string(name) : fmt::format("layers.{}.{}", layer_, name);
  }

  Instruction& add(Opcode opcode) {
    Instruction& instruction = program_.instructions.emplace_back();
    instruction.opcode = opcode;
    instruction.rows = options_.rows;
    instruction.layer = layer_;
    return instruction;
  }

  std::uint64_t weight_bytes(std::uint32_t buffer) const {
    return *size_in_bytes(program_.buffers[buffer]);
  }

  NormOperands add_norm(std::string_view name, std::vector<WeightPart> weight,
                        std::vector<WeightPart> bias) {
    NormOperands norm;
    norm.weight = add_weight(layer_name(fmt::format("{}.weight", name)), std::move(weight));
    if (config_.norm == Norm::layer) {
      norm.bias = add_weight(layer_name(fmt::format("{}.bias", name)), std::move(bias));
    }
    return norm;
  }

  NormOperands add_layer_norm(std::string_view name, LayerTensor tensor) {
    return add_norm(name, layer_weight(config_, tensor, layer_),
                    layer_bias(config_, tensor, layer_));
  }

  void set_norm(Instruction& instruction, const NormOperands& norm) const {
    instruction.norm = config_.norm;
    instruction.epsilon = config_.epsilon;
    instruction.at(Operand::norm_weight) = norm.weight;
    instruction.at(Operand::norm_bias) = norm.bias;
  }

  // Adds a linear instruction whose input is the norm of the residual stream.
  Instruction& add_normed_linear(std::string_view name, const NormOperands& norm,
                                 std::uint32_t weight) {
    std::uint32_t input = stream_;
    if (!options_.fuse_norms) {
      input = add_scratch(fmt::format("{}_normed", name), options_.precision.activations,
                          config_.width);
      Instruction& before = add(Opcode::norm);
      before.in = before.out = config_.width;
      before.at(Operand::input) = stream_;
      before.at(Operand::output) = input;
      set_norm(before, norm);
    }
    Instruction& linear = add(Opcode::linear);
    linear.in = config_.width;
    linear.at(Operand::input) = input;
    linear.at(Operand::weight) = weight;
    linear.bytes = weight_bytes(weight);
    if (options_.fuse_norms) set_norm(linear, norm);
    return linear;
  }

  // Adds a linear instruction whose result is added to the residual stream.
  void add_to_stream(std::string_view name, LayerTensor tensor, bool has_bias, std::uint32_t input,
                     std::uint32_t columns) {
    const std::uint32_t weight = add_layer_weight(name, tensor);
    const std::uint32_t bias = has_bias ? add_layer_bias(name, tensor) : kNone;
    const std::uint32_t output = add_scratch(fmt::format("stream_after_{}", name),
                                             options_.precision.residual, config_.width);
    Instruction& linear = add(Opcode::linear);
    linear.in = columns;
    linear.out = config_.width;
    linear.at(Operand::input) = input;
    linear.at(Operand::weight) = weight;
    linear.at(Operand::bias) = bias;
    linear.at(Operand::residual) = std::exchange(stream_, output);
    linear.at(Operand::output) = output;
    linear.bytes = weight_bytes(weight);
  }

  std::uint32_t add_layer_weight(std::string_view name, LayerTensor tensor) {
    return add_weight(layer_name(fmt::format("{}.weight", name)),
                      layer_weight(config_, tensor, layer_));
  }
  std::uint32_t add_layer_bias(std::string_view name, LayerTensor tensor) {
    return add_weight(layer_name(fmt::format("{}.bias", name)),
                      layer_bias(config_, tensor, layer_));
  }

  void embed() {
    embedding_ = add_weight("embedding.weight", embedding_weight(config_));
    const std::uint32_t table = config_.rotation == Rotation::none
                                    ? add_weight("positions.weight", position_weight(config_))
                                    : kNone;
    stream_ = add_scratch("stream", options_.precision.residual, config_.width);
    Instruction& instruction = add(Opcode::embed);
    instruction.layer = kNone;
    instruction.in = config_.vocabulary;
    instruction.out = config_.width;
    instruction.at(Operand::tokens) = tokens_;
    instruction.at(Operand::weight) = embedding_;
    instruction.at(Operand::output) = stream_;
    if (table == kNone) return;
    instruction.capacity = config_.positions;
    instruction.at(Operand::table) = table;
    instruction.at(Operand::positions) = positions_;
  }

  void attention_block() {
    const NormOperands norm = add_layer_norm("attention_norm", LayerTensor::attention_norm);
    const std::uint32_t weight = add_layer_weight("qkv", LayerTensor::qkv);
    const std::uint32_t bias = config_.qkv_bias ? add_layer_bias("qkv", LayerTensor::qkv) : kNone;
    const std::uint64_t q_width = std::uint64_t{config_.heads} * config_.head_dim;
    const std::uint64_t cache =
        std::uint64_t{options_.rows} * options_.capacity * config_.kv_heads * config_.head_dim;
    const std::uint32_t keys =
        add_buffer(layer_name("keys"), BufferKind::state, options_.precision.cache, cache);
    const std::uint32_t values =
        add_buffer(layer_name("values"), BufferKind::state, options_.precision.cache, cache);
    const std::uint32_t queries = add_scratch("queries", options_.precision.activations, q_width);
    Instruction& qkv = add_normed_linear("attention", norm, weight);
    qkv.out = (config_.heads + 2 * config_.kv_heads) * config_.head_dim;
    set_heads(qkv);
    qkv.rotation = config_.rotation;
    qkv.at(Operand::bias) = bias;
    qkv.at(Operand::output) = queries;
    qkv.at(Operand::positions) = positions_;
    qkv.at(Operand::table) = rotary_;
    qkv.at(Operand::keys) = keys;
    qkv.at(Operand::values) = values;
    const std::uint32_t attended = attention(queries, keys, values);
    add_to_stream("attention_output", LayerTensor::attention_output, config_.output_bias, attended,
                  static_cast<std::uint32_t>(q_width));
  }

  void set_heads(Instruction& instruction) const {
    instruction.heads = config_.heads;
    instruction.kv_heads = config_.kv_heads;
    instruction.head_dim = config_.head_dim;
    instruction.capacity = options_.capacity;
  }

  // Returns the buffer of the result.
  std::uint32_t attention(std::uint32_t queries, std::uint32_t keys, std::uint32_t values) {
    const std::uint64_t width = std::uint64_t{config_.heads} * config_.head_dim;
    const std::uint32_t output = add_scratch("attended", options_.precision.activations, width);
    const bool is_split = options_.splits != 0;
    std::uint32_t parts = kNone;
    std::uint32_t statistics = kNone;
    if (is_split) {
      parts = add_scratch("attention_parts", DType::f32, width * options_.splits);
      statistics = add_scratch("attention_statistics", DType::f32,
                               std::uint64_t{config_.heads} * options_.splits);
    }
    Instruction& scores = add(is_split ? Opcode::attention_partial : Opcode::attention);
    set_heads(scores);
    scores.window = config_.window;
    scores.splits = options_.splits;
    scores.scale = 1 / std::sqrt(static_cast<float>(config_.head_dim));
    scores.at(Operand::input) = queries;
    scores.at(Operand::keys) = keys;
    scores.at(Operand::values) = values;
    scores.at(Operand::lengths) = lengths_;
    scores.at(Operand::output) = is_split ? parts : output;
    scores.at(Operand::statistics) = statistics;
    const std::uint64_t seen =
        config_.window == 0 ? options_.positions : std::min(options_.positions, config_.window);
    scores.bytes = 2 * seen * options_.rows * config_.kv_heads * config_.head_dim *
                   static_cast<std::uint64_t>(size_in_bytes(options_.precision.cache));
    if (!is_split) return output;
    Instruction& join = add(Opcode::attention_reduce);
    join.heads = config_.heads;
    join.head_dim = config_.head_dim;
    join.splits = options_.splits;
    join.at(Operand::input) = parts;
    join.at(Operand::statistics) = statistics;
    join.at(Operand::output) = output;
    return output;
  }

  void feed_forward_block() {
    const NormOperands norm = add_layer_norm("inner_norm", LayerTensor::inner_norm);
    const std::uint32_t weight = add_layer_weight("up", LayerTensor::up);
    const std::uint32_t bias = config_.inner_bias ? add_layer_bias("up", LayerTensor::up) : kNone;
    const std::uint32_t inner = add_scratch("inner", options_.precision.activations, config_.inner);
    Instruction& up = add_normed_linear("inner", norm, weight);
    up.activation = config_.activation;
    up.out = config_.activation == Activation::silu_gate ? 2 * config_.inner : config_.inner;
    up.at(Operand::bias) = bias;
    up.at(Operand::output) = inner;
    add_to_stream("down", LayerTensor::down, config_.inner_bias, inner, config_.inner);
  }

  void head() {
    const NormOperands norm =
        add_norm("final_norm", final_norm_weight(config_), final_norm_bias(config_));
    const std::uint32_t weight =
        config_.tied_head ? embedding_ : add_weight("head.weight", head_weight(config_));
    const std::uint32_t logits = add_buffer(std::string(kLogits), BufferKind::output, DType::f32,
                                            std::uint64_t{options_.rows} * config_.vocabulary);
    Instruction& linear = add_normed_linear("head", norm, weight);
    linear.out = config_.vocabulary;
    linear.at(Operand::output) = logits;
    // Every program has the buffer `sampling`, used or not, so that all programs have the same
    // state.
    const std::uint32_t sampling = add_buffer(std::string(kSampling), BufferKind::state, DType::f32,
                                              3 * std::uint64_t{options_.rows});
    Instruction& choice = add(options_.sample ? Opcode::sample : Opcode::argmax);
    choice.in = config_.vocabulary;
    choice.at(Operand::input) = logits;
    choice.at(Operand::tokens) = tokens_;
    choice.at(Operand::positions) = positions_;
    choice.at(Operand::lengths) = lengths_;
    if (options_.sample) choice.at(Operand::sampling) = sampling;
  }

  const ModelConfig& config_;
  const LowerOptions& options_;
  Program program_;
  std::vector<WeightRecipe> recipes_;
  std::array<std::uint64_t, kBufferKindWords.size()> ends_ = {};
  std::uint32_t layer_ = kNone;
  std::uint32_t tokens_ = kNone;
  std::uint32_t positions_ = kNone;
  std::uint32_t lengths_ = kNone;
  std::uint32_t rotary_ = kNone;
  std::uint32_t embedding_ = kNone;
  std::uint32_t stream_ = kNone;  // the residual stream
};

Status check_options(const ModelConfig& config, const LowerOptions& options) {
  if (options.rows < 1 || options.rows > kMaxRows) {
    return invalid_argument(
        fmt::format("{} sequences: a program computes 1 to {}", options.rows, kMaxRows));
  }
  if (options.capacity > config.positions) {
    return invalid_argument(fmt::format("room for {} positions: the model was made for {}",
                                        options.capacity, config.positions));
  }
  if (options.positions > options.capacity) {
    return invalid_argument(fmt::format("a bucket of {} positions: the caches have room for {}",
                                        options.positions, options.capacity));
  }
  if (options.splits > kMaxSplits) {
    return invalid_argument(fmt::format("{} splits: at most {}", options.splits, kMaxSplits));
  }
  const Precision& precision = options.precision;
  for (const DType dtype :
       {precision.weights, precision.activations, precision.residual, precision.cache}) {
    if (!is_element_dtype(dtype)) {
      return invalid_argument(
          fmt::format("{} cannot hold weights or activations; it must be one of: "
                      "f32, f16, bf16",
                      to_string(dtype)));
    }
  }
  // With hostile options the caches are the largest buffers.
  const double cache = 8.0 * options.rows * options.capacity * config.kv_heads * config.head_dim;
  return cache * config.layers < 0x1p60 ? Status() : invalid_argument("the caches are too large");
}

}  // namespace

Result<LoweredModel> lower(const ModelConfig& config, const LowerOptions& options) {
  LowerOptions chosen = options;
  if (chosen.capacity == 0) chosen.capacity = config.positions;
  if (chosen.positions == 0) chosen.positions = chosen.capacity;
  MGTUNE_TRY(check_options(config, chosen));
  return Lowering(config, chosen).lower();
}

}  // namespace mgtune::engine
