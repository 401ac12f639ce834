// Safetensors and llama2.c files: what is read, and that hostile ones are refused.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <random>

#include "elements/elements.h"
#include "system/file_system.h"
#include "tests/helpers/engine_models.h"
#include "tests/helpers/test_folder.h"
#include "tokenizer/tokenizer.h"
#include "weights/llama2c_file.h"
#include "weights/safetensors.h"

namespace mgtune::engine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string safetensors_bytes(const std::string& header, std::size_t data_bytes) {
  std::string bytes(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(header.size() >> (8 * i));
  return bytes + header + std::string(data_bytes, '\1');
}

std::string safetensors_message(const std::string& header, std::size_t data_bytes) {
  const Result<TensorMap> tensors = parse_safetensors("m", safetensors_bytes(header, data_bytes));
  return tensors.ok() ? "accepted" : tensors.status().message();
}

TEST(WeightsTest, SafetensorsAreReadAtAnyAlignment) {
  const std::string bytes = safetensors_bytes(
      R"({"__metadata__":{"format":"pt"},"a":{"dtype":"BF16","shape":[2,3],"data_offsets":[1,13]}})",
      13);
  const TensorMap tensors = must(parse_safetensors("m", bytes));
  ASSERT_EQ(tensors.size(), 1U);
  EXPECT_EQ(tensors.at("a").dtype, DType::bf16);
  EXPECT_EQ(tensors.at("a").shape, (std::vector<std::uint64_t>{2, 3}));
  EXPECT_EQ(tensors.at("a").bytes.size(), 12U);
}

TEST(WeightsTest, HostileSafetensorsAreRefused) {
  const auto one = [](const std::string& dtype, const std::string& shape,
                      const std::string& offsets) {
    return R"({"a":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" +
           offsets + "}}";
  };
  EXPECT_EQ(safetensors_message(one("F32", "[2]", "[0,8]"), 8), "accepted");
  EXPECT_THAT(safetensors_message(one("F32", "[2]", "[0,8]"), 7),
              HasSubstr("m: /a: the tensor ends at byte 70, but the file has 69 bytes; is it "
                        "truncated?"));
  EXPECT_THAT(safetensors_message(one("F32", "[3]", "[0,8]"), 8),
              HasSubstr("shape [3] has 12 bytes, but data_offsets span 8"));
  EXPECT_THAT(safetensors_message(one("F32", "[2]", "[8,0]"), 8), HasSubstr("data_offsets"));
  EXPECT_THAT(safetensors_message(one("F32", "[2]", "[0]"), 8), HasSubstr("data_offsets"));
  EXPECT_THAT(safetensors_message(one("F32", "[-2]", "[0,8]"), 8), HasSubstr("/a/shape/0"));
  EXPECT_THAT(safetensors_message(one("F8", "[8]", "[0,8]"), 8),
              HasSubstr("the dtype F8 is not supported"));
  EXPECT_THAT(safetensors_message(one("F32", "[4611686018427387904,4]", "[0,0]"), 8),
              HasSubstr("too many elements"));
  EXPECT_THAT(safetensors_message(one("F32", "[9223372036854775807,3]", "[0,8]"), 8),
              HasSubstr("too many elements"));
  EXPECT_THAT(safetensors_message("[]", 8), HasSubstr("m"));
  EXPECT_THAT(safetensors_message("{\"a\":", 8), HasSubstr("m: its header"));
  EXPECT_THAT(
      safetensors_message(
          R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[3,7]}})",
          8),
      HasSubstr("the tensors a and b overlap"));
  EXPECT_FALSE(parse_safetensors("m", "short").ok());
  EXPECT_FALSE(parse_safetensors("m", std::string(8, '\xFF')).ok());
}

