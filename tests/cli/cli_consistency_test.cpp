// One truth: show, report, explain, pack and a program name the same variant for every problem of a
// database, a pack, a tuned table or the installed tables. If one of them leaves a row out, each of
// them says which row, and why.
//
// The rows are those of several versions of one small family: picks that this version offers, and
// picks of a design that is gone, of a build that nobody can make any more, of a variant that is
// not admitted for its problem, and of a variant that was recorded as wrong.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mgruntime/mgruntime.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "device/registry.h"
#include "pack/pack.h"
#include "selection/variant_selection.h"
#include "store/store.h"
#include "tests/helpers/environment_variable.h"
#include "tests/helpers/installed_library.h"
#include "tests/helpers/mgr_plan_options.h"
#include "tests/helpers/mgtune_program.h"

namespace mgtune {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

using Picks = std::map<std::string, std::string>;  // the variant of each problem

constexpr char kGood32[] = "flat THREADS=32 MODE=good";
constexpr char kGood64[] = "flat THREADS=64 MODE=good";
constexpr char kGood128[] = "flat THREADS=128 MODE=good";
constexpr char kWrong[] = "flat THREADS=32 MODE=wrong";
constexpr char kGone[] = "stream THREADS=256 STAGES=1";

std::string problem_of(int n) { return "n=" + std::to_string(n) + " T=f32"; }

// The picks that this version can use, and the reasons that it gives for the others.
const Picks kUsable = {{problem_of(100), kGood128}, {problem_of(420), kGood32}};
constexpr char kNotOffered[] =
    "1 tuned problem that the operators do not offer any more is left "
    "out: vector_add.add n=200 T=f32 with stream THREADS=256 STAGES=1";
constexpr char kFailed[] =
    "1 tuned problem whose variant is recorded as failed on its GPU is left out: vector_add.add "
    "n=300 T=f32 with flat THREADS=32 MODE=wrong (wrong)";
constexpr char kNotAdmitted[] =
    "1 tuned problem for which the operator does not admit the variant on its GPU is left out: "
    "vector_add.add n=500 T=f32 with flat THREADS=128 MODE=good";

class CliConsistencyTest : public VectorAddTest {
 protected:
  CliConsistencyTest() : data_("XDG_DATA_HOME", mgtune_.folder().file("data")) {
    edit("add.json", "\"launches\"",
         "\"constraints\": [\"n < 450 || THREADS < 128\"], \"launches\"");
    std::filesystem::create_directories(mgtune_.data_folder());
  }

  static TunedRecord pick(Store& store, int n, const std::string& variant) {
    TunedRecord tuned;
    SweepRecord sweep;
    tuned.gpu = sweep.gpu = store.gpu_id(cpu()).value();
    sweep.environment = store.environment_id({"0.1.0", "g++ 9.1", "", "Debian"}).value();
    sweep.started_at = "2026-11-21T09:00:00Z";
    tuned.sweep = store.begin_sweep(sweep).value();
    tuned.problem = store.problem_id("vector_add.add", problem_of(n), 12.0 * n, n).value();
    tuned.variant = variant;
    tuned.default_variant = kGood64;
    tuned.method = "emulation";
    tuned.median_ns = 900;
    tuned.default_median_ns = 1000;
    tuned.build_sha256 = std::string(64, 'a');  // of a compiler that nobody has any more
    EXPECT_TRUE(store.record_tuned(tuned).ok());
    return tuned;
  }

  static void outcome(Store& store, int n, const std::string& variant, Outcome outcome) {
    SweepRecord sweep;
    sweep.gpu = store.gpu_id(cpu()).value();
    sweep.environment = store.environment_id({"0.1.0", "g++ 9.1", "", "Debian"}).value();
    OutcomeRecord record;
    record.sweep = store.begin_sweep(sweep).value();
    record.key = {sweep.gpu, store.problem_id("vector_add.add", problem_of(n), 12.0 * n, n).value(),
                  "", "old", "old"};
    record.variant = variant;
    record.outcome = outcome;
    ASSERT_TRUE(store.record(record).ok());
  }

  static void fill(const std::string& path) {
    Store store = Store::open(path, Store::Mode::read_write).value();
    pick(store, 100, kGood128);
    pick(store, 200, kGone);
    pick(store, 300, kWrong);
    pick(store, 420, kGood32);
    pick(store, 500, kGood128);
    outcome(store, 300, kWrong, Outcome::wrong);
  }

