// mgtune export, mgtune import and mgtune pack: from a sweep to a table that serves another store,
// and to a pack that serves a program.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mgruntime/mgruntime.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "core/gzip.h"
#include "store/import.h"
#include "store/store.h"
#include "tests/helpers/environment_variable.h"
#include "tests/helpers/mgr_plan_options.h"
#include "tests/helpers/mgtune_program.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string kFamily = source_path("tests/families/vector_add");

class CliExchangeTest : public ::testing::Test {
 protected:
  // One sweep for all tests: 9 variants, of which 6 fail.
  static void SetUpTestSuite() {
    cache_ = new TestFolder;
    swept_ = new MgtuneProgram(cache_->path());
    const Ended ended = swept_->run({"sweep", "--gpu", "cpu", "--kernel", kFamily});
    ASSERT_EQ(ended.exit_code, 3) << ended;
  }
  static void TearDownTestSuite() {
    delete swept_;
    delete cache_;
    swept_ = nullptr;
    cache_ = nullptr;
  }

  static Ended run_export(const MgtuneProgram::Words& more) {
    MgtuneProgram::Words words = {"export"};
    words.insert(words.end(), more.begin(), more.end());
    return swept_->run(words);
  }

  std::string exported(const std::string& format) {
    std::string path = mgtune_.folder().file(format);
    const Ended ended = run_export({"--format", format, "-o", path});
    EXPECT_EQ(ended.exit_code, 0) << ended;
    EXPECT_THAT(ended.out, IsEmpty());
    return path;
  }

  // What mgr_explain says of the swept problem to a program that opens this database or pack.
  static std::string explained(const std::string& database) {
    mgr_open_options_t open{};
    open.struct_size = sizeof(open);
    open.device = "cpu";
    open.database = database.c_str();
    const char* const families[] = {kFamily.c_str()};
    open.family_folders = families;
    open.family_folder_count = 1;
    mgr_context_t* context = nullptr;
    EXPECT_EQ(mgr_open(&open, &context), MGR_OK) << mgr_last_error();
    const MgrPlanOptions options("vector_add.add", {{"T", "f32"}}, {{"n", 1, 4096}});
    mgr_plan_t* plan = nullptr;
    EXPECT_EQ(mgr_plan(context, options.get(), &plan), MGR_OK) << mgr_last_error();
    const std::int64_t n = 1000;
    std::string text(8192, '\0');
    EXPECT_EQ(mgr_explain(plan, &n, 1, text.data(), text.size(), nullptr), MGR_OK);
    mgr_plan_free(plan);
    mgr_close(context);
    return text;
  }

  static void expect_refused(const Ended& ended, int exit_code, const std::string& message) {
    EXPECT_EQ(ended.exit_code, exit_code) << ended;
    EXPECT_THAT(ended.err, HasSubstr(message));
    EXPECT_THAT(ended.out, IsEmpty());
  }

  static TestFolder* cache_;
  static MgtuneProgram* swept_;
  MgtuneProgram mgtune_{cache_->path()};  // with an empty store
};

TestFolder* CliExchangeTest::cache_ = nullptr;
MgtuneProgram* CliExchangeTest::swept_ = nullptr;

TEST_F(CliExchangeTest, RoundTrip) {
  for (const char* format : {"tuned", "kernel-tuner", "t4"}) {
    const std::string path = exported(format);
    const std::string database = mgtune_.folder().file(std::string(format) + ".db");
    const Ended imported = mgtune_.run({"import", path, "--kernel", kFamily, "--db", database});
    EXPECT_EQ(imported.exit_code, 0) << imported;
    EXPECT_THAT(imported.out, HasSubstr(std::string(format) == "tuned"
                                            ? "imported 1 pick and 0 variants into " + database
                                            : "imported 0 picks and 9 variants into " + database));
    const Ended again = mgtune_.run({"export", "--format", format, "--db", database});
    EXPECT_EQ(again.exit_code, 0) << again;
    EXPECT_EQ(again.out, file_content(path));
    EXPECT_THAT(mgtune_.run({"import", path, "--kernel", kFamily, "--db", database}).out,
                HasSubstr("known already: "));
  }
}