TEST(WeightsTest, HostileLlama2cHeadersAreRefused) {
  const std::string good =
      must(FileSystem::real().read_file(model_path("stories260K/stories260K.bin")));
  const auto message = [&](std::size_t field, std::int32_t value) {
    std::string copy = good;
    std::memcpy(copy.data() + 4 * field, &value, sizeof(value));
    const Result<Llama2cModel> model = parse_llama2c("m.bin", copy);
    EXPECT_EQ(model.status().code(), model.ok() ? StatusCode::ok : StatusCode::corrupt);
    return model.ok() ? "accepted" : model.status().message();
  };
  EXPECT_EQ(message(0, 64), "accepted");
  EXPECT_THAT(message(0, 65), HasSubstr("m.bin: dim 65 is no multiple of n_heads 8"));
  EXPECT_THAT(message(0, -64), HasSubstr("m.bin: dim is -64"));
  EXPECT_THAT(message(1, 173), HasSubstr("by its header it should have"));
  EXPECT_THAT(message(2, 0), HasSubstr("n_layers is 0"));
  EXPECT_THAT(message(2, 1 << 22), HasSubstr("m.bin: n_layers is 4194304, but no model has"));
  EXPECT_THAT(message(4, 3), HasSubstr("n_heads 8 is no multiple of n_kv_heads 3"));
  EXPECT_THAT(message(5, std::numeric_limits<std::int32_t>::min()), HasSubstr("vocab_size"));
  EXPECT_THAT(message(6, 1 << 22), HasSubstr("by its header it should have"));
  EXPECT_THAT(message(3, 64),
              HasSubstr("dim / n_heads is 1, but a rotary embedding needs an even"));
  EXPECT_FALSE(parse_llama2c("m.bin", good.substr(0, good.size() - 1)).ok());
  EXPECT_FALSE(parse_llama2c("m.bin", "").ok());
}

class ModelFolderTest : public ::testing::Test {
 protected:
  void SetUp() override { copy_model("qwen2"); }

  void copy_model(const std::string& name) {
    for (const std::string file : {"config.json", "model.safetensors"}) {
      std::filesystem::copy_file(model_path(name) + "/" + file, folder_.file(file),
                                 std::filesystem::copy_options::overwrite_existing);
    }
  }

  void replace_in(const std::string& file, const std::string& from, const std::string& to) {
    std::string text = must(FileSystem::real().read_file(folder_.file(file)));
    const std::size_t place = text.find(from);
    ASSERT_NE(place, text.npos) << from;
    text.replace(place, from.size(), to);
    std::ofstream(folder_.file(file), std::ios::binary) << text;
  }

  // An empty one: what counts is that the file has its name.
  void add_tensor(const std::string& name) {
    const std::string bytes = must(FileSystem::real().read_file(folder_.file("model.safetensors")));
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), sizeof(length));
    const std::string entry =
        "{\"" + name + "\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]},";
    const std::string header = entry + bytes.substr(sizeof(length) + 1, length - 1);
    std::ofstream(folder_.file("model.safetensors"), std::ios::binary)
        << safetensors_bytes(header, 0) << bytes.substr(sizeof(length) + length);
  }

  // Writes model.safetensors of qwen2 anew, with all weights in another dtype.
  void round_weights(DType dtype) {
    const std::string path = model_path("qwen2/model.safetensors");
    const MappedFile file = must(MappedFile::open(path));
    std::string header;
    std::string data;
    for (const auto& [name, tensor] : must(parse_safetensors(path, file.bytes()))) {
      std::vector<float> values(tensor.bytes.size() / sizeof(float));
      std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
      std::vector<std::byte> rounded(values.size() * 2);
      store_floats(dtype, values, rounded.data());
      header += fmt::format(R"({}"{}":{{"dtype":"{}","shape":{},"data_offsets":[{},{}]}})",
                            header.empty() ? "{" : ",", name, dtype == DType::f16 ? "F16" : "BF16",
                            shape_text(tensor.shape), data.size(), data.size() + rounded.size());
      data.append(reinterpret_cast<const char*>(rounded.data()), rounded.size());
    }
    std::ofstream(folder_.file("model.safetensors"), std::ios::binary)
        << safetensors_bytes(header + "}", 0) << data;
  }

  std::string load_message() {
    const Result<ModelSource> source = open_model(folder_.path());
    if (!source.ok()) return source.status().message();
    const Result<Session> session = Session::create(source->config, source->tensors, {});
    return session.ok() ? "loaded" : session.status().message();
  }

  TestFolder folder_;
};

TEST_F(ModelFolderTest, AWholeModelLoads) { EXPECT_EQ(load_message(), "loaded"); }

TEST_F(ModelFolderTest, AConfigThatLiesNamesTheTensor) {
  replace_in("config.json", "\"intermediate_size\": 40", "\"intermediate_size\": 48");
  EXPECT_THAT(load_message(), HasSubstr("model.safetensors: model.layers.0.mlp.gate_proj.weight: "
                                        "its shape is [40, 32], but the config says [48, 32]"));
}

