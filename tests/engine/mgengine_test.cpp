// The program mgengine: what it prints, and what it says of wrong words and files.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

#include "tests/helpers/engine_models.h"
#include "tests/helpers/mgtune_program.h"

namespace mgtune::engine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class MgengineTest : public ::testing::Test {
 protected:
  MgengineTest() {
    // The programs of a build are in one folder.
    program_.with_program(
        (std::filesystem::path(mgtune_path()).parent_path() / "mgengine").string());
    program_.with_variable("CUDA_VISIBLE_DEVICES", "");  // so that `auto` is `reference`
  }

  Ended run(const MgtuneProgram::Words& words) { return program_.run(words); }

  void expect_refused(const MgtuneProgram::Words& words, int code, const std::string& message) {
    const Ended ended = run(words);
    EXPECT_EQ(ended.exit_code, code) << ended;
    EXPECT_THAT(ended.err, AllOf(StartsWith("mgengine: "), HasSubstr(message)));
    EXPECT_THAT(ended.out, IsEmpty());
  }

  const TestFolder cache_;
  MgtuneProgram program_{cache_.path()};
  const std::string stories_ = model_path("stories260K");
};

TEST_F(MgengineTest, TellsTheGoldenStory) {
  const Ended ended =
      run({"generate", "--model", stories_, "--prompt", "Once upon a time", "--tokens", "196"});
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_EQ(ended.out, file_content(model_path("stories260K/golden.txt")) + "\n");
  EXPECT_THAT(ended.err, AllOf(HasSubstr("196 new tokens in"), HasSubstr("(way reference, f32)")));
}

// One kernel per instruction, and a table of their times.
TEST_F(MgengineTest, RunsByTheWaySteps) {
  const Ended text = run({"generate", "--model", stories_, "--prompt", "Once upon a time",
                          "--tokens", "9", "--device", "cpu"});
  EXPECT_EQ(text.exit_code, 0) << text;
  EXPECT_THAT(file_content(model_path("stories260K/golden.txt")),
              StartsWith(text.out.substr(0, text.out.size() - 1)));
  EXPECT_THAT(text.err, HasSubstr("(way steps, f32)"));
  const Ended times = run({"bench", "--model", stories_, "--positions", "3", "--steps", "1",
                           "--run", "2", "--dtype", "f32", "--way", "steps", "--device", "cpu"});
  EXPECT_EQ(times.exit_code, 0) << times;
  EXPECT_THAT(times.out,
              AllOf(StartsWith("way steps, f32, 1 sequence, median of 1 runs of 2 tokens"),
                    HasSubstr("linear qkv.weight")));
}

TEST_F(MgengineTest, TellsTheBeginOfTheStoryInF16) {
  const Ended ended = run({"generate", "--model", stories_, "--prompt", "Once upon a time",
                           "--tokens", "40", "--dtype", "f16"});
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_GT(ended.out.size(), 60U);
  EXPECT_THAT(file_content(model_path("stories260K/golden.txt")),
              StartsWith(ended.out.substr(0, ended.out.size() - 1)));
  EXPECT_THAT(ended.err, HasSubstr("(way reference, f16)"));
}

TEST_F(MgengineTest, ASeedGivesTheSameTextAgain) {
  const auto text = [&](const std::string& seed) {
    return run({"generate", "--model", stories_, "--tokens", "30", "--temperature", "1", "--top-p",
                "0.95", "--seed", seed, "--dtype", "bf16"})
        .out;
  };
  EXPECT_EQ(text("1"), text("1"));
  EXPECT_NE(text("1"), text("2"));
}

// The kernel that samples chooses what the host would choose.
TEST_F(MgengineTest, SamplesByTheWaySteps) {
  const auto text = [&](MgtuneProgram::Words more) {
    MgtuneProgram::Words words = {"generate", "--model",       stories_, "--tokens",
                                  "15",       "--temperature", "0.8",    "--top-p",
                                  "0.9",      "--seed",        "7"};
    words.insert(words.end(), more.begin(), more.end());
    const Ended ended = run(words);
    EXPECT_EQ(ended.exit_code, 0) << ended;
    return ended.out;
  };
  EXPECT_EQ(text({"--way", "steps", "--device", "cpu"}), text({}));
}

