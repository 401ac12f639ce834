// The words that mgtune takes and what it says of wrong ones. Nothing here compiles a kernel.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "build/build_cache.h"
#include "cli/command.h"
#include "core/sha256.h"
#include "tests/helpers/mgtune_program.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

const std::string kVectorAdd = source_path("tests/families/vector_add");

class CliUsageTest : public ::testing::Test {
 protected:
  void expect_refused(const MgtuneProgram::Words& words, int exit_code,
                      const ::testing::Matcher<std::string>& message) {
    mgtune::expect_refused(mgtune_.run(words), exit_code, message);
  }

  // vector_add with `from` in its operator file replaced.
  std::string edited_family(const std::string& from, const std::string& to) {
    const std::string family = mgtune_.folder().file("edited");
    std::filesystem::remove_all(family);
    std::filesystem::copy(kVectorAdd, family);
    replace_in_file(family + "/add.json", from, to);
    return family;
  }

  void expect_file_refused(const std::string& from, const std::string& to,
                           const ::testing::Matcher<std::string>& message) {
    const std::string family = edited_family(from, to);
    expect_refused({"sweep", "--gpu", "cpu", "--kernel", family}, 2,
                   AllOf(HasSubstr("add.json: /"), message));
  }

  const TestFolder cache_;
  MgtuneProgram mgtune_{cache_.path()};
};

TEST_F(CliUsageTest, WithoutWordsItSaysHowToStart) {
  const Ended ended = mgtune_.run({});
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_THAT(ended.out, AllOf(HasSubstr("mgtune sweep rmsnorm"), HasSubstr("doctor"),
                               Not(HasSubstr("worker"))));
  EXPECT_THAT(ended.err, IsEmpty());
}

TEST_F(CliUsageTest, VersionAndHelp) {
  for (const char* word : {"--version", "-V"}) {
    EXPECT_THAT(mgtune_.run({word}).out, StartsWith("mgtune 0.")) << word;
  }
  EXPECT_EQ(mgtune_.run({"help"}).out, mgtune_.run({"--help"}).out);
  const std::string overview = mgtune_.run({"--help"}).out;
  for (const auto& [name, summary, command] : make_commands()) {
    const Ended ended = mgtune_.run({name, "--help"});
    EXPECT_EQ(ended.exit_code, 0) << ended;
    EXPECT_EQ(mgtune_.run({"help", name}).out, ended.out);
    EXPECT_EQ(overview.find("\n  " + name + " ") == std::string::npos, command->hidden()) << name;
    EXPECT_EQ(ended.out.find("Example") == std::string::npos, command->hidden()) << name;
  }
  EXPECT_THAT(mgtune_.run({"sweep", "--help"}).out,
              HasSubstr("compiled and run as native code with your rights"));
}

// The examples of `--help` work as they stand.
TEST_F(CliUsageTest, TheFilesThatHelpNamesExist) {
  int named = 0;
  for (const auto& [name, summary, command] : make_commands()) {
    std::istringstream words(mgtune_.run({name, "--help"}).out);
    for (std::string word; words >> word;) {
      if (!word.starts_with("results/") || !word.ends_with(".json")) continue;
      ++named;
      EXPECT_TRUE(std::filesystem::exists(source_path(word))) << name << ": " << word;
    }
  }
  EXPECT_GT(named, 0);
}

// The words between the quotes and blanks of a command line.
MgtuneProgram::Words shell_words(const std::string& line) {
  MgtuneProgram::Words words;
  bool is_quoted = false;
  bool is_word = false;
  for (const char c : line) {
    if (c == '\'' || c == '"') {
      is_quoted = !is_quoted;
    } else if (c == ' ' && !is_quoted) {
      is_word = false;
      continue;
    } else {
      if (!is_word) words.emplace_back();
      words.back() += c;
      is_word = true;
      continue;
    }
    if (!is_word) words.emplace_back();
    is_word = true;
  }
  return words;
}