TEST_F(ModelFolderTest, AMissingTensorIsNamed) {
  replace_in("model.safetensors", "model.norm.weight", "model.norm.wiight");
  EXPECT_EQ(load_message(),
            folder_.file("model.safetensors") + ": the tensor norm.weight is missing");
  std::filesystem::rename(folder_.file("model.safetensors"), folder_.file("a.safetensors"));
  std::ofstream(folder_.file("b.safetensors"), std::ios::binary) << safetensors_bytes("{}", 0);
  const std::string index = folder_.file("model.safetensors.index.json");
  std::ofstream(index) << R"({"weight_map": {"x": "a.safetensors", "y": "b.safetensors"}})";
  EXPECT_EQ(load_message(), index + ": none of its 2 files has the tensor norm.weight");
}

TEST_F(ModelFolderTest, AWrongDTypeIsNamed) {
  // As many bytes in the file, but integers.
  replace_in("model.safetensors", "\"F32\"", "\"I32\"");
  EXPECT_THAT(load_message(), HasSubstr("its dtype is i32, but weights are f32, f16 or bf16"));
}

TEST_F(ModelFolderTest, TruncatedWeightsAreRefused) {
  const std::string file = folder_.file("model.safetensors");
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 4);
  EXPECT_THAT(load_message(), AllOf(StartsWith(file), HasSubstr("is it truncated?")));
}

TEST_F(ModelFolderTest, ShardsAreJoinedByTheirIndex) {
  std::filesystem::rename(folder_.file("model.safetensors"), folder_.file("a.safetensors"));
  std::ofstream(folder_.file("model.safetensors.index.json"))
      << R"({"weight_map": {"x": "a.safetensors"}})";
  EXPECT_EQ(load_message(), "loaded");
  replace_in("model.safetensors.index.json", "a.safe", "../a.safe");
  EXPECT_THAT(load_message(), HasSubstr("/weight_map/x: expected the name of a .safetensors file"));
}

TEST_F(ModelFolderTest, ATensorThatTheConfigDeniesIsRefused) {
  const auto expect_unused = [&](const std::string& model, const std::string& member,
                                 const std::string& wrong, const std::string& tensor) {
    copy_model(model);
    replace_in("config.json", "\"" + member + "\": " + (wrong == "1" ? "2" : "true"),
               "\"" + member + "\": " + wrong);
    EXPECT_THAT(load_message(),
                AllOf(StartsWith(folder_.file("model.safetensors: the tensor ") + tensor),
                      HasSubstr(" is not used: config.json says " + member + " " + wrong)));
  };
  expect_unused("llama", "num_hidden_layers", "1", "model.layers.1.input_layernorm.weight");
  expect_unused("llama", "attention_bias", "false", "model.layers.0.self_attn.k_proj.bias");
  expect_unused("llama", "mlp_bias", "false", "model.layers.0.mlp.down_proj.bias");
  expect_unused("gpt2", "n_layer", "1", "transformer.h.1.attn.c_attn.bias");
}

TEST_F(ModelFolderTest, ATensorOfALayerThatTheFamilyDoesNotHaveIsRefused) {
  add_tensor("model.layers.0.self_attn.q_norm.weight");
  EXPECT_THAT(load_message(),
              HasSubstr("the tensor model.layers.0.self_attn.q_norm.weight is not used: qwen2 "
                        "models have no such tensor"));
}

TEST_F(ModelFolderTest, WhatPublishedModelsHaveBesideTheirWeightsIsAccepted) {
  add_tensor("model.layers.1.self_attn.rotary_emb.inv_freq");
  add_tensor("score.weight");
  EXPECT_EQ(load_message(), "loaded");
  copy_model("gpt2");
  add_tensor("transformer.h.0.attn.bias");
  add_tensor("h.1.attn.masked_bias");
  EXPECT_EQ(load_message(), "loaded");
}

TEST_F(ModelFolderTest, ATensorUnderTwoNamesIsRefused) {
  add_tensor("embed_tokens.weight");
  EXPECT_THAT(load_message(),
              HasSubstr("it has both embed_tokens.weight and model.embed_tokens.weight"));
}

TEST_F(ModelFolderTest, ADamagedIndexOfShardsIsDamage) {
  const auto expect_corrupt = [&](const std::string& index, const std::string& message) {
    std::ofstream(folder_.file("model.safetensors.index.json")) << index;
    const Status status = open_model(folder_.path()).status();
    EXPECT_EQ(status.code(), StatusCode::corrupt) << index;
    EXPECT_THAT(status.message(), AllOf(StartsWith(folder_.file("model.safetensors.index.json: ")),
                                        HasSubstr(message)));
  };
  expect_corrupt("", "line 1");
  expect_corrupt("{", "line 1");
  expect_corrupt("[]", "weight_map is missing");
  expect_corrupt("{}", "weight_map is missing");
  expect_corrupt(R"({"weight_map": {}})", "/weight_map: it names no file");
  expect_corrupt(R"({"weight_map": 3})", "/weight_map");
  expect_corrupt(R"({"weight_map": {"x": 3}})", "/weight_map/x");
  expect_corrupt(R"({"weight_map": {"x": "../x.safetensors"}})",
                 "/weight_map/x: expected the name");
}

