// config.json of the four families: what is read, and that each mistake names its file and field.

#include "model/model_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/rotary_table.h"

namespace mgtune::engine {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// As meta-llama/Llama-3.2-1B has it.
constexpr std::string_view kLlama = R"({
  "architectures": ["LlamaForCausalLM"], "attention_bias": false, "bos_token_id": 128000,
  "eos_token_id": [128001, 128008], "head_dim": 64, "hidden_act": "silu", "hidden_size": 2048,
  "intermediate_size": 8192, "max_position_embeddings": 131072, "mlp_bias": false,
  "model_type": "llama", "num_attention_heads": 32, "num_hidden_layers": 16,
  "num_key_value_heads": 8, "rms_norm_eps": 1e-05,
  "rope_scaling": {"factor": 32.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
                   "original_max_position_embeddings": 8192, "rope_type": "llama3"},
  "rope_theta": 500000.0, "tie_word_embeddings": true, "vocab_size": 128256})";

constexpr std::string_view kGpt2 = R"({
  "activation_function": "gelu_new", "eos_token_id": 50256, "layer_norm_epsilon": 1e-05,
  "model_type": "gpt2", "n_ctx": 1024, "n_embd": 768, "n_head": 12, "n_inner": null, "n_layer": 12,
  "n_positions": 1024, "vocab_size": 50257})";

ModelConfig parsed(std::string_view text) {
  Result<ModelConfig> config = parse_model_config("config.json", text);
  if (!config.ok()) ADD_FAILURE() << config.status().message();
  return config.ok() ? *config : ModelConfig();
}

std::string replaced_text(std::string_view text, std::string_view from, std::string_view to) {
  std::string copy(text);
  const std::size_t place = copy.find(from);
  EXPECT_NE(place, copy.npos) << from;
  return copy.replace(place, from.size(), to);
}

void expect_config_refused(std::string_view text, std::string_view from, std::string_view to,
                           const std::string& message) {
  const Result<ModelConfig> config =
      parse_model_config("config.json", replaced_text(text, from, to));
  ASSERT_FALSE(config.ok()) << to;
  EXPECT_THAT(config.status().message(), StartsWith("config.json: "));
  EXPECT_THAT(config.status().message(), HasSubstr(message));
}

TEST(ModelConfigTest, Llama) {
  const ModelConfig config = parsed(kLlama);
  EXPECT_EQ(config.layers, 16U);
  EXPECT_EQ(config.width, 2048U);
  EXPECT_EQ(config.kv_heads, 8U);
  EXPECT_EQ(config.head_dim, 64U);
  EXPECT_EQ(config.vocabulary, 128256U);
  EXPECT_EQ(config.norm, Norm::rms);
  EXPECT_EQ(config.rotation, Rotation::halves);
  EXPECT_EQ(config.rotary_theta, 500000);
  EXPECT_EQ(config.rotary_scaling.kind, RotaryScaling::Kind::llama3);
  EXPECT_TRUE(config.tied_head);
  EXPECT_FALSE(config.qkv_bias);
  EXPECT_EQ(config.end_tokens, (std::vector<std::int32_t>{128001, 128008}));
}

TEST(ModelConfigTest, Gpt2) {
  const ModelConfig config = parsed(kGpt2);
  EXPECT_EQ(config.inner, 4 * 768U);
  EXPECT_EQ(config.kv_heads, 12U);
  EXPECT_EQ(config.norm, Norm::layer);
  EXPECT_EQ(config.activation, Activation::gelu_tanh);
  EXPECT_EQ(config.rotation, Rotation::none);
  EXPECT_TRUE(config.qkv_bias && config.output_bias && config.inner_bias && config.tied_head);
}

TEST(ModelConfigTest, MistralHasAWindowAndQwen2HasBiases) {
  const std::string mistral =
      replaced_text(kLlama, "\"llama\"", R"("mistral", "sliding_window": 4096)");
  EXPECT_EQ(parsed(mistral).window, 4096U);
  const std::string endless =
      replaced_text(kLlama, "\"llama\"", R"("mistral", "sliding_window": null)");
  EXPECT_EQ(parsed(endless).window, 0U);
  const ModelConfig qwen2 =
      parsed(replaced_text(kLlama, "\"llama\"", R"("qwen2", "sliding_window": 4096)"));
  EXPECT_TRUE(qwen2.qkv_bias);
  EXPECT_FALSE(qwen2.output_bias);
  EXPECT_EQ(qwen2.window, 0U);
}