// Every example of every help text is a command that exists, with options that exist. The kernels
// of `sweep` and `list` exist too.
TEST_F(CliUsageTest, TheExamplesOfHelpAreCommands) {
  int examples = 0;
  for (const auto& [name, summary, command] : make_commands()) {
    std::istringstream details(command->details());
    for (std::string line; std::getline(details, line);) {
      const std::size_t start = line.find("mgtune " + name);
      const bool is_example = line.starts_with("  ") || line.starts_with("Example: ");
      if (!is_example || start == std::string::npos) continue;
      ++examples;
      std::string typed = line.substr(start);
      typed = typed.substr(0, typed.find_first_of("|>"));
      const MgtuneProgram::Words words = shell_words(typed);
      std::vector<const char*> argv;
      for (const std::string& word : words) argv.push_back(word.c_str());
      const Commands fresh = make_commands();
      const Result<Command*> parsed = parse(static_cast<int>(argv.size()), argv.data(), fresh);
      EXPECT_TRUE(parsed.ok()) << typed << ": " << parsed.status().message();
      const bool is_of_ours =
          typed.find("path/to") != std::string::npos || typed.find(".jsonl") != std::string::npos;
      if (name != "sweep" || is_of_ours) continue;
      MgtuneProgram::Words tried(words.begin() + 1, words.end());
      tried.insert(tried.end(), {"--dry-run", "--json"});
      if (typed.find("--gpu") == std::string::npos) tried.insert(tried.end(), {"--gpu", "cpu"});
      const Ended ended = mgtune_.run(tried);
      EXPECT_EQ(ended.exit_code, 0) << typed << ended;
    }
  }
  EXPECT_GE(examples, 20);
}

TEST_F(CliUsageTest, KernelsAreNamedInManyWays) {
  for (const std::string& word : {kVectorAdd, kVectorAdd + "/", kVectorAdd + ".add",
                                  kVectorAdd + "/add", kVectorAdd + "/add.json"}) {
    for (const MgtuneProgram::Words& words :
         {MgtuneProgram::Words{"list", "--json", word}, {"list", "--json", "--kernel", word}}) {
      const Ended ended = mgtune_.run(words);
      ASSERT_EQ(ended.exit_code, 0) << ended;
      EXPECT_EQ(ended.json()["designs"][0]["operator"], "vector_add.add") << word;
    }
  }
  for (const char* word : {"rmsnorm.forward", "rmsnorm/forward", "rmsnorm/forward.json"}) {
    const Ended ended = mgtune_.run({"sweep", word, "--gpu", "cpu", "--dry-run", "--json"});
    ASSERT_EQ(ended.exit_code, 0) << ended;
    EXPECT_EQ(ended.json()["dry_run"][0]["problems"][0]["operator"], "rmsnorm.forward") << word;
  }
}

TEST_F(CliUsageTest, ADryRunNeedsNoGpu) {
  const Ended ended = mgtune_.run({"sweep", "rmsnorm.forward", "--gpu", "H200", "--dry-run",
                                   "--json", "--problem", "rows=4096,hidden=4096,T=bf16"});
  ASSERT_EQ(ended.exit_code, 0) << ended;
  const nlohmann::json run = ended.json()["dry_run"][0];
  EXPECT_EQ(run["name"], "H200");
  EXPECT_FALSE(run["emulation"]);
  EXPECT_GT(run["problems"][0]["admissible"], 100);
  expect_refused({"sweep", "rmsnorm.forward", "--gpu", "H200"}, 4, HasSubstr("no H200"));
  EXPECT_EQ(mgtune_.run({"list", "rmsnorm", "--gpu", "H200"}).exit_code, 0);
}

TEST_F(CliUsageTest, MisspeltWordsGetASuggestion) {
  expect_refused({"swep"}, 2, HasSubstr("unknown command 'swep'; did you mean 'sweep'?"));
  expect_refused({"sweeep", "--help"}, 2, HasSubstr("unknown command 'sweeep'; did you mean"));
  expect_refused({"sweeep", "--version"}, 2, HasSubstr("unknown command 'sweeep'; did you mean"));
  expect_refused({"sweep", "--krnel", "rmsnorm"}, 2,
                 HasSubstr("unknown option '--krnel' of mgtune sweep; did you mean '--kernel'?"));
  expect_refused({"sweep", "--kernel", "rmsnrm"}, 2, HasSubstr("did you mean 'rmsnorm'?"));
  expect_refused({"sweep", "--kernel", "rmsnorm.foward"}, 2, HasSubstr("did you mean"));
  expect_refused({"sweep", "--kernel", "rmsnorm", "--strategy", "randon"}, 2,
                 HasSubstr("did you mean 'random'?"));
  expect_refused({"sweep", "--kernel", "rmsnorm", "--dtype", "bf61"}, 2,
                 HasSubstr("unknown dtype 'bf61'; did you mean 'bf16'?"));
  expect_refused({"sweep", "--kernel", "rmsnorm", "--shapes", "lama-3.1-8b"}, 2,
                 HasSubstr("did you mean 'llama-3.1-8b'?"));
  expect_refused({"show", "bst"}, 2, HasSubstr("did you mean 'best'?"));
}

