// Wrong words and broken files, over all commands: each is refused with a message and the right
// exit code. Nothing crashes, hangs, or prints a result. No command here compiles a kernel.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "database/database.h"
#include "tests/helpers/mgtune_program.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// One line of bad_inputs.json. '@' in the command stands for the folder of the broken files.
struct BadInput {
  MgtuneProgram::Words command;
  int exit_code = 0;
  MgtuneProgram::Words words;    // all of them are in the message
  MgtuneProgram::Words without;  // none of them is
};

std::vector<BadInput> bad_inputs() {
  std::vector<BadInput> inputs;
  for (const auto& entry :
       nlohmann::json::parse(file_content(source_path("tests/cli/bad_inputs.json")))) {
    inputs.push_back({entry["command"], entry["exit"], entry["words"],
                      entry.value("without", MgtuneProgram::Words())});
  }
  return inputs;
}

// What a command may take of a core. Each takes less than a second.
constexpr std::chrono::seconds kMostCpuTime{10};

std::chrono::seconds cpu_time_of_children() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  return std::chrono::seconds(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec);
}

class CliHostileInputTest : public ::testing::Test {
 protected:
  CliHostileInputTest() {
    std::filesystem::create_directory(in_);
    std::filesystem::copy(source_path("tests/families/vector_add"), in_ + "/add");
    const std::string deep(100'000, '[');
    std::filesystem::copy(source_path("results/h200/nvidia-h200.rmsnorm.forward.tuned.json"),
                          in_ + "/h200.json");
    write("empty", "");
    write("brace.json", "{");
    write("list.json", "[]");
    write("deep.json", deep);
    write("number.json", "1e999");
    write("time.json", R"({"timestamp": 18446744073709551616})");
    write("nul.json", std::string("{\"a\":\0}", 7));
    write("bytes.json", "\xff\xfe\xff\xfe");
    write("twice.json", R"({"format": 1, "format": 2})");
    write("gzip.json.gz", std::string("\x1f\x8b\x08\x00garbage", 11));
    write("text.db", "no database");
    write("magic.db", std::string("SQLite format 3\0 and no more", 28));
    write("table.tuned.json", R"({"format": 99})");
    write("lines.csv", "a,b\n1\n\"\n");
    write("shapes.json", R"({"model": "m", "tokens": [0]})");
    const auto other = Database::open(in_ + "/other.db", Database::Access::create).value();
    EXPECT_TRUE(other->execute("CREATE TABLE t(a)").ok());
    std::filesystem::create_directory(in_ + "/none_family");
    write("blank_family/op.json", "");
    write("brace_family/op.json", "{");
    write("list_family/op.json", "[]");
    write("deep_family/op.json", deep);
    write("extends_family/op.json", R"({"extends": "op.json"})");
    write("format_family/op.json", R"({"format": 99})");
    write("number_family/op.json", R"({"format": 1e400})");
    std::string mistakes = file_content(in_ + "/add/add.json");
    mistakes = replaced(mistakes, R"("fill": "normal")", R"("fill": "norml")");
    mistakes = replaced(mistakes, R"("flops": "n")", R"("flops": "m")");
    mistakes = replaced(mistakes, R"(["x", "y", "z", "n:i64"])", R"(["x", "yy", "z", "n:int"])");
    write("mistakes_family/add.json", mistakes);
  }

  void write(const std::string& name, const std::string& content) const {
    const std::string path = in_ + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << content;
  }

  MgtuneProgram::Words in_this_folder(MgtuneProgram::Words words) const {
    for (std::string& word : words) {
      if (word.starts_with('@')) word.replace(0, 1, in_);
    }
    return words;
  }

  // Every file with its content.
  std::vector<std::pair<std::string, std::string>> files() const {
    std::vector<std::pair<std::string, std::string>> all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(in_)) {
      if (entry.is_regular_file()) all.emplace_back(entry.path(), file_content(entry.path()));
    }
    std::ranges::sort(all);
    return all;
  }

  void expect_refused(const BadInput& input) {
    // The profiler's library cannot be loaded under a sanitizer.
    const bool is_sanitized = !std::string_view(MGTUNE_SANITIZE).empty();
    const bool loads_profiler = std::ranges::find(input.command, "--chip") != input.command.end();
    if (is_sanitized && loads_profiler) return;
    const std::string typed = ::testing::PrintToString(input.command);
    const std::chrono::seconds before = cpu_time_of_children();
    mgtune_.start(in_this_folder(input.command));
    const bool ended = !mgtune_.wait_until([] { return false; }) && !mgtune_.runs();
    EXPECT_TRUE(ended) << typed << " does not end";
    const Ended result = mgtune_.finish(ended ? 0 : SIGKILL);
    EXPECT_FALSE(result.by_signal) << typed << ' ' << result;
    EXPECT_EQ(result.exit_code, input.exit_code) << typed << ' ' << result;
    for (const std::string& word : input.words) EXPECT_THAT(result.err, HasSubstr(word)) << typed;
    for (const std::string& word : input.without) {
      EXPECT_THAT(result.err, Not(HasSubstr(word))) << typed;
    }
    EXPECT_TRUE(result.err.starts_with("mgtune: ")) << typed << ' ' << result;
    EXPECT_THAT(result.out, IsEmpty()) << typed;
    EXPECT_LE(cpu_time_of_children() - before, kMostCpuTime) << typed;
  }

  const TestFolder cache_;
  MgtuneProgram mgtune_{cache_.path()};
  const std::string in_ = mgtune_.folder().file("in");
};

// The table is run in parts, so that CTest can run them side by side.
constexpr std::size_t kParts = 4;

class CliBadInputTableTest : public CliHostileInputTest,
                             public ::testing::WithParamInterface<std::size_t> {};

TEST_P(CliBadInputTableTest, EachIsRefusedAndTheFilesStayAsTheyAre) {
  const auto before = files();
  const std::vector<BadInput> inputs = bad_inputs();
  for (std::size_t i = GetParam(); i < inputs.size(); i += kParts) expect_refused(inputs[i]);
  EXPECT_EQ(files(), before);
}

INSTANTIATE_TEST_SUITE_P(Parts, CliBadInputTableTest, ::testing::Range<std::size_t>(0, kParts));

TEST_F(CliHostileInputTest, TheTableHasManyInputsAndEachOnce) {
  const std::vector<BadInput> inputs = bad_inputs();
  EXPECT_GE(inputs.size(), 150U);
  std::set<MgtuneProgram::Words> commands;
  for (const BadInput& input : inputs) {
    EXPECT_TRUE(commands.insert(input.command).second) << ::testing::PrintToString(input.command);
    EXPECT_FALSE(input.words.empty()) << ::testing::PrintToString(input.command);
    EXPECT_NE(input.exit_code, 0) << ::testing::PrintToString(input.command);
  }
}

TEST_F(CliHostileInputTest, BytesThatAreNoTextAreRefused) {
  expect_refused({{"sweep\xff"}, 2, {"unknown command"}, {}});
}

}  // namespace
}  // namespace mgtune