TEST(ModelConfigTest, MistakesNameFileAndField) {
  expect_config_refused(kLlama, "\"llama\"", "\"lama\"",
                        "/model_type: 'lama' is not supported; did you mean 'llama'");
  expect_config_refused(kLlama, "\"hidden_size\": 2048", "\"hidden_size\": 0",
                        "/hidden_size: expected an integer from 1");
  expect_config_refused(kLlama, "\"hidden_size\": 2048", "\"hidden_size\": \"x\"", "/hidden_size");
  expect_config_refused(kLlama, "\"vocab_size\": 128256", "\"vocab\": 1", "vocab_size is missing");
  expect_config_refused(kLlama, "\"num_key_value_heads\": 8", "\"num_key_value_heads\": 5",
                        "num_attention_heads 32 is no multiple of num_key_value_heads 5");
  expect_config_refused(kLlama, "\"head_dim\": 64", "\"head_dim\": 63",
                        "head_dim is 63, but a rotary embedding needs an even one");
  expect_config_refused(kLlama, "\"silu\"", "\"gelu\"", "hidden_act is 'gelu', but only 'silu'");
  expect_config_refused(kLlama, "1e-05", "-1", "/rms_norm_eps");
  expect_config_refused(kLlama, "\"llama3\"", "\"yarn\"", "/rope_scaling: rope_type is 'yarn'");
  expect_config_refused(kLlama, "\"high_freq_factor\": 4.0", "\"high_freq_factor\": 1.0",
                        "/rope_scaling: high_freq_factor");
  expect_config_refused(kLlama, "128008", "128256", "eos_token_id 128256 is not below vocab_size");
  expect_config_refused(kLlama, "\"num_hidden_layers\": 16", "\"num_hidden_layers\": 16777216",
                        "num_hidden_layers is 16777216, but no model has more than 1000");
  const std::string deep =
      replaced_text(kLlama, "\"num_hidden_layers\": 16", "\"num_hidden_layers\": 1000");
  const std::string wide =
      replaced_text(deep, "\"intermediate_size\": 8192", "\"intermediate_size\": 16777216");
  expect_config_refused(wide, "\"hidden_size\": 2048", "\"hidden_size\": 65536",
                        "no model is as large as num_hidden_layers 1000, hidden_size 65536, "
                        "num_attention_heads 32, num_key_value_heads 8, head_dim 64, "
                        "intermediate_size 16777216, vocab_size 128256, "
                        "max_position_embeddings 131072");
  expect_config_refused(kLlama, "\"model_type\"", "\"model\"", "model_type is missing");
  expect_config_refused(kLlama, "{", "[", "line 2");
  expect_config_refused(kGpt2, "\"n_head\": 12", "\"n_head\": 7",
                        "n_embd is no multiple of n_head");
  expect_config_refused(kGpt2, "gelu_new", "relu", "activation_function is 'relu'");
  EXPECT_FALSE(parse_model_config("config.json", "3").ok());
}

TEST(ModelConfigTest, RotarySettingsAreReadAsTransformersDoes) {
  const std::string plain = replaced_text(kLlama, "\"llama3\"", "\"default\"");
  const auto with = [&](const std::string& setting) {
    const std::size_t begin = plain.find("\"rope_scaling\"");
    const std::size_t end = plain.find('}', begin) + 1;
    return plain.substr(0, begin) + setting + plain.substr(end);
  };
  EXPECT_EQ(parsed(with(R"("rope_parameters": {"rope_type": "default"})")).rotary_theta, 500000);
  EXPECT_EQ(parsed(with(R"("rope_parameters": {"rope_theta": 7.0})")).rotary_theta, 7);
  EXPECT_EQ(parsed(with(R"("rope_scaling": {"rope_theta": 7.0, "type": null})")).rotary_theta, 7);
  EXPECT_EQ(parsed(with(R"("rope_scaling": null, "partial_rotary_factor": 1.0)")).rotary_theta,
            500000);
  const ModelConfig linear =
      parsed(with(R"("rope_scaling": {"type": "linear", "rope_type": "linear", "factor": 2})"));
  EXPECT_EQ(linear.rotary_scaling.kind, RotaryScaling::Kind::linear);

  const auto expect_refused = [&](const std::string& setting, const std::string& message) {
    const Result<ModelConfig> config = parse_model_config("config.json", with(setting));
    ASSERT_FALSE(config.ok()) << setting;
    EXPECT_THAT(config.status().message(), HasSubstr(message));
  };
  for (const std::string key : {"rope_parameters", "rope_scaling"}) {
    for (const std::string value : {"\"linear\"", "2", "[1]", "true"}) {
      expect_refused("\"" + key + "\": " + value, "config.json: /" + key + ": expected an object");
    }
  }
  expect_refused(R"("rope_parameters": {"full_attention": {"rope_type": "default"}})",
                 "/rope_parameters: full_attention is not supported");
  expect_refused(R"("rope_scaling": {"rope_type": "default", "factor": 8})",
                 "/rope_scaling: factor is not supported with the rope_type 'default'");
  expect_refused(R"("rope_scaling": {"type": "linear", "factor": 2, "mscale": 1})",
                 "/rope_scaling: mscale is not supported");
  expect_refused(R"("partial_rotary_factor": 0.5)", "partial_rotary_factor is 0.5");
  expect_refused(R"("rope_parameters": {"partial_rotary_factor": 0.25})",
                 "/rope_parameters: partial_rotary_factor is 0.25");
  expect_refused(R"("rope_scaling": {"rope_type": "linear", "type": "yarn", "factor": 2})",
                 "/rope_scaling: rope_type is 'linear', but type is 'yarn'");
  expect_refused(R"("rope_scaling": {"type": "default"}, "rope_parameters": {"type": "default"})",
                 "rope_parameters and rope_scaling exclude each other");
}

TEST(ModelConfigTest, RotaryTablesHaveTheCosinesAndSinesOfEachPosition) {
  ModelConfig config;
  config.head_dim = 4;
  const std::vector<float> table = rotary_table(config, 3);
  ASSERT_EQ(table.size(), 12U);
  EXPECT_FLOAT_EQ(table[0], 1);
  EXPECT_FLOAT_EQ(table[8], std::cos(2.0F));
  EXPECT_FLOAT_EQ(table[9], std::sin(2.0F));
  EXPECT_FLOAT_EQ(table[11], std::sin(0.02F));
}

}  // namespace
}  // namespace mgtune::engine