// What MGTUNE_RECORD leaves behind names its operators itself.
TEST_F(CliUsageTest, ARecordingSaysWhatToTune) {
  const TestFolder folder;
  const std::string file = folder.file("shapes");
  std::ofstream(file) << R"({"operator": "rmsnorm.forward", "problem": "rows=3 hidden=64 T=f32"})"
                         "\n"
                      << R"({"operator": "swiglu.forward", "problem": "rows=5 hidden=64 T=f32"})"
                         "\n"
                      << R"({"operator": "rmsnorm.forward", "problem": "rows=3 hidden=64 T=f32"})"
                         "\n"
                      << R"({"operator": "rmsnorm.forw)";
  MgtuneProgram mgtune(folder.file("cache"));
  const Ended all = mgtune.run({"sweep", "--shapes", file, "--gpu", "cpu", "--dry-run", "--json"});
  ASSERT_EQ(all.exit_code, 0) << all;
  const auto problems = all.json()["dry_run"][0]["problems"];
  ASSERT_EQ(problems.size(), 2U) << all;
  EXPECT_EQ(problems[0]["operator"], "rmsnorm.forward");
  EXPECT_EQ(problems[0]["problem"], "rows=3 hidden=64 T=f32");
  EXPECT_EQ(problems[1]["operator"], "swiglu.forward");
  const Ended one = mgtune.run(
      {"sweep", "--kernel", "rmsnorm", "--shapes", file, "--gpu", "cpu", "--dry-run", "--json"});
  EXPECT_EQ(one.json()["dry_run"][0]["problems"].size(), 1U) << one;
  expect_refused({"sweep", "--kernel", "rmsnorm.backward", "--shapes", file}, 2,
                 HasSubstr("has no problems of rmsnorm.backward"));
  expect_refused({"sweep", "--shapes", "none.jsonl"}, 5, HasSubstr("none.jsonl"));
  std::ofstream(file) << R"({"operator": "rmsnorm.forward", "problem": "rows=3"})"
                         "\n[]\n";
  expect_refused({"sweep", "--shapes", file}, 5, HasSubstr("line 2"));
}

TEST_F(CliUsageTest, MissingAndSuperfluousWords) {
  expect_refused({"sweep"}, 2, HasSubstr("--kernel is required"));
  expect_refused({"devices", "all"}, 2, HasSubstr("unexpected argument 'all' of mgtune devices"));
  expect_refused({"sweep", "--kernel", "rmsnorm", "--budget", "soon"}, 2,
                 HasSubstr("budget 'soon': expected"));
}

TEST_F(CliUsageTest, DimsAreNumbersThatCanBe) {
  const auto refused = [&](const std::string& problem, const std::string& word) {
    expect_refused({"sweep", "--gpu", "cpu", "--kernel", "rmsnorm", "--problem", problem}, 2,
                   HasSubstr(word));
  };
  refused("rows=-4,hidden=64", "rows");
  refused("rows=4,hidden=many", "many");
  refused("rows=4,hidden=64.5", "64.5");
  refused("rows=99999999999999999999,hidden=64", "rows");
  refused("rows=4,hiden=64", "did you mean 'hidden'?");
  refused("rows=4",
          " needs `hidden`: add it to --problem, for example --problem "
          "rows=4,hidden=4096");
  refused("rows=4,hidden=300000", "hidden <= 262144");
}

TEST_F(CliUsageTest, EmptyValuesAreNotLeftOutOnes) {
  for (const char* option : {"--kernel", "--gpu", "--dtype", "--problem", "--shapes", "--strategy",
                             "--budget", "--seed", "--db"}) {
    const std::string kernel = option == std::string("--kernel") ? "--gpu" : "--kernel";
    expect_refused({"sweep", kernel, "rmsnorm", option, ""}, 2, HasSubstr(option));
  }
  expect_refused({"show", "best", "--db", ""}, 2, HasSubstr("--db: needs a value"));
  expect_refused({"show", "best", "--kernel", ""}, 2, HasSubstr("--kernel: needs a value"));
  expect_refused({"list", "--gpu", ""}, 2, HasSubstr("--gpu: needs a value"));
  expect_refused({"report", "-o", ""}, 2, HasSubstr("--output: needs a value"));
}