TEST_F(CliExchangeTest, ABundleHasTablesAndRulesAndNoPlaces) {
  const std::string rules_folder =
      std::filesystem::path(swept_->database()).parent_path() / "rules/cpu";
  std::filesystem::create_directories(rules_folder);
  std::ofstream(rules_folder + "/vector_add.add.rules.json")
      << R"({"format": 1, "evidence": {"command": "mgtune fit /home/me/\"add\"", "problems": 14}})";
  const std::string path = mgtune_.folder().file("site.bundle.json.gz");
  const Ended written = run_export({"--bundle", "-o", path});
  ASSERT_EQ(written.exit_code, 0) << written;
  EXPECT_THAT(written.err, AllOf(HasSubstr("bundled cpu.vector_add.add.tuned.json\n"),
                                 HasSubstr("bundled rules/cpu/vector_add.add.rules.json\n")));
  const std::string text = gunzip(file_content(path), 1 << 20).value();
  EXPECT_THAT(text, Not(HasSubstr("/home")));
  EXPECT_THAT(text, HasSubstr("mgtune_version"));

  const MgtuneProgram::Words import = {"import", path, "--kernel", kFamily};
  const Ended taken = mgtune_.run(import);
  EXPECT_EQ(taken.exit_code, 0) << taken;
  EXPECT_THAT(
      taken.out,
      AllOf(HasSubstr("imported 1 pick"), HasSubstr("  vector_add.add on cpu (mgtune "),
            HasSubstr("): 1 pick\n"), HasSubstr("  rules/cpu/vector_add.add.rules.json: taken\n")));
  const std::string rules = std::filesystem::path(mgtune_.database()).parent_path() /
                            "rules/cpu/vector_add.add.rules.json";
  EXPECT_EQ(file_content(rules), R"({"format": 1, "evidence": {"command": "", "problems": 14}})");
  std::ofstream(rules) << "{}";
  EXPECT_THAT(mgtune_.run(import).out, HasSubstr("rules.json: yours is kept"));
  EXPECT_EQ(file_content(rules), "{}");

  // A path anywhere else is refused, before anything is written.
  std::ofstream(rules_folder + "/vector_add.add.rules.json") << R"({"note": "see /srv/tuning"})";
  const std::string refused = mgtune_.folder().file("refused.json");
  expect_refused(run_export({"--bundle", "-o", refused}), 2,
                 "a bundle has no paths and no host names, but rules/cpu/vector_add.add.rules.json "
                 "has '/srv/tuning'");
  EXPECT_FALSE(std::filesystem::exists(refused));
  std::filesystem::remove_all(std::filesystem::path(rules_folder).parent_path());
}

TEST_F(CliExchangeTest, ADamagedBundleLeavesNoTrace) {
  const std::string good = mgtune_.folder().file("good.json");
  ASSERT_EQ(run_export({"--bundle", "-o", good}).exit_code, 0);
  const std::string bad = mgtune_.folder().file("bad.json");
  const auto expect_bad = [&](const std::string& from, const std::string& to,
                              const std::string& message) {
    std::filesystem::copy_file(good, bad, std::filesystem::copy_options::overwrite_existing);
    replace_in_file(bad, from, to);
    expect_refused(mgtune_.run({"import", bad, "--kernel", kFamily}), 5, message);
    EXPECT_FALSE(std::filesystem::exists(mgtune_.database()));
  };
  expect_bad("median_ns", "median_nt", "it is damaged: its SHA-256 is not that of the bundle");
  expect_bad("cpu.vector_add", "../vector_add", "expected NAME.tuned.json or rules/GPU/NAME");
  expect_bad("\"format\": 1", "\"format\": 2", "no later format is known");
}