TEST_F(MgengineTest, HelpDescribesEveryCommand) {
  EXPECT_EQ(run({}).out, run({"--help"}).out);
  for (const std::string command : {"generate", "bench", "tune", "verify", "show"}) {
    EXPECT_THAT(run({}).out, HasSubstr(command));
    const Ended ended = run({command, "--help"});
    EXPECT_EQ(ended.exit_code, 0);
    EXPECT_THAT(ended.out, AllOf(HasSubstr("--model"), HasSubstr("Examples:"),
                                 HasSubstr("mgengine " + command)));
  }
  EXPECT_THAT(run({"--version"}).out, StartsWith("mgengine "));
}

TEST_F(MgengineTest, BenchPrintsATableOrJson) {
  const MgtuneProgram::Words words = {"bench",
                                      "--model",
                                      model_path("gpt2/config.json"),
                                      "--random-weights",
                                      "--positions",
                                      "1,31",
                                      "--batch",
                                      "2",
                                      "--bandwidth",
                                      "100"};
  const Ended table = run(words);
  EXPECT_EQ(table.exit_code, 0) << table;
  EXPECT_THAT(table.out, AllOf(HasSubstr("us per token"), HasSubstr("linear qkv.weight"),
                               HasSubstr("2 sequences")));
  MgtuneProgram::Words with_json = words;
  with_json.push_back("--json");
  const nlohmann::json json = run(with_json).json();
  EXPECT_EQ(json["batches"], nlohmann::json::array({2}));
  ASSERT_EQ(json["positions"].size(), 2U);
  EXPECT_EQ(json["positions"][1]["batch"], 2);
  EXPECT_GT(json["positions"][1]["us_per_token"], 0);
  // bf16 weights of 2 layers, the head and the caches of 2 sequences with 32 keys.
  const int weights = 2 * (32 * 96 + 32 * 32 + 2 * 32 * 128) + 96 * 32;
  const int caches = 2 * 2 * 2 * 32 * 32;
  EXPECT_EQ(json["positions"][1]["bytes"], 2 * (weights + caches));
  EXPECT_GT(json["positions"][1]["percent_of_bandwidth"], 0);
}

TEST_F(MgengineTest, BenchComparesBatchesInOneTable) {
  const MgtuneProgram::Words words = {"bench",
                                      "--model",
                                      model_path("gpt2/config.json"),
                                      "--random-weights",
                                      "--positions",
                                      "1,31",
                                      "--batch",
                                      "1,4"};
  const Ended table = run(words);
  EXPECT_EQ(table.exit_code, 0) << table;
  EXPECT_THAT(table.out, AllOf(StartsWith("way reference, bf16, batches of 1,4, median"),
                               HasSubstr("\nbatch  position  us per token  tokens/s"),
                               HasSubstr("\n    4        31 ")));
  MgtuneProgram::Words with_json = words;
  with_json.push_back("--json");
  const nlohmann::json times = run(with_json).json()["positions"];
  ASSERT_EQ(times.size(), 4U);
  for (std::size_t i = 0; i < times.size(); ++i) {
    EXPECT_EQ(times[i]["batch"], i < 2 ? 1 : 4);
    EXPECT_EQ(times[i]["position"], i % 2 == 0 ? 1 : 31);
    const double tokens = 1e6 * double{times[i]["batch"]} / double{times[i]["us_per_token"]};
    EXPECT_NEAR(times[i]["tokens_per_s"], tokens, tokens * 1e-6);
  }
  expect_refused({"bench", "--model", stories_, "--batch", "1,9"}, 2,
                 "'9' is not an integer from 1 to 8");
}

// The tiny model has 32 positions, and a run of 40 tokens has no more than that.
TEST_F(MgengineTest, BenchGoesAsFarAsTheModel) {
  const MgtuneProgram::Words words = {
      "bench", "--model", model_path("gpt2/config.json"), "--random-weights", "--run", "40"};
  const Ended table = run(words);
  EXPECT_EQ(table.exit_code, 0) << table;
  EXPECT_THAT(table.out, HasSubstr("median of 3 runs of 40 tokens, but 32 at position 1, 32 at "
                                   "position 31\n"));
  MgtuneProgram::Words downwards = words;
  downwards.insert(downwards.end(), {"--positions", "31,3"});
  EXPECT_THAT(run(downwards).out, HasSubstr(", but 32 at position 3, 32 at position 31\n"));
  MgtuneProgram::Words with_json = words;
  with_json.push_back("--json");
  const nlohmann::json times = run(with_json).json()["positions"];
  ASSERT_EQ(times.size(), 2U);
  EXPECT_EQ(times[1]["position"], 31);
  EXPECT_EQ(times[1]["run"], 32);
}

