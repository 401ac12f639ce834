#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "plan/shapes.h"
#include "tests/helpers/test_folder.h"

namespace mgtune {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Pair;

class ModelShapesTest : public ::testing::Test {
 protected:
  Result<ModelShapes> load(const std::string& text) const {
    std::ofstream(file_) << text;
    return load_model_shapes(FileSystem::real(), file_);
  }

  TestFolder folder_;
  const std::string file_ = folder_.file("mine.json");
};

TEST_F(ModelShapesTest, ShippedModelsAreFoundByName) {
  EXPECT_THAT(shipped_models(), Contains("llama-3.1-8b"));
  for (const std::string& name : shipped_models()) {
    EXPECT_TRUE(load_model_shapes(FileSystem::real(), name).ok()) << name;
  }
  const Result<ModelShapes> llama = load_model_shapes(FileSystem::real(), "llama-3.1-8b");
  ASSERT_TRUE(llama.ok());
  EXPECT_EQ(llama->name, "Llama 3.1 8B");
  EXPECT_EQ(llama->fields.at("hidden_size"), 4096);
  EXPECT_THAT(llama->tokens, Contains(1));
}

TEST_F(ModelShapesTest, UnknownModelSuggests) {
  const Result<ModelShapes> shapes = load_model_shapes(FileSystem::real(), "lama-3.1-8b");
  EXPECT_EQ(shapes.status().code(), StatusCode::invalid_argument);
  EXPECT_THAT(shapes.status().message(),
              HasSubstr("unknown model 'lama-3.1-8b'; did you mean 'llama-3.1-8b'?"));
}

TEST_F(ModelShapesTest, RecordingsMaySayHowOftenAProblemIsLaunched) {
  const std::string recording = folder_.file("recorded.jsonl");
  std::ofstream(recording) << R"({"operator": "a.b", "problem": "n=4", "launches": 16})" << '\n'
                           << R"({"operator": "a.b", "problem": "n=5"})" << '\n';
  EXPECT_TRUE(is_recording(FileSystem::real(), recording));
  const auto shapes = load_recorded_shapes(FileSystem::real(), recording);
  ASSERT_TRUE(shapes.ok()) << shapes.status().message();
  EXPECT_THAT(shapes->at("a.b"), ElementsAre("n=4", "n=5"));
  const auto launches = load_recorded_launches(FileSystem::real(), recording);
  ASSERT_TRUE(launches.ok()) << launches.status().message();
  EXPECT_THAT(*launches, ElementsAre(Pair("a.b n=4", 16)));

  std::ofstream(recording) << R"({"operator": "a.b", "problem": "n=4", "launches": 0})" << '\n';
  const auto none = load_recorded_launches(FileSystem::real(), recording);
  EXPECT_EQ(none.status().code(), StatusCode::corrupt);
  EXPECT_THAT(none.status().message(), HasSubstr("line 1"));
  EXPECT_THAT(none.status().message(), HasSubstr("/launches"));
}

TEST_F(ModelShapesTest, AFileOfTheUsers) {
  const Result<ModelShapes> shapes =
      load(R"({"format": 1, "name": "Mine", "hidden_size": 64, "tokens": [1, 8]})");
  ASSERT_TRUE(shapes.ok()) << shapes.status().message();
  EXPECT_EQ(shapes->name, "Mine");
  EXPECT_EQ(shapes->fields.at("hidden_size"), 64);
  EXPECT_THAT(shapes->tokens, ElementsAre(1, 8));
}

TEST_F(ModelShapesTest, MalformedFilesNameThePlace) {
  const auto message = [&](const std::string& text) {
    const Result<ModelShapes> shapes = load(text);
    EXPECT_EQ(shapes.status().code(), StatusCode::corrupt) << text;
    return shapes.status().message();
  };
  EXPECT_EQ(message(R"({"format": 1, "hidden_size": -4, "tokens": [1]})"),
            file_ + ": /hidden_size: expected an integer from 1 to 1073741824, got -4");
  EXPECT_EQ(message(R"({"format": 1, "tokens": [1, "x"]})"),
            file_ + ": /tokens/1: expected an integer from 1 to 1073741824, got \"x\"");
  EXPECT_THAT(message(R"({"format": 1, "tokens": 3})"), EndsWith("/tokens: expected array, got 3"));
  EXPECT_THAT(message(R"({"format": 2, "tokens": [1]})"), EndsWith("/format: expected 1, got 2"));
  EXPECT_THAT(message(R"({"format": 1, "hidden_size": 4})"), EndsWith("missing key 'tokens'"));
  EXPECT_THAT(message("[1]"), EndsWith("expected object, got an array"));
  EXPECT_THAT(message("{"), HasSubstr(file_));
}

TEST_F(ModelShapesTest, AMissingFileIsNotAMalformedOne) {
  const Result<ModelShapes> shapes = load_model_shapes(FileSystem::real(), folder_.file("no.json"));
  EXPECT_EQ(shapes.status().code(), StatusCode::io);
}

}  // namespace
}  // namespace mgtune
