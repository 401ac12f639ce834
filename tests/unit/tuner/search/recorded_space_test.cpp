#include "exchange/recorded_space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <fstream>

#include "core/gzip.h"
#include "exchange/read_document.h"
#include "tests/helpers/recordings.h"
#include "tests/helpers/replaced.h"
#include "tests/helpers/test_folder.h"

namespace mgtune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class RecordedSpaceTest : public ::testing::Test {
 protected:
  Result<RecordedSpace> read(std::string_view content) const {
    std::ofstream(file_, std::ios::binary) << content;
    return read_recorded_space(FileSystem::real(), file_);
  }

  void expect_corrupt(std::string_view content, const ::testing::Matcher<std::string>& message) {
    const Result<RecordedSpace> space = read(content);
    ASSERT_FALSE(space.ok()) << content.substr(0, 200);
    EXPECT_EQ(space.status().code(), StatusCode::corrupt);
    EXPECT_THAT(space.status().message(), AllOf(HasSubstr(file_), message));
  }

  const TestFolder folder_;
  const std::string file_ = folder_.file("space.json");
};

std::vector<std::string> texts(const RecordedParameter& parameter) {
  std::vector<std::string> texts;
  for (const RecordedValue& value : parameter.values) texts.push_back(value.text);
  return texts;
}

TEST_F(RecordedSpaceTest, ReadsAKernelTunerCache) {
  const Result<RecordedSpace> space = read(kKernelTunerCache);
  ASSERT_TRUE(space.ok()) << space.status().message();
  ASSERT_EQ(space->parameters().size(), 3U);
  EXPECT_EQ(space->parameters()[0].name, "block_size_x");
  EXPECT_THAT(texts(space->parameters()[0]), ::testing::ElementsAre("32", "128"));
  EXPECT_THAT(texts(space->parameters()[1]), ::testing::ElementsAre("bulk", "copy"));
  EXPECT_THAT(texts(space->parameters()[2]), ::testing::ElementsAre("false", "true"));
  EXPECT_TRUE(space->axes(0)[0].ordered);
  EXPECT_FALSE(space->axes(0)[1].ordered);
  EXPECT_THAT(space->axes(0)[0].numbers, ::testing::ElementsAre(32, 128));
  EXPECT_THAT(space->axes(0)[1].numbers, ::testing::IsEmpty());
  EXPECT_THAT(space->axes(0)[2].numbers, ::testing::ElementsAre(0, 1));
  EXPECT_THAT(space->times(), ::testing::ElementsAre(0, 3, 0, 1.5));
  EXPECT_EQ(space->time({0, {1, 1, 1}}), 1.5);
  EXPECT_TRUE(space->admits({0, {0, 0, 1}}));
  EXPECT_FALSE(space->admits({0, {0, 0, 0}}));
  for (std::uint64_t i = 0; i < space->size(); ++i) EXPECT_EQ(space->index(space->point(i)), i);
}

TEST_F(RecordedSpaceTest, T4SaysTheSame) {
  const RecordedSpace cache = read(kKernelTunerCache).value();
  const Result<RecordedSpace> t4 = read(kT4Results);
  ASSERT_TRUE(t4.ok()) << t4.status().message();
  EXPECT_EQ(t4->times(), cache.times());
  for (std::uint64_t i = 0; i < cache.size(); ++i) EXPECT_EQ(t4->point(i), cache.point(i));
}

TEST_F(RecordedSpaceTest, OldFailuresAndCachesThatWereNotClosed) {
  const std::string text(kKernelTunerCache);
  const RecordedSpace old = read(replaced(text, "\"time\": 3,", "\"time\": 1e20,")).value();
  EXPECT_THAT(old.times(), ::testing::ElementsAre(0, 0, 0, 1.5));
  const std::string open = text.substr(0, text.find("\n\"128,bulk,False\""));
  EXPECT_EQ(read(open + " \n").value().size(), 3U);
}

TEST_F(RecordedSpaceTest, ReadsGzip) {
  const Result<RecordedSpace> space = read(kPackedCache);
  ASSERT_TRUE(space.ok()) << space.status().message();
  EXPECT_THAT(space->times(), ::testing::ElementsAre(2.5, 5));
}

TEST_F(RecordedSpaceTest, DamagedGzip) {
  for (std::size_t size = 2; size < kPackedCache.size(); ++size) {
    expect_corrupt(kPackedCache.substr(0, size), ::testing::_);
  }
  for (std::size_t place = 10; place < kPackedCache.size(); ++place) {
    std::string damaged = kPackedCache;
    damaged[place] = static_cast<char>(damaged[place] ^ 0x55);
    expect_corrupt(damaged, ::testing::_);
  }
  expect_corrupt(kPackedCache + "tail", HasSubstr("gzip"));
  expect_corrupt(kPackedCache.substr(0, 30), HasSubstr("cut short"));
}