TEST_F(CliUsageTest, NumbersThatCannotBe) {
  for (const char* seed : {"-1", "18446744073709551616", "1.5", "0x10", "many"}) {
    expect_refused({"sweep", "--kernel", "rmsnorm", "--seed", seed}, 2,
                   AllOf(HasSubstr("--seed"), HasSubstr(seed)));
  }
  EXPECT_EQ(mgtune_
                .run({"sweep", "--gpu", "cpu", "--kernel", "rmsnorm", "--dry-run", "--seed",
                      "18446744073709551615"})
                .exit_code,
            0);
  expect_refused({"sweep", "--gpu", "cpu", "--kernel", "rmsnorm", "--budget", "99999999999999h"}, 2,
                 HasSubstr("within a year"));
}

TEST_F(CliUsageTest, DTypesThatContradictEachOther) {
  expect_refused({"sweep", "--gpu", "cpu", "--kernel", "rmsnorm", "--dtype", "f16", "--problem",
                  "T=bf16,rows=4,hidden=64"},
                 2, HasSubstr("--dtype f16 contradicts --problem T=bf16,rows=4,hidden=64"));
}

TEST_F(CliUsageTest, MistakesThatHoldForEveryVariantAreFoundBeforeAnythingRuns) {
  const std::string shape_of_z = R"("z": {"role": "out", "dtype": "T", "shape": ["n)";
  expect_file_refused(shape_of_z, shape_of_z + " / 0",
                      AllOf(HasSubstr("/tensors/z/shape/0: edited.add n=1000 T=f32: division"),
                            HasSubstr("n / 0\n")));
  expect_file_refused(shape_of_z, shape_of_z + " - 2000",
                      AllOf(HasSubstr("-1000 is below 0"), HasSubstr("^~~~~~~~")));
  expect_file_refused(shape_of_z, shape_of_z + " * 9223372036854775807", HasSubstr("overflow"));
  expect_file_refused("ceil_div(n, THREADS)", "n - 1001",
                      HasSubstr("/designs/flat/launches/0/grid/0: edited.add n=1000 T=f32: -1"));
  expect_file_refused(R"("fill": "normal")",
                      R"("fill": {"op": "family.nonexistent", "output": "y"})",
                      HasSubstr("/tensors/x/fill/op: unknown operator 'family.nonexistent'"));
  expect_file_refused(R"("fill": "normal")", R"("fill": {"op": "rmsnorm.foward", "output": "y"})",
                      HasSubstr("did you mean 'rmsnorm.forward'?"));
}

TEST_F(CliUsageTest, WithoutAHomeItAsksForADatabase) {
  mgtune_.without_home();
  expect_refused({"show", "best"}, 2, AllOf(HasSubstr("HOME"), HasSubstr("--db")));
  expect_refused({"report"}, 2, HasSubstr("--db"));
  const std::string family = edited_family("add.cu", "add.cu");
  const Ended ended = mgtune_.run({"sweep", "--gpu", "cpu", "--kernel", family});
  EXPECT_EQ(ended.exit_code, 2) << ended;
  EXPECT_THAT(ended.err, HasSubstr("--db"));
}

TEST_F(CliUsageTest, AHomeThatIsNoAbsolutePathIsNotCalledMissing) {
  mgtune_.without_home();
  mgtune_.with_variable("HOME", "here");
  expect_refused({"show", "best"}, 2,
                 AllOf(HasSubstr("XDG_DATA_HOME is not set, and HOME is 'here', which is not an "
                                 "absolute path"),
                       HasSubstr("--db")));
}

TEST_F(CliUsageTest, AGpuThatIsNotHere) {
  expect_refused({"sweep", "--kernel", "rmsnorm", "--gpu", "L4"}, 4,
                 AllOf(HasSubstr("L4"), HasSubstr("cpu")));
}

