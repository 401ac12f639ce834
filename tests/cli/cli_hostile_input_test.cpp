// Wrong words and broken files, over all commands: each is refused with a message and the right
// exit code. Nothing crashes, hangs, or prints a result. No command here compiles a kernel.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "store/database.h"
#include "tests/helpers/mgtune_program.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// `words` are separated by '|'. '@' stands for the folder of the hostile files.
struct HostileCommand {
  std::string_view words;
  int exit_code;
  std::string_view message;
};

constexpr int kUsage = 2, kEnvironment = 4, kData = 5;

constexpr HostileCommand kHostileWords[] = {
    {"swep", kUsage, "unknown command 'swep'; did you mean 'sweep'?"},
    {"sweep\xff", kUsage, "unknown command"},
    {"--nonsense", kUsage, "unknown option '--nonsense'"},
    {"list|extra", kUsage, "unexpected argument 'extra'"},
    {"list|--kernel", kUsage, "--kernel: 1 required"},
    {"list|--kernel|", kUsage, "--kernel: needs a value"},
    {"list|--kernel|@/nowhere", kUsage, "no folder"},
    {"list|--gpu|-1", kUsage, "no GPU is called '-1'"},
    {"list|--gpu|999999999999999999999", kEnvironment, "999999999999999999999"},
    {"devices|--json|--json=maybe", kUsage, "--json"},
    {"devices|all", kUsage, "unexpected argument 'all'"},
    {"doctor|now", kUsage, "unexpected argument 'now'"},
    {"cache|destroy", kUsage, "unknown word 'destroy'"},
    {"cache|clear|clear", kUsage, "unknown word"},
    {"sweep", kUsage, "--kernel is required"},
    {"sweep|--kernel|@/add|--budget|0", kUsage, "budget '0'"},
    {"sweep|--kernel|@/add|--budget|-5s", kUsage, "budget '-5s'"},
    {"sweep|--kernel|@/add|--budget|nan", kUsage, "budget 'nan'"},
    {"sweep|--kernel|@/add|--budget|1e309s", kUsage, "budget '1e309s'"},
    {"sweep|--kernel|@/add|--budget|10 s", kUsage, "budget '10 s'"},
    {"sweep|--kernel|@/add|--budget|99999999999999h", kUsage, "within a year"},
    {"sweep|--kernel|@/add|--target|1", kUsage, "--target: expected a number between 0 and 1"},
    {"sweep|--kernel|@/add|--target|inf", kUsage, "got 'inf'"},
    {"sweep|--kernel|@/add|--strategy|adaptiv", kUsage, "did you mean 'adaptive'?"},
    {"sweep|--kernel|@/add|--strategy|exhaustive|--target|0.9", kUsage, "visits everything"},
    {"sweep|--kernel|@/add|--seed|-1", kUsage, "--seed: expected an integer"},
    {"sweep|--kernel|@/add|--seed|18446744073709551616", kUsage, "18446744073709551616"},
    {"sweep|--kernel|@/add|--dtype|f33", kUsage, "did you mean 'f32'?"},
    {"sweep|--kernel|@/add|--dtype|,", kUsage, "unknown dtype ''"},
    {"sweep|--kernel|@/add|--gpu|cpu|--method|cold", kUsage, "only one method, emulation"},
    {"sweep|--kernel|@/add|--gpu|cpu|--counters", kUsage, "no hardware counters"},
    {"sweep|--kernel|@/add|--gpu|cpu|--shard|0/0", kUsage, "'0/0' is no shard"},
    {"sweep|--kernel|@/add|--gpu|cpu|--shard|3/2", kUsage, "'3/2' is no shard"},
    {"sweep|--kernel|@/add|--gpu|cpu|--shard|1/99999999999999999999", kUsage, "is no shard"},
    {"sweep|--kernel|@/add|--gpu|cpu|--problem|n", kUsage, "'n' is not of the form name=value"},
    {"sweep|--kernel|@/add|--gpu|cpu|--problem|=4", kUsage, "'=4' is not of the form name=value"},
    {"sweep|--kernel|@/add|--gpu|cpu|--problem|n=4,n=5", kUsage, "n is given twice"},
    {"sweep|--kernel|@/add|--gpu|cpu|--problem|n=-1", kUsage, "-1 is negative"},
    {"sweep|--kernel|@/add|--gpu|cpu|--problem|n=1e3", kUsage, "'1e3' is not a 64-bit integer"},
    {"sweep|--kernel|@/add|--gpu|cpu|--problem|n=9223372036854775807", kUsage,
     "add.json: /tensors"},
    {"show", kUsage, "WHAT is required"},
    {"show|bst", kUsage, "did you mean 'best'?"},
    {"report|--format|pdf", kUsage, "--format pdf: expected html, md, csv or json"},
    {"compare", kUsage, "A is required"},
    {"explain", kUsage, "--kernel is required"},
    {"explain|--kernel|@/add", kUsage, "--problem is required"},
    {"explain|--kernel|rmsnorm.forward|--problem|rows=4", kUsage, "rmsnorm.forward needs `T`"},
    {"export|--format|xml", kUsage, "unknown format 'xml'"},
    {"export|--method|fastest", kUsage, "nothing to export"},
    {"import", kUsage, "FILE is required"},
    {"merge", kUsage, "expected OUT and at least one IN"},
    {"merge|@/out.db", kUsage, "expected OUT and at least one IN"},
    {"pack", kUsage, "--kernel is required"},
    {"pack|--kernel|rmsnorm|--gpu|H2000|-o|@/out", kUsage, "did you mean 'H200'?"},
    {"profile|--tier|3|--kernel|rmsnorm.forward", kUsage, "--tier: expected 1 or 2, got 3"},
    {"profile|--list-metrics|--chip|GX1", kUsage, "unknown chip 'GX1'"},
    {"profile|--kernel|rmsnorm.forward|--gpu|cpu", kEnvironment, "no hardware counters"},
    {"simulate", kUsage, "--space or --kernel is required"},
    {"simulate|--space|@/list.json|--evaluations|0", kUsage, "expected at least 20, got 0"},
    {"simulate|--space|@/list.json|--evaluations|200%", kUsage, "got '200%'"},
    {"simulate|--space|@/list.json|--seeds|0", kUsage, "expected 1 to 100000, got 0"},
    {"simulate|--space|@/list.json|--strategy|genetic", kUsage, "unknown strategy 'genetic'"},
    {"calibrate|--gpu|cpu", kEnvironment, "calibrate needs a GPU"},
    {"calibrate|--gpu|quantum", kUsage, "no GPU is called 'quantum'"},
    {"watch", kUsage, "--db is required"},
    {"worker", kUsage, "KIND is required"},
    {"worker|compile", kUsage, "expected a device"},
    {"worker|compile|{}", kUsage, "not a device to compile for: {}"},
    {"worker|measure|nothing", kUsage, "expected a device's id"},
    {"worker|leave|x|@/text.db", kUsage, "expected an exit code and a database"},
};