TEST_F(RecordedSpaceTest, ASmallGzipThatUnpacksToTooMuch) {
  const std::string zeros(3 << 20, '\0');
  std::string packed(compressBound(zeros.size()) + 32, '\0');
  z_stream stream{};
  ASSERT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(zeros.data()));
  stream.avail_in = static_cast<uInt>(zeros.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  ASSERT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  EXPECT_LT(packed.size(), 5000U);
  EXPECT_EQ(gunzip(packed, 4 << 20).value().size(), zeros.size());
  EXPECT_THAT(gunzip(packed, 2 << 20).status().message(), HasSubstr("more than 2 MiB"));
  // Members of one file stand one after the other.
  EXPECT_EQ(gunzip(packed + packed, 8 << 20).value().size(), 2 * zeros.size());
  expect_corrupt(packed, HasSubstr("line 1"));
}

TEST_F(RecordedSpaceTest, MalformedFilesAreNamedWithThePlace) {
  const std::string text(kKernelTunerCache);
  expect_corrupt("", ::testing::_);
  expect_corrupt("not json", HasSubstr("line 1"));
  expect_corrupt("[]", HasSubstr("not a recorded space"));
  expect_corrupt(R"({"cache": {}})", HasSubstr("not a recorded space"));
  expect_corrupt(R"({"tune_params_keys": ["a"], "cache": {}})", HasSubstr("no configuration"));
  expect_corrupt(R"({"results": []})", HasSubstr("no configuration"));
  expect_corrupt(R"({"results": {}})", HasSubstr("/results: expected array"));
  expect_corrupt(R"({"tune_params_keys": ["a"], "cache": {"1": {"a": 1, "time": "Failed"}}})",
                 HasSubstr("no configuration that succeeded"));
  expect_corrupt(text.substr(0, text.size() / 2), HasSubstr("line"));
  expect_corrupt(replaced(text, "\"time\": 3,", "\"time\": NaN,"), HasSubstr("line 8"));
  expect_corrupt(replaced(text, "\"time\": 3,", "\"time\": 1e999,"), ::testing::_);
  expect_corrupt(replaced(text, "\"time\": 3,", "\"time\": -3,"),
                 HasSubstr("/cache/32,copy,True/time: expected a time above 0, got -3"));
  expect_corrupt(replaced(text, "\"time\": 3,", "\"time\": null,"), HasSubstr("expected number"));
  expect_corrupt(replaced(text, "\"time\": 3,", "\"tim\": 3,"), HasSubstr("without \"time\""));
  expect_corrupt(replaced(text, "\"method\": \"copy\"", "\"method\": [1]"),
                 HasSubstr("expected number, boolean or string, got an array"));
  expect_corrupt(replaced(text, "{\"block_size_x\": 32, ", "{"),
                 HasSubstr("without parameter 'block_size_x'"));
  expect_corrupt(replaced(text, "\"32,copy,True\":", "\"128,copy,True\":"),
                 HasSubstr("duplicate key"));
  expect_corrupt(replaced(text, "{\"block_size_x\": 32, \"method\": \"copy\"",
                          "{\"block_size_x\": 128, \"method\": \"copy\""),
                 HasSubstr("twice: block_size_x=128 method=copy padding=true"));
}

TEST_F(RecordedSpaceTest, MalformedT4) {
  const std::string text(kT4Results);
  expect_corrupt(
      replaced(text, "\"name\": \"time\", \"value\": 3", "\"name\": \"t\", \"value\": 3"),
      HasSubstr("no measurement of 'time'"));
  expect_corrupt(replaced(text, "\"value\": 1.5", "\"value\": 0"), HasSubstr("a time above 0"));
  expect_corrupt(replaced(text, "\"configuration\": {\"block_size_x\": 128, \"method\": \"bulk\"",
                          "\"configuration\": {\"block_size_y\": 128, \"method\": \"bulk\""),
                 HasSubstr("no parameter 'block_size_x'"));
  expect_corrupt(replaced(text, "\"method\": \"bulk\", \"padding\": false", "\"method\": \"bulk\""),
                 HasSubstr("other parameters"));
  expect_corrupt(replaced(text, "\"configuration\": {\"block_size_x\": 128, \"method\": \"copy\"",
                          "\"config\": {\"block_size_x\": 128, \"method\": \"copy\""),
                 HasSubstr("without \"configuration\""));
}

TEST_F(RecordedSpaceTest, AMissingFileIsNotADamagedOne) {
  const Status status = read_recorded_space(FileSystem::real(), folder_.file("none.json")).status();
  EXPECT_EQ(status.code(), StatusCode::io);
  EXPECT_THAT(status.message(), HasSubstr("none.json"));
}

}  // namespace
}  // namespace mgtune