  // A table that somebody edited by hand, or that was written before the variant was found wrong.
  std::string table() const {
    const GpuRecord gpu = cpu();
    std::string text =
        R"({"format": 1, "tables": [{"operator": "vector_add.add", "gpu": {"model": ")" +
        gpu.model + R"(", "arch": ")" + gpu.arch + R"(", "sm_count": )" +
        std::to_string(gpu.sm_count) + R"(, "l2_bytes": )" + std::to_string(gpu.l2_bytes) +
        R"(, "memory_bytes": )" + std::to_string(gpu.memory_bytes) + R"(, "max_shared_bytes": )" +
        std::to_string(gpu.max_shared_bytes) +
        R"(, "mig_profile": "", "emulation": true}, "environment": {"mgtune_version": "0.1.0",
        "compiler": "g++ 9.1", "driver": "", "system": ""}, "picks": [)";
    const struct {
      int n, threads;
      const char* mode;
    } rows[] = {{100, 128, "good"}, {300, 32, "wrong"}, {420, 32, "good"}, {500, 128, "good"}};
    for (const auto& row : rows) {
      text += (row.n == 100 ? "" : ",\n") + std::string(R"({"problem": ")") + problem_of(row.n) +
              R"(", "method": "emulation", "design": "flat", "parameters": {"THREADS": )" +
              std::to_string(row.threads) + R"(, "MODE": ")" + row.mode +
              R"("}, "median_ns": 900, "default": null, "tie": false, "build_sha256": ")" +
              std::string(64, 'a') + R"(", "measured_at": "2026-11-21T09:00:00Z"})";
    }
    return text + "]}]}";
  }
  std::string written(const std::string& name, const std::string& content) const {
    const std::string path = mgtune_.folder().file(name);
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

  static GpuRecord cpu() { return gpu_record(select_devices("cpu").value().front()); }

  // The readers. `source` is "" for the default one.
  Ended run(MgtuneProgram::Words words, const std::string& source) {
    for (const std::string& word : {std::string("--kernel"), family_}) words.push_back(word);
    if (!source.empty()) {
      words.emplace_back("--db");
      words.push_back(source);
    }
    return mgtune_.run(words);
  }

  Picks shown(const std::string& source, std::string& said) {
    const Ended ended = run({"show", "best", "--json"}, source);
    EXPECT_EQ(ended.exit_code, 0) << ended;
    said = ended.err;
    Picks picks;
    const auto json = ended.json();
    for (const auto& row : json["picks"]) picks[row["problem"]] = row["variant"];
    return picks;
  }

  Picks reported(const std::string& source, std::string& said) {
    const Ended ended = run({"report", "--format", "json"}, source);
    EXPECT_EQ(ended.exit_code, 0) << ended;
    const auto report = ended.json();
    said = report["verdict"].dump();
    Picks picks;
    for (const auto& row : report["picks"]) {
      picks[report["problems"][row["problem"].get<std::size_t>()]["problem"]] = row["variant"];
    }
    return picks;
  }

  std::string explained(const std::string& source, int n, std::string& said) {
    const Ended ended =
        run({"explain", "--gpu", "cpu", "--json", "--problem", "n=" + std::to_string(n) + ",T=f32"},
            source);
    EXPECT_EQ(ended.exit_code, 0) << ended;
    said = ended.json()["notes"].dump();
    return ended.json()["chosen"]["variant"];
  }

  Picks packed(const std::string& source, std::string& said) {
    const std::string path = mgtune_.folder().file("made.mgpack");
    const Ended ended = run({"pack", "--gpu", "cpu", "-o", path}, source);
    EXPECT_EQ(ended.exit_code, 0) << ended;
    said = ended.err;
    Picks picks;
    const Result<Pack> pack = decode_pack(file_content(path));
    if (!pack.ok()) return picks;
    const auto document = nlohmann::json::parse(pack->table);
    for (const auto& of_operator : document["tables"]) {
      for (const auto& row : of_operator["picks"]) {
        picks[row["problem"]] = row["design"].get<std::string>() +
                                " THREADS=" + row["parameters"]["THREADS"].dump() +
                                " MODE=" + row["parameters"]["MODE"].get<std::string>();
      }
    }
    return picks;
  }

  // What a program is told by mgr_explain; "" if it cannot open the source.
  template <typename Function>
  static std::string program(const std::string& source, const std::string& family, int n,
                             const Function& function) {
    mgr_open_options_t open{};
    open.struct_size = sizeof(open);
    open.device = "cpu";
    open.database = source.empty() ? nullptr : source.c_str();
    const char* const families[] = {family.c_str()};
    open.family_folders = families;
    open.family_folder_count = 1;
    mgr_context_t* context = nullptr;
    if (function(&::mgr_open, "mgr_open")(&open, &context) != MGR_OK) return "";
    const MgrPlanOptions options("vector_add.add", {{"T", "f32"}}, {{"n", n, n}});
    mgr_plan_t* plan = nullptr;
    EXPECT_EQ(function(&::mgr_plan, "mgr_plan")(context, options.get(), &plan), MGR_OK)
        << function(&::mgr_last_error, "mgr_last_error")();
    const std::int64_t dim = n;
    std::string text(16384, '\0');
    EXPECT_EQ(
        function(&::mgr_explain, "mgr_explain")(plan, &dim, 1, text.data(), text.size(), nullptr),
        MGR_OK);
    function(&::mgr_plan_free, "mgr_plan_free")(plan);
    function(&::mgr_close, "mgr_close")(context);
    return text.c_str();
  }
  std::string program(const std::string& source, int n) const {
    if (installed_ == nullptr) {
      return program(source, family_, n, [](auto* same, const char*) { return same; });
    }
    return program(source, family_, n,
                   [&](auto* same, const char* name) { return installed_->of(same, name); });
  }

  static std::string variant_of(const std::string& explanation) {
    const std::size_t start = explanation.find("variant   ") + 10;
    return explanation.substr(start, explanation.find('\n', start) - start);
  }

  // All readers of the source agree, and each of them gives the reasons.
  void expect_one_truth(const std::string& source, const std::vector<std::string>& reasons) {
    std::string said;
    const auto expect_reasons = [&](const char* reader) {
      for (const std::string& reason : reasons) EXPECT_THAT(said, HasSubstr(reason)) << reader;
    };
    EXPECT_EQ(shown(source, said), kUsable);
    expect_reasons("show");
    EXPECT_EQ(reported(source, said), kUsable);
    expect_reasons("report");
    EXPECT_EQ(packed(source, said), kUsable);
    expect_reasons("pack");
    for (const int n : {100, 200, 300, 420, 500}) {
      const std::string chosen = explained(source, n, said);
      expect_reasons("explain");
      said = program(source, n);
      expect_reasons("a program");
      EXPECT_EQ(chosen, variant_of(said)) << n << ": explain and a program";
      EXPECT_THAT(chosen, Not(HasSubstr("wrong"))) << n;
      const auto usable = kUsable.find(problem_of(n));
      if (usable == kUsable.end()) continue;
      EXPECT_EQ(chosen, usable->second);
      EXPECT_THAT(said, HasSubstr("chosen    exact problem: tuned for n="));
      EXPECT_THAT(said, HasSubstr("with another build of the same variant"));
    }
  }

  const Variable data_;
  const Variable no_variable_{"MGTUNE_DB", ""};
  const Variable build_cache_{"MGTUNE_CACHE_DIR", cache_.path()};
  const Variable quiet_{"MGTUNE_QUIET", "1"};
  const InstalledLibrary* installed_ = nullptr;  // the library that the program opens, if not ours
};