TEST_F(CliExchangeTest, ShowSaysWhatWasImported) {
  const Ended imported =
      mgtune_.run({"import", exported("tuned"), exported("t4"), "--kernel", kFamily});
  EXPECT_EQ(imported.exit_code, 0) << imported;
  const Ended best = mgtune_.run({"show", "best"});
  EXPECT_THAT(best.out, AllOf(HasSubstr("from"), HasSubstr("import"), HasSubstr("MODE=good")));
  EXPECT_THAT(swept_->run({"show", "best"}).out, Not(HasSubstr("import")));
  EXPECT_TRUE(mgtune_.run({"show", "best", "--json"}).json()["picks"][0]["imported"]);
  const nlohmann::json rows = mgtune_.run({"show", "variants", "--json"}).json()["variants"];
  EXPECT_EQ(rows.size(), 9U);
  for (const nlohmann::json& row : rows) EXPECT_TRUE(row["imported"]);
  EXPECT_FALSE(swept_->run({"show", "best", "--json"}).json()["picks"][0]["imported"]);
}

TEST_F(CliExchangeTest, ASweepTakesNothingImportedForItsOwn) {
  ASSERT_EQ(
      mgtune_.run({"import", exported("t4"), exported("tuned"), "--kernel", kFamily}).exit_code, 0);
  const Ended ended = mgtune_.run({"sweep", "--gpu", "cpu", "--kernel", kFamily, "--json"});
  EXPECT_EQ(ended.exit_code, 3) << ended;
  const nlohmann::json sweep = ended.json()["sweeps"][0];
  EXPECT_EQ(sweep["evaluated"], 9) << sweep;
  EXPECT_EQ(sweep["reused"], 0);
  // From now on it is the store's own.
  const nlohmann::json shown = mgtune_.run({"show", "variants", "--json"}).json();
  for (const nlohmann::json& row : shown["variants"]) EXPECT_FALSE(row["imported"]);
  EXPECT_FALSE(mgtune_.run({"show", "best", "--json"}).json()["picks"][0]["imported"]);
  EXPECT_THAT(mgtune_.run({"import", exported("t4"), exported("tuned"), "--kernel", kFamily}).out,
              HasSubstr("measured here, and kept: 1 pick and 9 variants"));
}

