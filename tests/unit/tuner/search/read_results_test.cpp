// What an import takes, and what it refuses: a file is data of strangers.

#include <gmock/gmock.h>

#include <random>

#include "core/gzip.h"
#include "exchange/read_document.h"
#include "tests/helpers/exchange_fixture.h"
#include "tests/helpers/recordings.h"
#include "tests/helpers/replaced.h"

namespace mgtune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// One file, whatever its name.
class OneFile final : public FileSystem {
 public:
  explicit OneFile(std::string content) : content_(std::move(content)) {}

  Result<std::string> read_file(const std::string& /*path*/) override { return content_; }
  Status write_file(const std::string& /*path*/, std::string_view /*content*/) override {
    return unsupported("write");
  }
  Status create_directories(const std::string& /*path*/, unsigned /*mode*/) override {
    return unsupported("create");
  }
  Status remove(const std::string& /*path*/) override { return unsupported("remove"); }
  bool is_directory(const std::string& /*path*/) override { return false; }
  bool exists(const std::string& /*path*/) override { return true; }
  Result<std::vector<std::string>> list_files(const std::string& /*directory*/) override {
    return unsupported("list");
  }

 private:
  std::string content_;
};

class ReadResultsTest : public ExchangeTest {
 protected:
  Result<std::vector<ImportedSweep>> read_from_memory(std::string content) {
    OneFile file(std::move(content));
    return read_results(file, {"import.json"}, catalog_, "mgtune import");
  }

  void SetUp() override {
    ExchangeTest::SetUp();
    Store store = open();
    fill(store);
    tuned_ = exported(store, "tuned").front().content;
    t4_ = exported(store, "t4").back().content;
    cache_ = exported(store, "kernel-tuner").back().content;
  }

  void expect_refused(std::string_view content, const std::string& message) {
    const auto sweeps = read_text(content);
    ASSERT_FALSE(sweeps.ok()) << "expected: " << message;
    EXPECT_EQ(sweeps.status().code(), StatusCode::corrupt) << sweeps.status().message();
    EXPECT_THAT(sweeps.status().message(),
                AllOf(HasSubstr(folder_.file("import.json")), HasSubstr(message)));
  }

  std::string tuned_, t4_, cache_;
};

TEST_F(ReadResultsTest, ATunedTable) {
  const auto sweeps = read_text(tuned_);
  ASSERT_TRUE(sweeps.ok()) << sweeps.status().message();
  ASSERT_EQ(sweeps->size(), 1U);
  const ImportedSweep& sweep = sweeps->front();
  EXPECT_EQ(gpu_text(sweep.gpu), gpu_text(kH200Record));
  EXPECT_EQ(sweep.environment.compiler, "NVRTC 12.8");
  EXPECT_EQ(sweep.measured_at, "2026-11-21T10:00:00Z");
  EXPECT_EQ(sweep.command, "mgtune import");
  EXPECT_TRUE(sweep.outcomes.empty());
  ASSERT_EQ(sweep.picks.size(), 2U);
  const TunedView& pick = sweep.picks[1];
  EXPECT_EQ(pick.op, "pair.add");
  EXPECT_EQ(pick.problem, "n=1000 T=f32");
  EXPECT_EQ(pick.bytes, 8000);
  EXPECT_EQ(pick.tuned.variant, "flat THREADS=64 LOAD=bulk");
  EXPECT_EQ(pick.tuned.default_variant, "flat THREADS=32 LOAD=plain");
  EXPECT_EQ(pick.tuned.median_ns, 401.25);
  EXPECT_EQ(pick.tuned.default_median_ns, 512.5);
  EXPECT_FALSE(pick.tuned.tie);
  EXPECT_EQ(pick.tuned.build_sha256, std::string(64, 'a'));
}