TEST_F(CliConsistencyTest, ADatabaseThatIsNamed) {
  const std::string path = mgtune_.folder().file("named.db");
  fill(path);
  expect_one_truth(path, {kNotOffered, kFailed, kNotAdmitted});
}

TEST_F(CliConsistencyTest, TheUsersOwnDatabase) {
  fill(mgtune_.database());
  expect_one_truth("", {kNotOffered, kFailed, kNotAdmitted});
}

// A table does not say what is wrong, but the user's own database does.
TEST_F(CliConsistencyTest, ATableThatSomebodyEdited) {
  {
    Store store = Store::open(mgtune_.database(), Store::Mode::read_write).value();
    outcome(store, 300, kWrong, Outcome::wrong);
  }
  expect_one_truth(written("edited.tuned.json", table()), {kFailed, kNotAdmitted});
}

TEST_F(CliConsistencyTest, APack) {
  {
    Store store = Store::open(mgtune_.database(), Store::Mode::read_write).value();
    outcome(store, 300, kWrong, Outcome::wrong);
  }
  Pack pack;
  pack.compiler = "g++ 9.1";
  pack.table = table();
  expect_one_truth(written("old.mgpack", encode_pack(pack).value()), {kFailed, kNotAdmitted});
}

TEST_F(CliConsistencyTest, TheInstalledTablesOfAnEmptyStore) {
  const std::string results = mgtune_.folder().file("share/mgtune/results");
  std::filesystem::create_directories(results);
  std::ofstream(results + "/cpu.tuned.json") << table();
  const std::string copy = mgtune_.folder().file("bin/mgtune");
  std::filesystem::create_directory(mgtune_.folder().file("bin"));
  std::filesystem::copy_file(mgtune_path(), copy);
  const InstalledLibrary library(mgtune_.folder().path(), "lib");
  ASSERT_TRUE(library.is_there()) << ::dlerror();
  const auto plugins = std::filesystem::path(runtime_library_path()).parent_path();
  for (const char* folder : {"bin/", "lib/"}) {
    const std::string name = "libmgruntime-cpu.so";
    std::filesystem::copy_file(plugins / name, mgtune_.folder().file(folder + name));
  }
  mgtune_.with_program(copy);
  installed_ = &library;
  const auto with_wrong = [&](Picks picks) {
    picks[problem_of(300)] = kWrong;  // nobody knows yet
    return picks;
  };
  std::string said;
  EXPECT_EQ(shown("", said), with_wrong(kUsable));
  EXPECT_THAT(said,
              AllOf(HasSubstr("there are no results of your own yet"), HasSubstr(kNotAdmitted)));
  EXPECT_EQ(reported("", said), with_wrong(kUsable));
  EXPECT_EQ(packed("", said), with_wrong(kUsable));
  for (const int n : {100, 300, 420, 500}) {
    const std::string chosen = explained("", n, said);
    EXPECT_EQ(chosen, variant_of(program("", n))) << n;
  }
  EXPECT_THAT(said, HasSubstr(kNotAdmitted));
}