TEST_F(CliExchangeTest, KernelTunerReadsItsCache) {
  if (std::system("python3 --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "there is no python3";
  const auto rules = [](const std::string& file, const std::string& kernel) {
    return std::system(("python3 " + source_path("tests/exchange/kernel_tuner_rules.py") + " '" +
                        file + "' cpu " + kernel + " 'n=1000 T=f32'")
                           .c_str());
  };
  const std::string path = exported("kernel-tuner");
  EXPECT_EQ(rules(path, "vector_add.add"), 0);
  EXPECT_NE(rules(path, "vector_add.other"), 0);
}

TEST_F(CliExchangeTest, SimulateReadsRecordings) {
  for (const char* format : {"kernel-tuner", "t4"}) {
    const Ended ended =
        mgtune_.run({"simulate", "--space", exported(format), "--seeds", "2", "--json"});
    EXPECT_EQ(ended.exit_code, 0) << ended;
    EXPECT_EQ(ended.json()["fraction_of_optimum"]["9"], 1.0);
  }
}

TEST_F(CliExchangeTest, FoldersGzipAndStandardOutput) {
  const std::string folder = mgtune_.folder().file("new/folder/");
  EXPECT_EQ(run_export({"--format", "t4", "-o", folder}).exit_code, 0);
  EXPECT_TRUE(
      std::filesystem::exists(folder + "cpu.vector_add.add.n=1000-t=f32.emulation.t4.json"));
  const Ended into_it = run_export({"-o", mgtune_.folder().file("new/folder")});
  EXPECT_THAT(into_it.err, HasSubstr("wrote " + folder + "cpu.vector_add.add.tuned.json"));
  const std::string packed = mgtune_.folder().file("tuned.json.gz");
  EXPECT_EQ(run_export({"-o", packed}).exit_code, 0);
  EXPECT_EQ(gunzip(file_content(packed), 1 << 20).value(), run_export({}).out);
  EXPECT_EQ(mgtune_.run({"import", packed, "--kernel", kFamily}).exit_code, 0);
  const Ended csv = run_export({"--format", "csv"});
  EXPECT_EQ(std::count(csv.out.begin(), csv.out.end(), '\n') >= 10, true);
  EXPECT_THAT(csv.out, HasSubstr("cpu,cpu,,true,vector_add.add,n=1000 T=f32,flat,"));
  const std::string database = swept_->database();
  expect_refused(run_export({"-o", database}), 2, "is a database; the export would replace it");
}

TEST_F(CliExchangeTest, WhatIsMeant) {
  for (const MgtuneProgram::Words& words : {MgtuneProgram::Words{"--gpu", "cpu"},
                                            {"--gpu", "CPU"},
                                            {"--kernel", kFamily},
                                            {"--kernel", "vector_add"},
                                            {"--kernel", "vector_add.add"},
                                            {"--problem", "n=1000"},
                                            {"--method", "emulation"}}) {
    EXPECT_EQ(run_export(words).out, run_export({}).out) << words[1];
  }
  expect_refused(run_export({"--gpu", "H200"}), 2,
                 "--gpu H200: no results of it in this store; it has those of cpu");
  expect_refused(run_export({"--kernel", "rmsnorm"}), 2, "this store has no results of 'rmsnorm'");
  expect_refused(run_export({"--kernel", "rmsnrm"}), 2, "did you mean 'rmsnorm'?");
  expect_refused(run_export({"--problem", "n=1"}), 2, "nothing to export");
  expect_refused(run_export({"--problem", "n"}), 2, "--problem: 'n' is not of the form name=value");
  expect_refused(run_export({"--method", "graph"}), 2, "nothing to export");
  expect_refused(run_export({"--format", "tunde"}), 2, "did you mean 'tuned'?");
  expect_refused(mgtune_.run({"export"}), 2, "there are no results yet");
}

TEST_F(CliExchangeTest, ARefusedFileLeavesNoTrace) {
  const std::string good = exported("tuned");
  const std::string bad = mgtune_.folder().file("bad.json");
  std::string text = file_content(good);
  text.replace(text.find("\"THREADS\": "), 12, "\"THREADS\": 7");
  std::ofstream(bad) << text;
  expect_refused(mgtune_.run({"import", good, bad, "--kernel", kFamily}), 5,
                 bad + ": /tables/0/picks/0/");
  EXPECT_FALSE(std::filesystem::exists(mgtune_.database()));
  expect_refused(mgtune_.run({"import", good}), 5,
                 "unknown operator 'vector_add.add'; --kernel FOLDER reads a family of your own");
  expect_refused(mgtune_.run({"import"}), 2, "FILE is required");
  expect_refused(mgtune_.run({"import", mgtune_.folder().file("none")}), 5, "none");
  std::ofstream(bad) << "{\"format\": 1, \"tables\": [], \"\\u001b[31m\": 1}";
  const Ended ended = mgtune_.run({"import", bad});
  EXPECT_EQ(ended.exit_code, 5) << ended;
  EXPECT_THAT(ended.err, Not(HasSubstr("\x1b")));
}

TEST_F(CliExchangeTest, CompareReadsATunedTable) {
  const std::string table = exported("tuned");
  const Ended same = mgtune_.run({"compare", swept_->database(), table, "--emulation"});
  EXPECT_EQ(same.exit_code, 0) << same;
  EXPECT_THAT(same.out, HasSubstr("vector_add.add on cpu (emulation), emulation"));
  const Ended ended = mgtune_.run({"compare", table, table, "--emulation", "--json"});
  EXPECT_EQ(ended.json()["rows"][0]["problem"], "n=1000 T=f32");
  EXPECT_THAT(ended.json()["rows"][0]["variant"], HasSubstr("MODE=good"));
}

TEST_F(CliExchangeTest, ATunedTableServes) {
  ASSERT_EQ(mgtune_.run({"import", exported("tuned"), "--kernel", kFamily}).exit_code, 0);
  Store store = Store::open(mgtune_.database(), Store::Mode::read_only).value();
  const std::vector<TunedView> tuned = store.tuned("vector_add.add").value();
  ASSERT_EQ(tuned.size(), 1U);
  EXPECT_THAT(tuned[0].tuned.variant, HasSubstr("MODE=good"));
  EXPECT_TRUE(tuned[0].gpu.emulation);
  EXPECT_EQ(tuned[0].tuned.build_sha256.size(), 64U);
  EXPECT_EQ(store.sweeps()->at(0).sweep.strategy, kImportStrategy);

  const Variable cache("MGTUNE_CACHE_DIR", cache_->path());  // the sweep's builds
  EXPECT_THAT(explained(mgtune_.database()),
              AllOf(HasSubstr("exact problem"), HasSubstr(tuned[0].tuned.variant)));
}

TEST_F(CliExchangeTest, APackForTheCpuDeviceServes) {
  const std::string pack = mgtune_.folder().file("add.mgpack");
  const Ended ended = swept_->run({"pack", "--kernel", kFamily, "--gpu", "cpu", "-o", pack});
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_THAT(ended.err, HasSubstr("for cpu: 1 tuned problem, "));
  const std::string unused = mgtune_.folder().file("unused");
  const Variable cache("MGTUNE_CACHE_DIR", unused);
  EXPECT_THAT(explained(pack), AllOf(HasSubstr("exact problem"), HasSubstr("MODE=good")));
  EXPECT_FALSE(std::filesystem::exists(unused)) << "a build was compiled";

  const nlohmann::json listed = {{"operator", "vector_add.add"},
                                 {"device", "cpu (emulation)"},
                                 {"problems", 1},
                                 {"methods", {"emulation"}}};
  const Ended list = mgtune_.run({"list", kFamily, "--db", pack, "--json"});
  EXPECT_EQ(list.json()["results"], nlohmann::json::array({listed})) << list;
  EXPECT_THAT(mgtune_.run({"list", kFamily, "--db", pack}).out, HasSubstr("vector_add.add"));
  EXPECT_EQ(mgtune_.run({"list", "rmsnorm", "--db", pack}).exit_code, 2);
  const std::string table = source_path("results/h200/nvidia-h200.rmsnorm.backward.tuned.json");
  EXPECT_THAT(mgtune_.run({"list", "--db", table}).out,
              AllOf(HasSubstr("rmsnorm.backward"), HasSubstr("NVIDIA H200")));
}

// The variants of rmsnorm have constraints on device.cc.
TEST_F(CliExchangeTest, APackForTheCpuDeviceHasVariantsThatTestTheComputeCapability) {
  const Ended swept = mgtune_.run({"sweep", "--gpu", "cpu", "--kernel", "rmsnorm.forward",
                                   "--problem", "rows=4,hidden=64,T=f32", "--budget", "1"});
  ASSERT_EQ(swept.exit_code, 0) << swept;
  const std::string pack = mgtune_.folder().file("rmsnorm.mgpack");
  const Ended ended =
      mgtune_.run({"pack", "--kernel", "rmsnorm.forward", "--gpu", "cpu", "-o", pack});
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_THAT(ended.err, HasSubstr("for cpu: 1 tuned problem, "));
}

}  // namespace
}  // namespace mgtune