// Opening one for reading would wait for a writer that never comes.
TEST_F(ModelFolderTest, AFifoIsNoFileOfAModel) {
  const auto expect_refused_as = [&](const std::string& name) {
    const std::string path = folder_.file(name);
    std::filesystem::remove(path);
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    EXPECT_EQ(load_message(), path + ": this is not a file");
  };
  expect_refused_as("model.safetensors");
  expect_refused_as("model.safetensors.index.json");
  expect_refused_as("config.json");
  EXPECT_EQ(open_config(folder_.file("config.json")).status().code(), StatusCode::io);
  for (const std::string name : {"tokenizer.json", "tok.bin"}) {
    ASSERT_EQ(::mkfifo(folder_.file(name).c_str(), 0600), 0);
    EXPECT_EQ(open_tokenizer(folder_.file(name), 96).status().message(),
              folder_.file(name) + ": this is not a file");
  }
}

// Weights in half the bytes: the file is rounded here, or the engine rounds the weights of a file
// in f32, and the logits are the same.
TEST_F(ModelFolderTest, WeightsInF16AndBf16AreLoaded) {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    copy_model("qwen2");
    SessionOptions rounding;
    rounding.precision.weights = dtype;
    Session rounded = test_session("qwen2", rounding);
    round_weights(dtype);
    const ModelSource source = must(open_model(folder_.path()));
    Session wide = must(Session::create(source.config, source.tensors, {}));
    Session narrow = must(Session::create(source.config, source.tensors, rounding));
    Session exact = test_session("qwen2", {});
    for (const std::int32_t token : {5, 17, 3}) {
      for (Session* const session : {&rounded, &wide, &narrow, &exact}) {
        EXPECT_TRUE(session->step({{token}}).ok());
      }
      const std::vector<float> expected = must(rounded.logits(0));
      EXPECT_EQ(must(wide.logits(0)), expected);
      EXPECT_EQ(must(narrow.logits(0)), expected);
      EXPECT_NE(must(exact.logits(0)), expected);
    }
  }
}

TEST_F(ModelFolderTest, AFolderWithoutAModelSaysWhatAModelIs) {
  std::filesystem::remove(folder_.file("config.json"));
  EXPECT_THAT(load_message(), HasSubstr("a model's folder has config.json, or one llama2.c file"));
  EXPECT_THAT(open_model("/nowhere").status().message(),
              StartsWith("/nowhere: there is no such model"));
}

TEST(WeightsTest, OnlyTheFolderItselfIsSearchedForALlama2cFile) {
  const TestFolder folder;
  std::filesystem::create_directory(folder.file("below"));
  std::filesystem::copy(model_path("stories260K/stories260K.bin"), folder.file("below/a.bin"));
  EXPECT_THAT(open_model(folder.path()).status().message(), HasSubstr("this one has 0 of them"));
  std::filesystem::copy(folder.file("below/a.bin"), folder.file("b.bin"));
  EXPECT_TRUE(open_model(folder.path()).ok());
  EXPECT_TRUE(open_model(folder.file("below/a.bin")).ok());
}

TEST(WeightsTest, RandomDamageCrashesNothing) {
  std::mt19937 random(1);
  const std::string tensors =
      must(FileSystem::real().read_file(model_path("qwen2/model.safetensors")));
  const std::string llama2c =
      must(FileSystem::real().read_file(model_path("stories260K/stories260K.bin"))).substr(0, 4000);
  int accepted = 0;
  for (int round = 0; round < 400; ++round) {
    std::string copy = tensors;
    // Nearly all of the file is data, so the header is hit on purpose.
    for (std::uint32_t i = 0; i <= random() % 3; ++i)
      copy[random() % 2000] = static_cast<char>(random());
    if (random() % 8 == 0) copy.resize(random() % copy.size());
    accepted += parse_safetensors("m", copy).ok() ? 1 : 0;
    copy = llama2c;
    copy[random() % 28] = static_cast<char>(random());
    accepted += parse_llama2c("m", copy).ok() ? 1 : 0;
  }
  EXPECT_GT(accepted, 0);
}

}  // namespace
}  // namespace mgtune::engine