// As one that was killed while a compiler ran leaves it.
TEST_F(MgengineTest, RemovesTheTemporaryFoldersOfKilledPrograms) {
  const auto folders = [&] {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(program_.temporary_files())) {
      count += entry.path().filename().string().starts_with("mgtune-") ? 1 : 0;
    }
    return count;
  };
  const MgtuneProgram::Words words = {"generate", "--model", stories_,   "--prompt", "Once",
                                      "--tokens", "1",       "--device", "cpu"};
  program_.start(words);
  EXPECT_TRUE(program_.wait_until([&] { return folders() > 0; }));
  program_.finish(SIGKILL);
  // A compiler that is still there may write into its folder while the next program removes that.
  ASSERT_TRUE(program_.time_to_be_gone(std::chrono::seconds(30)).has_value());
  EXPECT_GT(folders(), 0U);
  const Ended ended = run(words);
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_EQ(folders(), 0U);
}

TEST_F(MgengineTest, VerifySaysWhatItHasChecked) {
  const Ended ended =
      run({"verify", "--model", model_path("llama"), "--batch", "2", "--queues", "2"});
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_THAT(ended.out,
              AllOf(HasSubstr("valid: positions below 32"), HasSubstr("same token 32 of 32 times"),
                    HasSubstr("with --way reference in f32"),
                    HasSubstr("--way reference runs no kernels"), HasSubstr("ok")));
}

TEST_F(MgengineTest, VerifyFailsOnWeightsThatAreNotNumbers) {
  const std::string folder = program_.folder().file("model");
  std::filesystem::copy(model_path("qwen2"), folder);
  std::string weights = file_content(folder + "/model.safetensors");
  weights.replace(weights.size() - 4, 4, "\xFF\xFF\xFF\x7F");
  std::ofstream(folder + "/model.safetensors", std::ios::binary) << weights;
  const Ended ended = run({"verify", "--model", folder});
  EXPECT_EQ(ended.exit_code, 1) << ended;
  EXPECT_THAT(ended.out, AllOf(HasSubstr("FAILED: of the reference, "), HasSubstr("not finite"),
                               Not(HasSubstr("same token"))));
}

// The embedding is NaN.
TEST_F(MgengineTest, GenerateFailsOnLogitsThatAreNotNumbers) {
  const std::string file = program_.folder().file("stories.bin");
  std::string content = file_content(stories_ + "/stories260K.bin");
  const std::size_t first = 7 * 4;  // behind the header: the embedding, which is the head too
  for (std::size_t i = first; i < first + 512 * 64 * 4; i += 4)
    content.replace(i, 4, "\x00\x00\xC0\x7F", 4);
  std::ofstream(file, std::ios::binary) << content;
  for (const char* const temperature : {"0", "0.7"}) {
    const Ended ended = run({"generate", "--model", file, "--tokenizer", stories_ + "/tok512.bin",
                             "--tokens", "5", "--temperature", temperature});
    EXPECT_EQ(ended.exit_code, 5) << ended;
    EXPECT_THAT(ended.err,
                HasSubstr("the logits before position 1 are not finite: `mgengine verify"));
  }
}

TEST_F(MgengineTest, ShowPrintsProgramsOfModelsAndFiles) {
  const std::string file = program_.folder().file("a.program");
  const MgtuneProgram::Words words = {"show",    "program", "--model",    stories_,
                                      "--batch", "2",       "--position", "300"};
  const Ended text = run(words);
  EXPECT_EQ(text.exit_code, 0) << text;
  EXPECT_THAT(text.out, AllOf(StartsWith("mgengine program 1\nrows=2 capacity=512 positions=512"),
                              HasSubstr("\nargmax ")));
  MgtuneProgram::Words to_file = words;
  to_file.insert(to_file.end(), {"--output", file});
  EXPECT_EQ(run(to_file).exit_code, 0);
  EXPECT_EQ(run({"show", "program", "--file", file}).out, text.out);
  std::filesystem::resize_file(file, 1000);
  expect_refused({"show", "program", "--file", file}, 5, "its header tells of");
}