TEST_F(ReadResultsTest, BothRecordingsSayTheSame) {
  for (const std::string& text : {t4_, cache_}) {
    const auto sweeps = read_text(text);
    ASSERT_TRUE(sweeps.ok()) << sweeps.status().message();
    std::vector<std::string> rows;
    for (const ImportedSweep& sweep : *sweeps) {
      for (const ImportedOutcome& row : sweep.outcomes) {
        rows.push_back(row.variant + " " + std::string(to_string(row.outcome)));
        if (row.outcome != Outcome::raced_out) continue;
        EXPECT_EQ(row.measurement->median_ns, 2000.0 / 3);  // to the last bit
        EXPECT_EQ(row.measurement->min_ns, 2000.0 / 3 - 1);
        EXPECT_EQ(row.measurement->samples, 31);
        EXPECT_EQ(row.measurement->note, "stopped \"early\"");
        EXPECT_EQ(row.measurement->method, "rotating");
      }
    }
    EXPECT_THAT(rows, ::testing::UnorderedElementsAre(
                          "flat THREADS=32 LOAD=plain ok", "flat THREADS=64 LOAD=bulk ok",
                          "flat THREADS=128 LOAD=plain wrong",
                          "tiled TILE=8 ASYNC=false THREADS=64 timeout",
                          "tiled TILE=8 ASYNC=true THREADS=64 raced_out",
                          "tiled TILE=16 ASYNC=true THREADS=64 compile_failed"));
  }
}

TEST_F(ReadResultsTest, ImportedAndExportedAgainEveryFormatIsTheSame) {
  for (const char* format : {"tuned", "kernel-tuner", "t4"}) {
    Store store = open();
    std::vector<std::string> paths;
    const std::vector<Document> documents = exported(store, format);
    for (const Document& document : documents) {
      paths.push_back(write(document.name, document.content));
    }
    const auto sweeps = read(paths);
    ASSERT_TRUE(sweeps.ok()) << sweeps.status().message();
    Store other =
        Store::open(folder_.file(std::string(format) + ".db"), Store::Mode::read_write).value();
    const auto counts = other.import_results(*sweeps);
    ASSERT_TRUE(counts.ok()) << counts.status().message();
    const std::vector<Document> again = exported(other, format);
    ASSERT_EQ(again.size(), documents.size());
    for (std::size_t i = 0; i < again.size(); ++i) {
      EXPECT_EQ(again[i].name, documents[i].name);
      // What a copy takes is each machine's own: the one thing of a table that is not kept.
      const std::string of_copy = "\"of_copy\": 0.9968847352024922, ";
      const bool has_it = documents[i].content.find(of_copy) != std::string::npos;
      EXPECT_EQ(has_it, std::string(format) == "tuned");
      EXPECT_EQ(again[i].content,
                has_it ? replaced(documents[i].content, of_copy, "") : documents[i].content);
    }
    // A second time there is nothing new.
    const auto twice = other.import_results(*sweeps);
    EXPECT_EQ(twice->picks + twice->outcomes, 0);
    EXPECT_EQ(twice->known, counts->picks + counts->outcomes + counts->known);
  }
}

TEST_F(ReadResultsTest, GzippedToo) {
  EXPECT_TRUE(read_text(gzip(tuned_).value()).ok());
  expect_refused(gzip(tuned_)->substr(0, 100), "cut short");
}

TEST_F(ReadResultsTest, WhatOthersRecordedIsForSimulate) {
  for (const std::string_view text : {kKernelTunerCache, kT4Results}) {
    expect_refused(text, "'mgtune simulate --space' reads it");
  }
  expect_refused("[]", "expected what 'mgtune export' writes");
  expect_refused("{}", "expected what 'mgtune export' writes");
  expect_refused(R"({"format": 1, "picks": []})", "expected what 'mgtune export' writes");
  EXPECT_EQ(read({folder_.file("none.json")}).status().code(), StatusCode::io);
}