// A value that is not offered in a file that somebody named: nobody uses the row. Those who would
// run it refuse the file and name the value.
TEST_F(CliConsistencyTest, AValueThatIsNotOffered) {
  const std::string path = mgtune_.folder().file("named.db");
  {
    Store store = Store::open(path, Store::Mode::read_write).value();
    pick(store, 100, kGood128);
    pick(store, 200, "flat THREADS=256 MODE=good");
  }
  const std::string reason =
      "do not offer any more is left out: vector_add.add n=200 T=f32 with flat THREADS=256";
  std::string said;
  EXPECT_THAT(shown(path, said), ElementsAre(Pair(problem_of(100), kGood128)));
  EXPECT_THAT(said, HasSubstr(reason));
  EXPECT_THAT(packed(path, said), ElementsAre(Pair(problem_of(100), kGood128)));
  EXPECT_THAT(said, HasSubstr(reason));
  const Ended explain = run({"explain", "--gpu", "cpu", "--problem", "n=100,T=f32"}, path);
  EXPECT_EQ(explain.exit_code, 5);
  EXPECT_THAT(explain.err, HasSubstr("256"));
  EXPECT_EQ(program(path, 100), "");
  EXPECT_THAT(mgr_last_error(), HasSubstr("256"));
  const std::string edited =
      written("edited.tuned.json", replaced(table(), "\"THREADS\": 128", "\"THREADS\": 256"));
  EXPECT_EQ(program(edited, 100), "");
  EXPECT_THAT(mgr_last_error(), HasSubstr("256"));
  for (const MgtuneProgram::Words& words :
       {MgtuneProgram::Words{"show", "best"}, MgtuneProgram::Words{"report", "--format", "md"},
        MgtuneProgram::Words{"explain", "--gpu", "cpu", "--problem", "n=100,T=f32"},
        MgtuneProgram::Words{"pack", "--gpu", "cpu", "-o", mgtune_.folder().file("none")}}) {
    const Ended ended = run(words, edited);
    EXPECT_EQ(ended.exit_code, 5) << ended;
    EXPECT_THAT(ended.err, AllOf(HasSubstr(edited), HasSubstr("256")));
  }
}

// The variable names the file for the commands as for a program, and `list` needs no results.
TEST_F(CliConsistencyTest, TheVariableNamesAnyKindOfFile) {
  const std::string path = written("named.tuned.json", table());
  mgtune_.with_variable("MGTUNE_DB", path);
  std::string said;
  EXPECT_EQ(shown("", said).size(), 3U);
  EXPECT_EQ(explained("", 100, said), kGood128);
  EXPECT_EQ(packed("", said).size(), 3U);
  EXPECT_EQ(mgtune_.run({"list", "--kernel", family_}).exit_code, 0);
}

// A pick loses its default when the operator does, but it stays a pick.
TEST_F(CliConsistencyTest, ADefaultThatIsGone) {
  const std::string path = mgtune_.folder().file("named.db");
  {
    Store store = Store::open(path, Store::Mode::read_write).value();
    TunedRecord tuned = pick(store, 100, kGood128);
    tuned.default_variant = kGone;
    ASSERT_TRUE(store.record_tuned(tuned).ok());
  }
  std::string said;
  EXPECT_THAT(shown(path, said), ElementsAre(Pair(problem_of(100), kGood128)));
  EXPECT_EQ(packed(path, said), shown(path, said));
  EXPECT_EQ(variant_of(program(path, 100)), kGood128);
}

}  // namespace
}  // namespace mgtune