TEST_F(CliUsageTest, MalformedOperatorFilesNameFilePathAndPlace) {
  expect_file_refused("\"THREADS\": [32, 64, 128]", "\"THREADS\": [32, \"64\", 128]",
                      HasSubstr("/designs/flat/params/THREADS"));
  expect_file_refused("\"grid\"", "\"gird\"", HasSubstr("/designs/flat/launches/0"));
  expect_file_refused("ceil_div(n, THREADS)", "ceil_div(n, THREDS)",
                      AllOf(HasSubstr("/designs/flat/launches/0/grid/0"),
                            HasSubstr("did you mean 'THREADS'?"), HasSubstr("^~~")));
  expect_file_refused("ceil_div(n, THREADS)", "n * 99999999999999999999",
                      AllOf(HasSubstr("/designs/flat/launches/0/grid/0"), HasSubstr("^")));
  expect_file_refused("\"add.cu\"", "\"../add.cu\"",
                      AllOf(HasSubstr("/designs/flat/source"), HasSubstr("..")));
}

TEST_F(CliUsageTest, ADamagedDatabaseStaysAsItIs) {
  const std::string file = mgtune_.folder().file("damaged.db");
  const std::string damaged = std::string("SQLite format 3\0", 16) + "and then something else";
  std::ofstream(file, std::ios::binary) << damaged;
  expect_refused({"show", "best", "--db", file}, 5, HasSubstr(file));
  expect_refused({"report", "--db", file}, 5, HasSubstr(file));
  EXPECT_EQ(file_content(file), damaged);
  const Ended sweep = mgtune_.run({"sweep", "--gpu", "cpu", "--kernel", kVectorAdd, "--db", file});
  EXPECT_EQ(sweep.exit_code, 5) << sweep;
  EXPECT_EQ(file_content(file), damaged);
}

TEST_F(CliUsageTest, WithoutResultsItSaysWhatMakesThem) {
  for (const char* what : {"best", "variants", "failures"}) {
    const Ended shown = mgtune_.run({"show", what});
    EXPECT_EQ(shown.exit_code, 0) << shown;
    EXPECT_THAT(shown.out + shown.err, HasSubstr("mgtune sweep"));
    const nlohmann::json json = mgtune_.run({"show", what, "--json"}).json();
    EXPECT_TRUE(json[what == std::string("best") ? "picks" : what].empty());
  }
  const std::string page = mgtune_.folder().file("report.html");
  const Ended report = mgtune_.run({"report", "-o", page});
  EXPECT_EQ(report.exit_code, 0) << report;
  EXPECT_THAT(report.err, HasSubstr(page));
  EXPECT_THAT(file_content(page), HasSubstr("mgtune sweep"));
  expect_refused({"show", "best", "--db", mgtune_.folder().file("none.db")}, 5,
                 HasSubstr("none.db"));
}

TEST_F(CliUsageTest, ADatabaseThatTheEnvironmentNamesHasToBeThere) {
  mgtune_.with_variable("MGTUNE_DB", mgtune_.folder().file("none.db"));
  for (const MgtuneProgram::Words& words :
       {MgtuneProgram::Words{"show", "best"}, {"show", "variants", "--json"}, {"report"}}) {
    expect_refused(words, 5, AllOf(HasSubstr("none.db"), HasSubstr("MGTUNE_DB")));
  }
}

TEST_F(CliUsageTest, DryRunSaysWhatItWouldDoAndDoesNothing) {
  const MgtuneProgram::Words words = {"sweep",    "--gpu",           "cpu",
                                      "--kernel", "rmsnorm.forward", "--dry-run"};
  const Ended ended = mgtune_.run(words);
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_THAT(ended.err, AllOf(HasSubstr("rmsnorm.forward on cpu"), HasSubstr("6 problems"),
                               HasSubstr("they say nothing about a GPU")));
  EXPECT_THAT(ended.out, HasSubstr("admissible"));
  EXPECT_FALSE(std::filesystem::exists(mgtune_.database()));

  MgtuneProgram::Words with_json = words;
  with_json.emplace_back("--json");
  const nlohmann::json json = mgtune_.run(with_json).json();
  EXPECT_EQ(json["dry_run"][0]["problems"].size(), 6U);
  EXPECT_TRUE(json["dry_run"][0]["emulation"]);
}