TEST_F(MgengineTest, ShowListsTheKernelsOfAModel) {
  const MgtuneProgram::Words words = {"show", "kernels", "--model", "llama-3.2-1b"};
  const Ended text = run(words);
  EXPECT_EQ(text.exit_code, 0) << text;
  EXPECT_THAT(text.out, HasSubstr("per token    MB each  MB in all  kernel\n"));
  MgtuneProgram::Words more = words;
  more.insert(more.end(), {"--positions", "128", "--json"});
  const nlohmann::json kernels = run(more).json()["kernels"];
  ASSERT_EQ(kernels.size(), 8U);
  EXPECT_EQ(kernels[0]["operator"], "linear.decode");
  EXPECT_EQ(kernels[0]["count"], 16);
  EXPECT_GE(kernels[0]["bytes"], 2 * 2 * 8192 * 2048);  // both weights of gate and up
  EXPECT_EQ(kernels[7]["operator"], "embedding.forward");

  // Each bucket of positions has an attention of its own.
  const auto attentions = [&](const std::string& positions) {
    MgtuneProgram::Words at = words;
    at.insert(at.end(), {"--capacity", "2048", "--positions", positions, "--json"});
    const nlohmann::json all = run(at).json()["kernels"];
    return std::ranges::count_if(
        all, [](const auto& kernel) { return kernel["operator"] == "attention.decode"; });
  };
  EXPECT_EQ(attentions("128"), 1);
  EXPECT_EQ(attentions("1,128,512,2047"), 3);
  const auto kernels_at = [&](const std::string& option) {
    MgtuneProgram::Words at = words;
    at.insert(at.end(), {"--capacity", "2048", option, "2047", "--json"});
    return run(at).out;
  };
  EXPECT_EQ(kernels_at("--position"), kernels_at("--positions"));
  expect_refused({"show", "kernels", "--model", stories_, "--position", "1", "--positions", "2"}, 2,
                 "exclude each other");
  expect_refused({"show", "program", "--model", stories_, "--positions", "2"}, 2,
                 "--positions is for show kernels");
  expect_refused({"show", "program", "--model", stories_, "--position", "x"}, 2,
                 "--position x: that is not a position");

  const std::string file = program_.folder().file("kernels.jsonl");
  more = {"show", "kernels", "--model", stories_, "--output", file};
  EXPECT_EQ(run(more).exit_code, 0);
  EXPECT_THAT(file_content(file),
              HasSubstr("\"problem\": \"rows=1 columns=64 vocabulary=512 T=bf16 Y=f32\", "
                        "\"launches\": 1}\n"));
  expect_refused({"show", "kernels", "--file", file}, 2, "show kernels needs --model");
  expect_refused({"show", "program", "--model", stories_, "--json"}, 2, "--json is for");
  expect_refused({"show", "kernels", "--model", stories_, "--positions", "600"}, 2, "made for 512");
}

TEST_F(MgengineTest, TuneNeedsResultsOfASweep) {
  const MgtuneProgram::Words words = {"tune", "--model", stories_, "--device", "cpu", "--db"};
  const auto with = [&](const std::string& file) {
    MgtuneProgram::Words all = words;
    all.push_back(file);
    return all;
  };
  expect_refused(with("none.db"), 2,
                 "there is no database none.db: run mgtune sweep --model " + stories_ + " first");
  expect_refused(with(stories_ + "/golden.txt"), 5, "is not a database of results");
}