TEST_F(ReadResultsTest, NamesThatAreNotOffered) {
  const auto refused = [&](const std::string& from, const std::string& to,
                           const std::string& message) {
    expect_refused(replaced(tuned_, from, to), message);
  };
  refused("pair.add", "pair.ad", "/tables/0/operator: unknown operator 'pair.ad'");
  refused("pair.add", "/etc/passwd.x", "unknown operator");
  refused("n=64 T=f32", "n=64",
          "/tables/0/picks/0/problem: pair.add needs `T`: add it to the problem");
  refused("n=64 T=f32", "n=-1 T=f32", "n: -1 is negative");
  refused("n=64 T=f32", "n=64 T=f32 m=1", "unknown name 'm'");
  refused("\"design\": \"flat\"", "\"design\": \"fla\"",
          "/tables/0/picks/0/design: pair.add has no design 'fla'; did you mean 'flat'?");
  refused("\"THREADS\": 32", "\"THREADS\": 33",
          "/tables/0/picks/0/parameters: THREADS: '33' is not one of 32, 64, 128");
  refused("\"THREADS\": 32", "\"THREADS\": 32.5", "expected integer, boolean or identifier");
  refused("\"THREADS\": 32", "\"THREADS\": \"32\"", "expected a C identifier");
  refused("\"THREADS\": 32", "\"THREADS\": true", "'true' is not one of");
  refused("\"THREADS\": 32", "\"N\": 32", "no parameter 'THREADS'");
  refused("\"plain\"", "\"plain>; evil<\"", "expected a C identifier");
}

TEST_F(ReadResultsTest, NumbersThatNothingMeasures) {
  const auto refused = [&](const std::string& from, const std::string& to,
                           const std::string& message) {
    expect_refused(replaced(tuned_, from, to), message);
  };
  refused("401.25", "NaN", "line ");
  refused("401.25", "1e999", "import.json");
  refused("401.25", "-401.25", "/tables/0/picks/1/median_ns: expected a number above 0, got -401");
  refused("401.25", "0", "expected a number above 0");
  refused("401.25", "null", "expected number");
  refused("512.5", "-1", "/tables/0/picks/1/default/median_ns");
  refused("\"tie\": false", "\"tie\": true", "a tie goes to the default");
  refused("\"tie\": false", "\"tie\": 0", "expected boolean");
  refused("\"sm_count\": 132", "\"sm_count\": -1", "/tables/0/gpu/sm_count");
  const auto newer = read_text(replaced(tuned_, "\"format\": 1", "\"format\": 2"));
  EXPECT_EQ(newer.status().code(), StatusCode::incompatible);
  EXPECT_THAT(newer.status().message(), HasSubstr("/format: format 2 is newer than this mgtune"));
  refused("\"rotating\"", "\"emulation\"", "/method: expected a method of timing on a GPU");
  refused("\"emulation\": false", "\"emulation\": true", "/method: expected \"emulation\"");
  refused("2026-11-21T10:00:00Z", "yesterday", "/measured_at: expected a time in UTC");
  refused(std::string(64, 'a'), std::string(63, 'a') + "A", "/build_sha256: expected a SHA-256");
  refused("NVIDIA H200", "NVIDIA\\u001bH200", "/gpu/model: expected printable text");
  refused("NVIDIA H200", std::string(2000, 'x'), "at most 1,000 bytes");
  refused("\"operator\"", "\"kernel\": \"evil<1>\", \"operator\"", "unknown key 'kernel'");
  refused("\"tie\"", "\"options\": \"-D\", \"tie\"", "unknown key 'options'");
}

TEST_F(ReadResultsTest, WhatStandsThereTwice) {
  const std::string line = tuned_.substr(tuned_.find("        {\"problem\": \"n=64"));
  const std::string first = line.substr(0, line.find('\n') + 1);
  expect_refused(replaced(tuned_, first, first + first),
                 "pair.add n=64 T=f32 by rotating stands there twice");
  const std::string a = write("a.json", tuned_);
  const std::string b = write("b.json", tuned_);
  EXPECT_THAT(read({a, b}).status().message(), HasSubstr(b + ": pair.add n=64 T=f32"));
  EXPECT_THAT(read({a, b}).status().message(), HasSubstr("stands in " + a + " too"));
  EXPECT_THAT(read({a, a}).status().message(), HasSubstr("twice"));
  const std::string result = t4_.substr(t4_.find("{\"timestamp\""));
  const std::string row = result.substr(0, result.find('\n') + 1);
  expect_refused(replaced(t4_, row, row + row), "stands there twice");
}