TEST_F(CliUsageTest, ListsAreTablesAndJson) {
  const Ended list = mgtune_.run({"list"});
  EXPECT_EQ(list.exit_code, 0) << list;
  EXPECT_THAT(list.out, AllOf(HasSubstr("rmsnorm.forward"), HasSubstr("THREADS_PER_ROW(")));
  const nlohmann::json listed = mgtune_.run({"list", "--json", "--kernel", kVectorAdd}).json();
  EXPECT_EQ(listed["format"], 1);
  const nlohmann::json& designs = listed["designs"];
  ASSERT_EQ(designs.size(), 1U);
  EXPECT_EQ(designs[0]["operator"], "vector_add.add");
  EXPECT_EQ(designs[0]["admissible"], 9);
  EXPECT_EQ(designs[0]["parameters"][1]["values"], (nlohmann::json{"good", "wrong", "broken"}));

  EXPECT_THAT(mgtune_.run({"devices"}).out, HasSubstr("emulation"));
  const nlohmann::json devices = mgtune_.run({"devices", "--json"}).json();
  EXPECT_EQ(devices["format"], 1);
  EXPECT_EQ(devices["devices"].back()["id"], "cpu");
}

TEST_F(CliUsageTest, TheCpuDeviceHasNoCeilings) {
  const Ended ended = mgtune_.run({"calibrate", "--gpu", "cpu"});
  EXPECT_EQ(ended.exit_code, 4) << ended;
  EXPECT_EQ(ended.out, "");
  EXPECT_THAT(ended.err, HasSubstr("calibrate needs a GPU"));
  EXPECT_EQ(mgtune_.run({"calibrate", "--gpu", "nonsense"}).exit_code, 2);
}

TEST_F(CliUsageTest, CacheSaysWhatIsKeptAndClearsIt) {
  const TestFolder parent;
  const std::string folder = parent.file("cache");
  MgtuneProgram mgtune(folder);
  nlohmann::json json = mgtune.run({"cache", "--json"}).json();
  EXPECT_EQ(json["folder"], folder);
  EXPECT_EQ(json["entries"], 0);
  EXPECT_EQ(mgtune.run({"cache", "clear"}).exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(folder));  // looking makes nothing

  Build build;
  build.key = sha256_hex("key");
  build.binary = std::string(1500, 'b');
  build.sha256 = sha256_hex(build.binary);
  ASSERT_TRUE(BuildCache(FileSystem::real(), folder).store(build).ok());
  const auto bytes = std::filesystem::file_size(folder + "/" + build.key + ".build");
  EXPECT_THAT(mgtune.run({"cache"}).out,
              AllOf(StartsWith(folder + ": 1 build, "), HasSubstr(" KiB of at most 2 GiB\n")));
  json = mgtune.run({"cache", "--json"}).json();
  EXPECT_EQ(json["entries"], 1);
  EXPECT_EQ(json["bytes"], bytes);
  EXPECT_EQ(json["limit_bytes"], BuildCache::kDefaultMaxBytes);
  json = mgtune.run({"cache", "clear", "--json"}).json();
  EXPECT_EQ(json["removed_entries"], 1);
  EXPECT_EQ(json["removed_bytes"], bytes);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  EXPECT_EQ(mgtune.run({"cache", "clear"}).out, folder + ": removed 0 builds, 0 B\n");

  std::filesystem::permissions(folder, std::filesystem::perms::all);
  const Ended refused = mgtune.run({"cache", "clear"});
  EXPECT_EQ(refused.exit_code, 5) << refused;
  EXPECT_THAT(refused.err, HasSubstr(folder + " can be written by other users"));
  expect_refused({"cache", "claer"}, 2, HasSubstr("did you mean 'clear'?"));
  expect_refused({"cache", "clear", "more"}, 2, HasSubstr("unknown word 'more'"));
}

TEST_F(CliUsageTest, DoctorSaysWhatIsHere) {
  const Ended ended = mgtune_.run({"doctor"});
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_THAT(ended.out,
              AllOf(HasSubstr("host compiler"), HasSubstr("cpu device"), HasSubstr("database"),
                    HasSubstr("NVML"), Not(HasSubstr("missing"))));
  const nlohmann::json json = mgtune_.run({"doctor", "--json"}).json();
  EXPECT_TRUE(json["can_sweep"]);
  EXPECT_GE(json["findings"].size(), 4U);
}

}  // namespace
}  // namespace mgtune