TEST_F(MgengineTest, ShippedConfigsHaveNames) {
  // As many weights as the model's card says: 1,235,814,400, and the rotary table of 8 positions.
  const Ended ended =
      run({"show", "program", "--model", "llama-3.2-1b", "--capacity", "8", "--dtype", "bf16"});
  EXPECT_EQ(ended.exit_code, 0) << ended;
  std::istringstream lines(ended.out);
  std::uint64_t weights = 0;
  for (std::string word, kind, dtype, name; lines >> word;) {
    std::uint64_t elements = 0;
    if (word == "buffer" && lines >> name >> kind >> dtype >> elements && kind == "weight") {
      weights += elements;
    }
  }
  EXPECT_EQ(weights, 1'235'814'400U + 8 * 64);
  for (const std::string name : {"gpt2", "llama-3.1-8b", "mistral-7b", "qwen2.5-7b"}) {
    EXPECT_EQ(run({"show", "program", "--model", name, "--capacity", "8"}).exit_code, 0) << name;
  }
  expect_refused({"show", "program", "--model", "llama-3.2-2b"}, 5,
                 "no shipped config has this name; did you mean 'llama-3.2-1b'");
}

TEST_F(MgengineTest, WrongWordsAreExplained) {
  expect_refused({"generat"}, 2, "unknown command 'generat'; did you mean 'generate'?");
  expect_refused({"generate"}, 2, "--model is required");
  expect_refused({"generate", "--model", "/nowhere"}, 5, "/nowhere: there is no such model");
  expect_refused({"generate", "--model", stories_, "--way", "magic"}, 2,
                 "it must be one of: auto, graph, steps, reference");
  expect_refused({"generate", "--model", stories_, "--way", "graph", "--device", "cpu"}, 2,
                 "the way 'graph' needs a GPU");
  expect_refused({"generate", "--model", stories_, "--device", "nonsense"}, 2,
                 "no GPU is called 'nonsense'");
  expect_refused({"generate", "--model", stories_, "--way", "reference", "--device", "cpu"}, 2,
                 "the way reference runs on the host and uses no device, but the device 'cpu'");
  expect_refused({"generate", "--model", stories_, "--dtype", "fp16"}, 2, "did you mean 'f16'");
  expect_refused({"generate", "--model", stories_, "--temperature", "-1"}, 2,
                 "a number from 0 to 100");
  expect_refused({"generate", "--model", stories_, "--tokens", "0"}, 2, "an integer from 1 to");
  expect_refused({"generate", "--model", stories_, "--tokens", "600"}, 2,
                 "the model was made for 512");
  expect_refused({"generate", "--model", model_path("gpt2")}, 2,
                 "there is no tokenizer beside the model");
  expect_refused({"generate", "--model", model_path("gpt2"), "--tokenizer",
                  model_path("tokenizers/gpt2/tokenizer.json")},
                 5, "it has 360 tokens, but the model has 96");
  expect_refused({"bench", "--model", stories_, "--positions", "1,x"}, 2, "'x' is not a position");
  expect_refused({"bench", "--model", stories_, "--positions", "512"}, 2,
                 "room for 513 positions: the model was made for 512");
  for (const std::string command : {"generate", "verify", "bench"}) {
    expect_refused({command, "--model", "llama-3.2-1b"}, 5,
                   "llama-3.2-1b: this is a shipped config and has no weights");
  }
  expect_refused({"generate", "--model", stories_, "--top-p", "0"}, 2, "--top-p 0 keeps no token");
  expect_refused({"generate", "--model", stories_, "--prompt", std::string(2000, 'x')}, 2,
                 "but the model was made for 512: shorten the prompt");
  expect_refused({"bench", "--model", model_path("gpt2/config.json")}, 2,
                 "a model is a folder with config.json");
  expect_refused({"show", "model"}, 2, "it must be one of: program");
  expect_refused({"show", "program"}, 2, "either --model PATH or --file FILE");
  expect_refused({"show", "program", "--model", stories_, "--position", "512"}, 2,
                 "room for 512 positions");
}

TEST_F(MgengineTest, AConfigThatLiesNamesFileLineAndField) {
  const std::string folder = program_.folder().file("model");
  std::filesystem::copy(model_path("llama"), folder);
  std::string config = file_content(folder + "/config.json");
  const std::string from = "\"num_hidden_layers\": 2";
  config.replace(config.find(from), from.size(), "\"num_hidden_layers\": \"two\"");
  std::ofstream(folder + "/config.json") << config;
  expect_refused({"generate", "--model", folder}, 5, "config.json");
  expect_refused({"generate", "--model", folder}, 5, "/num_hidden_layers: expected an integer");
}

TEST_F(MgengineTest, DamagedFilesOfAModelHaveAnExitCodeOfTheirOwn) {
  const std::string folder = program_.folder().file("model");
  std::filesystem::copy(model_path("llama"), folder);
  std::ofstream(folder + "/model.safetensors.index.json") << "{";
  expect_refused({"generate", "--model", folder}, 5, "model.safetensors.index.json: line 1");
  const std::string llama2c = program_.folder().file("a.bin");
  std::string bytes = file_content(stories_ + "/stories260K.bin");
  bytes[4 * 4] = 5;
  std::ofstream(llama2c, std::ios::binary) << bytes;
  expect_refused({"generate", "--model", llama2c}, 5, "n_heads 8 is no multiple of n_kv_heads 5");
}

}  // namespace
}  // namespace mgtune::engine
