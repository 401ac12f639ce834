#include "model/model_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "core/text.h"
#include "json/json_cursor.h"

namespace mgtune::engine {
namespace {

constexpr std::int64_t kMaxSize = 1 << 24;
constexpr std::uint32_t kMaxLayers = 1000;

// The member, if it exists and is not null.
std::optional<JsonCursor> given(const JsonCursor& config, std::string_view key) {
  std::optional<JsonCursor> member = config.find(key);
  if (member && member->value().kind == JsonValue::Kind::null) return std::nullopt;
  return member;
}

Status read_size(const JsonCursor& config, std::string_view key, std::uint32_t& size) {
  const std::optional<JsonCursor> member = given(config, key);
  if (!member) return config.error(fmt::format("{} is missing", key));
  MGTUNE_ASSIGN(const std::int64_t number, member->integer(1, kMaxSize));
  size = static_cast<std::uint32_t>(number);
  return {};
}

Status read_optional_size(const JsonCursor& config, std::string_view key, std::uint32_t fallback,
                          std::uint32_t& size) {
  size = fallback;
  return given(config, key) ? read_size(config, key, size) : Status();
}

Status read_flag(const JsonCursor& config, std::string_view key, bool fallback, bool& flag) {
  flag = fallback;
  const std::optional<JsonCursor> member = given(config, key);
  return member ? member->read(flag) : Status();
}

Status read_positive(const JsonCursor& object, std::string_view key, std::optional<double> fallback,
                     double& number) {
  const std::optional<JsonCursor> member = given(object, key);
  if (!member && !fallback) return object.error(fmt::format("{} is missing", key));
  number = fallback.value_or(0);
  if (member) {
    MGTUNE_ASSIGN(number, member->number());
  }
  if (std::isfinite(number) && number > 0) return {};
  return member->error("expected a positive number");
}

Status read_epsilon(const JsonCursor& config, std::string_view key, float& epsilon) {
  double number = 0;
  MGTUNE_TRY(read_positive(config, key, std::nullopt, number));
  epsilon = static_cast<float>(number);
  if (epsilon > 0 && epsilon < 1) return {};
  return config.at(key).error("expected a small positive number");
}

// Refuses every value except `wanted`.
Status expect_word(const JsonCursor& config, std::string_view key, std::string_view wanted,
                   std::string_view fallback) {
  std::string word(fallback);
  const std::optional<JsonCursor> member = given(config, key);
  if (member) MGTUNE_TRY(member->read(word));
  if (word == wanted) return {};
  return unsupported(
      config.error(fmt::format("{} is '{}', but only '{}' is supported", key, word, wanted))
          .message());
}

Status expect_flag(const JsonCursor& config, std::string_view key, bool wanted, bool fallback) {
  bool flag = fallback;
  MGTUNE_TRY(read_flag(config, key, fallback, flag));
  if (flag == wanted) return {};
  return unsupported(
      config.error(fmt::format("{} is {}, which is not supported", key, flag)).message());
}

// Refuses a rotary embedding that rotates only a part of each head.
Status expect_whole_rotation(const JsonCursor& object) {
  double factor = 1;
  MGTUNE_TRY(read_positive(object, "partial_rotary_factor", 1.0, factor));
  if (factor == 1) return {};
  return unsupported(
      object.error(fmt::format("partial_rotary_factor is {}, but only 1 is supported", factor))
          .message());
}

// `type` is the older name of `rope_type`.
Status read_rotary_kind(const JsonCursor& settings, std::string& kind) {
  const std::optional<JsonCursor> type = given(settings, "type");
  const std::optional<JsonCursor> rope_type = given(settings, "rope_type");
  if (type) MGTUNE_TRY(type->read(kind));
  if (!rope_type) return {};
  const std::string older = kind;
  MGTUNE_TRY(rope_type->read(kind));
  if (!type || kind == older) return {};
  return settings.error(fmt::format("rope_type is '{}', but type is '{}'", kind, older));
}

// Refuses settings that are not read: they would be ignored without any message.
Status expect_rotary_settings(const JsonCursor& settings, std::string_view kind) {
  std::set<std::string_view> known = {"type", "rope_type", "rope_theta", "partial_rotary_factor"};
  if (kind != "default") known.insert("factor");
  if (kind == "llama3") {
    known.insert({"low_freq_factor", "high_freq_factor", "original_max_position_embeddings"});
  }
  MGTUNE_ASSIGN(const std::vector<JsonCursor> members, settings.members());
  for (const JsonCursor& member : members) {
    if (member.value().kind == JsonValue::Kind::null || known.contains(member.key())) continue;
    return unsupported(
        settings
            .error(fmt::format("{} is not supported with the rope_type '{}'", member.key(), kind))
            .message());
  }
  return {};
}

Status read_llama3_scaling(const JsonCursor& settings, RotaryScaling& rotary) {
  MGTUNE_TRY(read_positive(settings, "low_freq_factor", std::nullopt, rotary.low_frequency_factor));
  MGTUNE_TRY(
      read_positive(settings, "high_freq_factor", std::nullopt, rotary.high_frequency_factor));
  if (rotary.high_frequency_factor <= rotary.low_frequency_factor) {
    return settings.error("high_freq_factor must be above low_freq_factor");
  }
  const std::optional<JsonCursor> original = given(settings, "original_max_position_embeddings");
  if (!original) return settings.error("original_max_position_embeddings is missing");
  MGTUNE_ASSIGN(rotary.original_positions, original->integer(1, kMaxSize));
  return {};
}

// Newer files have all settings in `rope_parameters`, older ones have `rope_theta` and
// `rope_scaling`. Either object may leave the theta to the outer one.
Status read_rotary(const JsonCursor& config, ModelConfig& model) {
  MGTUNE_TRY(read_positive(config, "rope_theta", 10000.0, model.rotary_theta));
  MGTUNE_TRY(expect_whole_rotation(config));
  const std::optional<JsonCursor> parameters = given(config, "rope_parameters");
  const std::optional<JsonCursor> scaling = given(config, "rope_scaling");
  if (parameters && scaling) {
    return config.error("rope_parameters and rope_scaling exclude each other");
  }
  if (!parameters && !scaling) return {};
  const JsonCursor& settings = parameters ? *parameters : *scaling;
  if (settings.value().kind != JsonValue::Kind::object) return settings.unexpected("an object");
  std::string kind = "default";
  MGTUNE_TRY(read_rotary_kind(settings, kind));
  if (kind != "default" && kind != "linear" && kind != "llama3") {
    return unsupported(
        settings
            .error(fmt::format("rope_type is '{}', but only default, linear and llama3 are "
                               "supported",
                               kind))
            .message());
  }
  MGTUNE_TRY(expect_rotary_settings(settings, kind));
  MGTUNE_TRY(expect_whole_rotation(settings));
  MGTUNE_TRY(read_positive(settings, "rope_theta", model.rotary_theta, model.rotary_theta));
  if (kind == "default") return {};
  RotaryScaling& rotary = model.rotary_scaling;
  rotary.kind = kind == "linear" ? RotaryScaling::Kind::linear : RotaryScaling::Kind::llama3;
  MGTUNE_TRY(read_positive(settings, "factor", std::nullopt, rotary.factor));
  return kind == "linear" ? Status() : read_llama3_scaling(settings, rotary);
}

Status read_end_tokens(const JsonCursor& config, ModelConfig& model) {
  const std::optional<JsonCursor> member = given(config, "eos_token_id");
  if (!member) return {};
  if (member->value().kind == JsonValue::Kind::array) return member->read(model.end_tokens);
  return member->read(model.end_tokens.emplace_back());
}

// Llama, Mistral and Qwen2 differ in biases and windows.
Status read_llama_like(const JsonCursor& config, ModelConfig& model) {
  MGTUNE_TRY(read_size(config, "hidden_size", model.width));
  MGTUNE_TRY(read_size(config, "intermediate_size", model.inner));
  MGTUNE_TRY(read_size(config, "num_hidden_layers", model.layers));
  MGTUNE_TRY(read_size(config, "num_attention_heads", model.heads));
  MGTUNE_TRY(read_optional_size(config, "num_key_value_heads", model.heads, model.kv_heads));
  if (!given(config, "head_dim") && model.width % model.heads != 0) {
    return config.error(
        "hidden_size is no multiple of num_attention_heads, and there is no head_dim");
  }
  MGTUNE_TRY(read_optional_size(config, "head_dim", model.width / model.heads, model.head_dim));
  MGTUNE_TRY(read_size(config, "vocab_size", model.vocabulary));
  MGTUNE_TRY(read_size(config, "max_position_embeddings", model.positions));
  MGTUNE_TRY(read_epsilon(config, "rms_norm_eps", model.epsilon));
  MGTUNE_TRY(expect_word(config, "hidden_act", "silu", "silu"));
  MGTUNE_TRY(read_rotary(config, model));
  MGTUNE_TRY(read_flag(config, "tie_word_embeddings", false, model.tied_head));
  if (model.family == "qwen2") {
    model.qkv_bias = true;
    return expect_flag(config, "use_sliding_window", false, false);
  }
  if (model.family == "mistral") {
    if (given(config, "sliding_window")) return read_size(config, "sliding_window", model.window);
    return {};
  }
  MGTUNE_TRY(read_flag(config, "attention_bias", false, model.qkv_bias));
  model.output_bias = model.qkv_bias;
  return read_flag(config, "mlp_bias", false, model.inner_bias);
}

Status read_gpt2(const JsonCursor& config, ModelConfig& model) {
  model.names = NameScheme::gpt2;
  model.norm = Norm::layer;
  model.activation = Activation::gelu_tanh;
  model.rotation = Rotation::none;
  model.qkv_bias = model.output_bias = model.inner_bias = true;
  MGTUNE_TRY(read_size(config, "n_embd", model.width));
  MGTUNE_TRY(read_size(config, "n_layer", model.layers));
  MGTUNE_TRY(read_size(config, "n_head", model.heads));
  model.kv_heads = model.heads;
  model.head_dim = model.width / model.heads;
  if (model.width % model.heads != 0) return config.error("n_embd is no multiple of n_head");
  MGTUNE_TRY(read_optional_size(config, "n_inner", 4 * model.width, model.inner));
  MGTUNE_TRY(read_size(config, "vocab_size", model.vocabulary));
  MGTUNE_TRY(read_size(config, "n_positions", model.positions));
  MGTUNE_TRY(read_epsilon(config, "layer_norm_epsilon", model.epsilon));
  MGTUNE_TRY(expect_word(config, "activation_function", "gelu_new", "gelu_new"));
  MGTUNE_TRY(expect_flag(config, "scale_attn_weights", true, true));
  MGTUNE_TRY(expect_flag(config, "scale_attn_by_inverse_layer_idx", false, false));
  return read_flag(config, "tie_word_embeddings", true, model.tied_head);
}

}  // namespace

Result<ModelConfig> parse_model_config(const std::string& file, std::string_view text) {
  Result<JsonValue> value = parse_json(text);
  if (!value.ok()) return std::move(value).take_status().with_context(file);
  const JsonCursor config(file, *value);
  if (value->kind != JsonValue::Kind::object) return config.unexpected("an object");
  const std::optional<JsonCursor> type = given(config, "model_type");
  if (!type) return config.error("model_type is missing");
  ModelConfig model;
  MGTUNE_TRY(type->read(model.family));
  const std::vector<std::string> known = {"gpt2", "llama", "mistral", "qwen2"};
  if (std::ranges::find(known, model.family) == known.end()) {
    return unsupported(type->error(fmt::format("'{}' is not supported{}", model.family,
                                               must_be_one_of(model.family, known)))
                           .message());
  }
  MGTUNE_TRY(model.family == "gpt2" ? read_gpt2(config, model) : read_llama_like(config, model));
  MGTUNE_TRY(read_end_tokens(config, model));
  MGTUNE_TRY(check_model_sizes(model, file, size_names(model.names)));
  return model;
}

const SizeNames& size_names(NameScheme scheme) {
  static constexpr SizeNames kLlama = {
      "num_hidden_layers", "hidden_size",       "num_attention_heads", "num_key_value_heads",
      "head_dim",          "intermediate_size", "vocab_size",          "max_position_embeddings"};
  static constexpr SizeNames kGpt2 = {"n_layer",         "n_embd",  "n_head",     "n_head",
                                      "n_embd / n_head", "n_inner", "vocab_size", "n_positions"};
  return scheme == NameScheme::gpt2 ? kGpt2 : kLlama;
}

Status check_model_sizes(const ModelConfig& config, std::string_view where,
                         const SizeNames& names) {
  const auto mistake = [&](std::string_view message) {
    return invalid_argument(fmt::format("{}: {}", where, message));
  };
  if (config.heads % config.kv_heads != 0) {
    return mistake(fmt::format("{} {} is no multiple of {} {}", names.heads, config.heads,
                               names.kv_heads, config.kv_heads));
  }
  if (config.rotation != Rotation::none && config.head_dim % 2 != 0) {
    return mistake(fmt::format("{} is {}, but a rotary embedding needs an even one", names.head_dim,
                               config.head_dim));
  }
  if (config.layers > kMaxLayers) {
    return mistake(fmt::format("{} is {}, but no model has more than {}", names.layers,
                               config.layers, kMaxLayers));
  }
  // These limits keep every size of an instruction below 2^30, and every sum of bytes below 2^63.
  const double qkv = (config.heads + 2.0 * config.kv_heads) * config.head_dim;
  const double layer =
      config.width * (qkv + 1.0 * config.heads * config.head_dim + 3.0 * config.inner);
  const double weights = config.layers * layer + 2.0 * config.vocabulary * config.width +
                         1.0 * config.positions * (config.width + config.head_dim);
  if (qkv >= 0x1p30 || weights >= 0x1p50) {
    return mistake(fmt::format(
        "no model is as large as {} {}, {} {}, {} {}, {} {}, {} {}, {} {}, {} {}, {} {}",
        names.layers, config.layers, names.width, config.width, names.heads, config.heads,
        names.kv_heads, config.kv_heads, names.head_dim, config.head_dim, names.inner, config.inner,
        names.vocabulary, config.vocabulary, names.positions, config.positions));
  }
  for (const std::int32_t token : config.end_tokens) {
    if (token < 0 || static_cast<std::uint32_t>(token) >= config.vocabulary) {
      return mistake(
          fmt::format("eos_token_id {} is not below vocab_size {}", token, config.vocabulary));
    }
  }
  return {};
}

}  // namespace mgtune::engine