constexpr HostileCommand kHostileFiles[] = {
    {"list|--kernel|@/text.db", kUsage, "no folder"},
    {"list|--kernel|@/none_family", kUsage, "no operator file"},
    {"list|--kernel|@/blank_family", kUsage, "op.json: line 1, column 1"},
    {"list|--kernel|@/brace_family", kUsage, "op.json: line 1, column 2"},
    {"list|--kernel|@/list_family", kUsage, "op.json: expected object, got an array"},
    {"list|--kernel|@/deep_family", kUsage, "nested too deeply"},
    {"list|--kernel|@/extends_family", kUsage, "'op.json' extends this file"},
    {"list|--kernel|@/format_family", kUsage, "op.json: missing key"},
    {"list|--kernel|@/number_family", kUsage, "number overflow"},
    {"sweep|--kernel|@/brace_family", kUsage, "op.json: line 1, column 2"},
    {"sweep|--kernel|@/add|--shapes|@/empty", kUsage, "line 1, column 1"},
    {"sweep|--kernel|@/add|--shapes|@/brace.json", kUsage, "line 1, column 2"},
    {"sweep|--kernel|@/add|--shapes|@/shapes.json", kUsage, "missing key 'format'"},
    {"sweep|--kernel|@/add|--shapes|@/bytes.json", kUsage, "bytes.json: line 1"},
    {"sweep|--kernel|@/add|--gpu|cpu|--db|@/text.db", kData, "it is no SQLite file"},
    {"sweep|--kernel|@/add|--gpu|cpu|--db|@/magic.db", kData, "it is no SQLite file"},
    {"sweep|--kernel|@/add|--gpu|cpu|--db|@/other.db", kData, "another program's SQLite file"},
    {"sweep|--kernel|@/add|--gpu|cpu|--db|@/none_family", kData, "is not a file"},
    {"sweep|--kernel|@/add|--gpu|cpu|--db|/dev/null", kData, "/dev/null is not a file"},
    {"sweep|--kernel|@/add|--gpu|cpu|--db|@/text.db/below.db", kData, "Not a directory"},
    {"show|best|--db|@/nowhere.db", kUsage, "there is no database"},
    {"show|best|--db|@/text.db", kData, "it is no SQLite file"},
    {"show|best|--db|@/magic.db", kData, "it is no SQLite file"},
    {"show|best|--db|@/other.db", kData, "another program's SQLite file"},
    {"show|best|--db|/dev/zero", kData, "/dev/zero is not a file"},
    {"show|best|--db|@/none_family", kData, "is not a file"},
    {"report|--db|@/text.db", kData, "it is no SQLite file"},
    {"report|--db|@/nowhere.db", kUsage, "there is no database"},
    {"report|-o|@/nowhere/report.html", kUsage, "No such file or directory"},
    {"report|-o|@/none_family", kData, "Is a directory"},
    {"report|-o|@/other.db", kUsage, "is a database; the report would replace it"},
    {"report|--baseline|@/text.db", kData, "it is no SQLite file"},
    {"compare|@/brace.json|@/list.json", kData, "neither a database of results nor JSON"},
    {"compare|@/empty|@/empty", kData, "neither a database of results nor JSON"},
    {"compare|@/deep.json|@/deep.json", kData, "nested too deeply"},
    {"compare|@/text.db|@/magic.db", kData, "neither a database of results nor JSON"},
    {"explain|--kernel|rmsnorm.forward|--problem|rows=4,hidden=4,T=f32|--db|@/text.db", kData,
     "it is no SQLite file"},
    {"export|--db|@/magic.db", kData, "it is no SQLite file"},
    {"import|@/nowhere.json", kUsage, "No such file or directory"},
    {"import|@/empty", kData, "line 1, column 1"},
    {"import|@/brace.json", kData, "line 1, column 2"},
    {"import|@/list.json", kData, "no results that can be imported"},
    {"import|@/deep.json", kData, "nested too deeply"},
    {"import|@/number.json", kData, "number overflow"},
    {"import|@/nul.json", kData, "nul.json: line 1"},
    {"import|@/bytes.json", kData, "bytes.json: line 1"},
    {"import|@/twice.json", kData, "duplicate key 'format'"},
    {"import|@/time.json", kData, "does not fit into 64 bits"},
    {"import|@/gzip.json.gz", kData, "the gzip data is cut short"},
    {"import|@/table.tuned.json", kData, "no results that can be imported"},
    {"import|@/lines.csv", kData, "lines.csv: line 1"},
    {"import|@/none_family", kData, "Is a directory"},
    {"merge|@/out.db|@/text.db", kData, "it is no SQLite file"},
    {"merge|@/out.db|@/other.db|@/magic.db", kData, "another program's SQLite file"},
    {"pack|--kernel|rmsnorm|--gpu|H200|-o|@/out|--table|@/brace.json", kData, "line 1, column 2"},
    {"pack|--kernel|rmsnorm|--gpu|H200|-o|@/out|--table|@/table.tuned.json", kData,
     "expected a tuned table"},
    {"pack|--kernel|rmsnorm|--gpu|H200|-o|@/out|--db|@/text.db", kData, "it is no SQLite file"},
    {"simulate|--space|@/nowhere.json", kUsage, "No such file or directory"},
    {"simulate|--space|@/empty", kData, "line 1, column 1"},
    {"simulate|--space|@/brace.json", kData, "line 1, column 2"},
    {"simulate|--space|@/deep.json", kData, "nested too deeply"},
    {"simulate|--space|@/time.json", kData, "not a recorded space"},
    {"simulate|--space|@/gzip.json.gz", kData, "the gzip data is cut short"},
    {"simulate|--space|@/bytes.json", kData, "bytes.json: line 1"},
    {"simulate|--kernel|rmsnorm|--db|@/other.db", kData, "another program's SQLite file"},
};

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
  }

  void write(const std::string& name, const std::string& content) const {
    const std::string path = in_ + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << content;
  }

  MgtuneProgram::Words words_of(std::string_view line) const {
    MgtuneProgram::Words words(1);
    for (const char c : line) {
      if (c == '|') {
        words.emplace_back();
      } else if (c == '@') {
        words.back() += in_;
      } else {
        words.back() += c;
      }
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

  void expect_refused(const HostileCommand& command) {
    // The profiler's library cannot be loaded under a sanitizer.
    const bool is_sanitized = !std::string_view(MGTUNE_SANITIZE).empty();
    if (is_sanitized && command.words.starts_with("profile|--list-metrics")) return;
    const std::chrono::seconds before = cpu_time_of_children();
    mgtune_.start(words_of(command.words));
    const bool ended = !mgtune_.wait_until([] { return false; }) && !mgtune_.runs();
    EXPECT_TRUE(ended) << command.words << " does not end";
    const Ended result = mgtune_.finish(ended ? 0 : SIGKILL);
    EXPECT_FALSE(result.by_signal) << command.words << ' ' << result;
    EXPECT_EQ(result.exit_code, command.exit_code) << command.words << ' ' << result;
    EXPECT_THAT(result.err, HasSubstr(std::string(command.message))) << command.words;
    EXPECT_TRUE(result.err.starts_with("mgtune: ")) << command.words << ' ' << result;
    EXPECT_THAT(result.out, IsEmpty()) << command.words;
    EXPECT_LE(cpu_time_of_children() - before, kMostCpuTime) << command.words;
  }

  const TestFolder cache_;
  MgtuneProgram mgtune_{cache_.path()};
  const std::string in_ = mgtune_.folder().file("in");
};

TEST_F(CliHostileInputTest, WrongWordsAreRefused) {
  for (const HostileCommand& command : kHostileWords) expect_refused(command);
}

TEST_F(CliHostileInputTest, BrokenFilesAreRefusedAndStayAsTheyAre) {
  const auto before = files();
  for (const HostileCommand& command : kHostileFiles) expect_refused(command);
  EXPECT_EQ(files(), before);
}

}  // namespace
}  // namespace mgtune