TEST_F(ReadResultsTest, RecordingsThatContradictThemselves) {
  const auto refused = [&](const std::string& text, const std::string& from, const std::string& to,
                           const std::string& message) {
    expect_refused(replaced(text, from, to), message);
  };
  refused(cache_, "\"kernel_name\": \"pair.add\"", "\"kernel_name\": \"x\"",
          "/kernel_name: expected what /mgtune says, pair.add");
  refused(cache_, "\"device_name\": \"NVIDIA H200\"", "\"device_name\": \"x\"", "/device_name");
  refused(cache_, "\"flat,32,plain,", "\"flat,64,plain,", "stands under other values");
  refused(cache_, "\"time\": 0.0005125", "\"time\": 0.0005126", "is not \"median_ns\"");
  refused(cache_, "\"__error__\": \"RuntimeFailedConfig\", ", "",
          "a failure without \"__error__\"");
  refused(cache_, "\"__error__\": \"RuntimeFailedConfig\"", "\"__error__\": \"InvalidConfig\"",
          "expected what the \"outcome\" says");
  refused(cache_, "\"outcome\": \"wrong\"", "\"outcome\": \"ok\"", "needs \"time\"");
  refused(cache_, "\"tune_params_keys\": [\"design\", ",
          "\"tune_params_keys\": [\"X\", \"design\", ", "pair.add has no parameter 'X'");
  refused(t4_, "\"invalidity\": \"correctness\"", "\"invalidity\": \"correct\"",
          "/invalidity: expected what the \"outcome\" says");
  refused(t4_, "\"value\": \"wrong\"", "\"value\": \"rong\"", "expected an outcome");
  refused(t4_, "{\"name\": \"origin\", \"value\": 0", "{\"name\": \"origin\", \"value\": 1",
          "expected one of the file's origins");
  refused(t4_, "{\"name\": \"origin\", \"value\": 0", "{\"name\": \"origin\", \"value\": -1",
          "expected one of the file's origins");
  refused(t4_, "\"samples\", \"value\": 31", "\"samples\", \"value\": 0", "an integer from 1");
  refused(t4_, "\"configuration\": {\"design\": ", "\"configuration\": {\"N\": 1, \"design\": ",
          "pair.add has no parameter 'N'");
  refused(t4_, "\"method\": \"rotating\"", "\"method\": \"emulation\"", "/metadata/mgtune/method");
}

// Of a file that is cut anywhere nothing is taken, and nothing crashes.
TEST_F(ReadResultsTest, EveryTruncation) {
  for (const std::string& text : {tuned_, t4_, cache_}) {
    for (std::size_t size = 0; size + 2 < text.size(); ++size) {
      const auto sweeps = read_from_memory(text.substr(0, size));
      ASSERT_FALSE(sweeps.ok()) << size;
      ASSERT_EQ(sweeps.status().code(), StatusCode::corrupt) << size;
    }
    EXPECT_TRUE(read_from_memory(text).ok());
  }
}

TEST_F(ReadResultsTest, RandomDamage) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 3000; ++i) {
    std::string text = i % 3 == 0 ? tuned_ : i % 3 == 1 ? t4_ : cache_;
    for (std::uint64_t edits = 1 + random() % 3; edits > 0; --edits) {
      const std::size_t place = random() % text.size();
      const std::size_t length = std::min<std::size_t>(text.size() - place, 1 + random() % 20);
      switch (random() % 3) {
        case 0:
          text.erase(place, length);
          break;
        case 1:
          text.insert(random() % text.size(), std::string(text, place, length));
          break;
        default:
          text[place] = static_cast<char>(random() % 256);
      }
    }
    const auto sweeps = read_from_memory(text);
    if (sweeps.ok()) continue;
    const StatusCode code = sweeps.status().code();
    EXPECT_TRUE(code == StatusCode::corrupt || code == StatusCode::incompatible)  // a newer format
        << sweeps.status().message();
    EXPECT_THAT(sweeps.status().message(), HasSubstr("import.json"));
  }
}

}  // namespace
}  // namespace mgtune
