// Tokenizers cut texts as the libraries that made them, give back every text, and refuse files that
// are damaged.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "json/json_cursor.h"
#include "system/file_system.h"
#include "tests/helpers/engine_models.h"
#include "tokenizer/bpe_tokenizer.h"
#include "tokenizer/llama2c_tokenizer.h"
#include "tokenizer/word_splitter.h"

namespace mgtune::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string file_of_model(const std::string& name) {
  return must(FileSystem::real().read_file(model_path(name)));
}

std::string decoded(const Tokenizer& tokenizer, const std::vector<std::int32_t>& tokens) {
  std::string text;
  std::int32_t previous = -1;
  for (const std::int32_t token : tokens)
    text += tokenizer.decode(std::exchange(previous, token), token);
  return text;
}

class BpeTokenizerTest : public ::testing::TestWithParam<const char*> {};

TEST_P(BpeTokenizerTest, CutsTextsAsTheTokenizersLibrary) {
  const std::string folder = std::string("tokenizers/") + GetParam();
  const auto tokenizer = must(open_tokenizer(model_path(folder + "/tokenizer.json"), 360));
  const std::string file = "expected.json";
  const JsonValue expected = must(parse_json(file_of_model(folder + "/expected.json")));
  const std::vector<JsonCursor> cases = must(JsonCursor(file, expected).elements());
  ASSERT_GT(cases.size(), 5U);
  for (const JsonCursor& one : cases) {
    std::string text;
    std::vector<std::int32_t> tokens;
    ASSERT_TRUE(one.read("text", text).ok());
    ASSERT_TRUE(one.read("tokens", tokens).ok());
    EXPECT_EQ(must(tokenizer->encode(text)), tokens) << text;
    const bool has_special = text.find("<|") != text.npos;
    if (!has_special) {
      EXPECT_EQ(decoded(*tokenizer, tokens), text);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Patterns, BpeTokenizerTest, ::testing::Values("gpt2", "llama3", "qwen2"));

TEST(TokenizerTest, Llama2cFallsBackToBytesAndBeginsWithABlank) {
  const auto tokenizer = must(open_tokenizer(model_path("stories260K/tok512.bin"), 512));
  for (const std::string text :
       {"Lily", " two  blanks ", "caf\xC3\xA9 \xF0\x9F\x99\x82\n", "\xFF\xC3"}) {
    const std::vector<std::int32_t> tokens = must(tokenizer->encode(text));
    EXPECT_EQ(tokens[0], 1);
    EXPECT_EQ(decoded(*tokenizer, tokens), text);
  }
  EXPECT_THAT(must(tokenizer->encode("")), ElementsAre(1));
  EXPECT_EQ(tokenizer->decode(5, 99999), "");
  EXPECT_EQ(tokenizer->decode(5, -1), "");
}

TEST(TokenizerTest, WordsAreCutInEveryPattern) {
  using Words = std::vector<std::string_view>;
  EXPECT_EQ(split_words(WordPattern::gpt2, "It's 1984  ok"),
            (Words{"It", "'s", " 1984", " ", " ok"}));
  EXPECT_EQ(split_words(WordPattern::llama3, "IT'S 1984\n\n ok"),
            (Words{"IT", "'S", " ", "198", "4", "\n\n", " ok"}));
  EXPECT_EQ(split_words(WordPattern::qwen2, "x;\n y"), (Words{"x", ";\n", " y"}));
  EXPECT_EQ(split_words(WordPattern::gpt2, "'"), (Words{"'"}));
}

TEST(TokenizerTest, AWordOfAMillionLettersTakesNoTimeToSpeakOf) {
  const auto tokenizer = must(open_tokenizer(model_path("tokenizers/gpt2/tokenizer.json"), 360));
  const std::string text(200'000, 't');
  EXPECT_EQ(decoded(*tokenizer, must(tokenizer->encode(text))), text);
}

void expect_json_refused(const std::string& from, const std::string& to,
                         const std::string& message) {
  std::string text = file_of_model("tokenizers/llama3/tokenizer.json");
  const std::size_t place = text.find(from);
  ASSERT_NE(place, text.npos) << from;
  text.replace(place, from.size(), to);
  const auto tokenizer = parse_bpe_tokenizer("tokenizer.json", text);
  ASSERT_FALSE(tokenizer.ok()) << to;
  EXPECT_THAT(tokenizer.status().message(), HasSubstr("tokenizer.json: "));
  EXPECT_THAT(tokenizer.status().message(), HasSubstr(message));
}

TEST(TokenizerTest, WrongFieldsAreNamed) {
  expect_json_refused(R"("type": "BPE")", R"("type": "Unigram")", "/model: its type is Unigram");
  expect_json_refused(R"("normalizer": null)", R"("normalizer": {"type": "NFKC"})", "/normalizer");
  expect_json_refused(R"("id": 1,)", R"("id": -1,)", "/added_tokens/1/id");
  expect_json_refused(R"("byte_fallback": false)", R"("byte_fallback": true)", "byte_fallback");
  expect_json_refused("{1,3}", "{1,4}", "only the patterns of");
  expect_json_refused(R"("merges": [)", R"("merges": [ ["zz", "qq"],)", "/model/merges/0");
  expect_json_refused("\"vocab\"", "\"vocap\"", "vocab is missing");
  expect_json_refused(R"("SpecialToken": {)", R"("SpecialToken": {"was": 1}, "x": {)",
                      "id is missing");
}

TEST(TokenizerTest, Llama2cFilesThatLieAreRefused) {
  const std::string good = file_of_model("stories260K/tok512.bin");
  const auto message = [&](const std::string& content, std::uint32_t vocabulary) {
    const auto tokenizer = parse_llama2c_tokenizer("tok.bin", content, vocabulary);
    return tokenizer.ok() ? "accepted" : tokenizer.status().message();
  };
  EXPECT_EQ(message(good, 512), "accepted");
  EXPECT_THAT(message(good, 513), HasSubstr("tok.bin: it ends within token 512"));
  EXPECT_THAT(message(good, 511), HasSubstr("bytes follow its 511 tokens"));
  EXPECT_THAT(message(good, 100), HasSubstr("no room for the 256 bytes"));
  EXPECT_THAT(message("", 512), HasSubstr("it ends within token 0"));
  std::string negative = good;
  negative.replace(8, 4, "\xFF\xFF\xFF\xFF");
  EXPECT_THAT(message(negative, 512), HasSubstr("it ends within token 0"));
}

TEST(TokenizerTest, ATokenizerLargerThanTheModelIsRefused) {
  const auto tokenizer = open_tokenizer(model_path("tokenizers/gpt2/tokenizer.json"), 96);
  ASSERT_FALSE(tokenizer.ok());
  EXPECT_THAT(tokenizer.status().message(), HasSubstr("it has 360 tokens, but the model has 96"));
}

TEST(TokenizerTest, RandomDamageCrashesNothing) {
  std::mt19937 random(1);
  const std::string json = file_of_model("tokenizers/llama3/tokenizer.json");
  const std::string binary = file_of_model("stories260K/tok512.bin");
  int accepted = 0;
  for (int round = 0; round < 300; ++round) {
    for (const std::string& original : {json, binary}) {
      std::string copy = original;
      for (std::uint32_t i = 0; i <= random() % 3; ++i) {
        copy[random() % copy.size()] = static_cast<char>(random());
      }
      if (random() % 8 == 0) copy.resize(random() % copy.size());
      const auto tokenizer = original.starts_with('{')
                                 ? parse_bpe_tokenizer("tokenizer.json", copy)
                                 : parse_llama2c_tokenizer("tok.bin", copy, 512);
      if (!tokenizer.ok()) continue;
      ++accepted;
      for (const std::string text : {"Once upon a time", "\xFF it's\n\n 42"}) {
        const auto tokens = (*tokenizer)->encode(text);
        if (tokens.ok()) decoded(**tokenizer, *tokens);
      }
    }
  }
  EXPECT_GT(accepted, 20);
}

}  // namespace
}  // namespace mgtune::engine
