// Tables and packs of strangers through mgr_open, mgr_plan and mgr_explain: no crash, no hang, and
// every failure says what is wrong with the file. Seeded, so that a failure repeats. On the
// stand-in for a GPU, without a compiler; packs carry a checksum that is right, behind which a
// damaged one gets further.

#include <gtest/gtest.h>
#include <mgruntime/mgruntime.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "core/sha256.h"
#include "database/database.h"
#include "pack/pack.h"
#include "selection/variant_selection.h"
#include "store/store.h"
#include "tests/helpers/environment_variable.h"
#include "tests/helpers/fakes/stand_in_gpu.h"
#include "tests/helpers/long_lane.h"
#include "tests/helpers/mgr_plan_options.h"
#include "tests/helpers/mgtune_program.h"
#include "tests/helpers/pack_fields.h"
#include "tests/helpers/test_folder.h"

namespace mgtune {
namespace {

constexpr std::array<const char*, 24> kWords = {"\"",
                                                "{",
                                                "}",
                                                "[",
                                                "]",
                                                ",",
                                                ":",
                                                "null",
                                                "true",
                                                "0",
                                                "-1",
                                                "1e308",
                                                "1e-320",
                                                "9223372036854775807",
                                                "99999999999999999999",
                                                "\"format\": 2",
                                                "\"VEC\": 3",
                                                "rows=0",
                                                "hidden=1",
                                                " T=f32",
                                                "\\u0000",
                                                "\xff\xfe",
                                                "128>();__trap();//",
                                                "cuda 5\n12000\n"};

class HostileFiles : public testing::Test {
 protected:
  std::size_t below(std::size_t bound) { return bound == 0 ? 0 : random_() % bound; }

  std::string mutated(std::string text) {
    for (std::size_t changes = 1 + below(4); changes > 0; --changes) {
      const std::size_t place = below(text.size()), bytes = below(20);
      switch (below(5)) {
        case 0:
          text[place] = static_cast<char>(random_());
          break;
        case 1:
          text.erase(place, bytes);
          break;
        case 2:
          text.insert(place, kWords[below(kWords.size())]);
          break;
        case 3:
          text.replace(place, bytes, kWords[below(kWords.size())]);
          break;
        default:
          text.insert(below(text.size()), text.substr(place, 4 * bytes));
      }
      if (text.empty()) text = " ";
    }
    return text;
  }

  // Opens and plans from a file with these bytes; what mgr_open said.
  mgr_status_t use(const std::string& bytes) {
    const std::string path = folder_.file("source");
    std::ofstream(path, std::ios::binary) << bytes;
    mgr_open_options_t open{};
    open.struct_size = sizeof(open);
    open.device = "H200";
    open.database = path.c_str();
    mgr_context_t* context = nullptr;
    const mgr_status_t opened = mgr_open(&open, &context);
    if (opened == MGR_OK) {
      plan(context, bytes);
    } else {
      EXPECT_TRUE(opened == MGR_CORRUPT || opened == MGR_INCOMPATIBLE) << mgr_last_error();
      EXPECT_NE(std::string(mgr_last_error()).find(path), std::string::npos) << mgr_last_error();
    }
    mgr_close(context);
    EXPECT_EQ(file_content(path), bytes);
    return opened;
  }

  void plan(mgr_context_t* context, const std::string& bytes) {
    const MgrPlanOptions options("rmsnorm.forward", {{"hidden", "1024"}, {"T", "bf16"}},
                                 {{"rows", 1, 100000}});
    mgr_plan_t* plan = nullptr;
    // No build of these packs is a cubin, and nothing can be compiled.
    EXPECT_EQ(mgr_plan(context, options.get(), &plan), MGR_ENVIRONMENT)
        << mgr_last_error() << bytes;
    EXPECT_EQ(plan, nullptr);
    mgr_plan_free(plan);
  }

  std::string pack() const {
    Pack pack;
    pack.compiler = "nvrtc libnvrtc.so.13.0.88 of 1 bytes";
    pack.cuda_version = 13000;
    pack.table = rmsnorm_table();
    for (const char* name : {"a", "b"}) {
      PackedBuild packed;
      packed.request = sha256_hex(name);
      packed.build = {sha256_hex("key"), sha256_hex(name), "sm_90", name, {{name, name}}, ""};
      pack.builds.push_back(packed);
    }
    return encode_pack(pack).value();
  }

  const StandInGpu gpu_;
  const TestFolder folder_;
  const Variable no_cache_{"MGTUNE_CACHE_DIR", folder_.file("empty")};
  const Variable no_nvrtc_{"MGTUNE_NVRTC_PATH", "/nowhere/libnvrtc.so.13"};
  const Variable quiet_{"MGTUNE_QUIET", "1"};
  std::minstd_rand random_{1};
};

TEST_F(HostileFiles, TablesAreRefusedOrTables) {
  const std::string table = rmsnorm_table();
  EXPECT_EQ(use(table), MGR_OK);
  int accepted = 0;
  const int rounds = in_long_lane(10'000, 1000);
  for (int i = 0; i < rounds && !HasFailure(); ++i) {
    // What no longer starts as a table is taken for a database, which it is not.
    accepted += use(mutated(table)) == MGR_OK ? 1 : 0;
  }
  EXPECT_GT(accepted, 0) << "nothing got as far as planning";
  EXPECT_LT(accepted, rounds / 2);
}

// Reading such a view never ends.
TEST_F(HostileFiles, ADatabaseWithAViewInATablesPlaceIsRefused) {
  const std::string path = folder_.file("made");
  { const Store made = Store::open(path, Store::Mode::read_write).value(); }
  for (const char* table : {"tuned", "outcomes", "gpus"}) {
    const std::string copy = folder_.file(table);
    std::filesystem::copy(path, copy);
    {
      const auto database = Database::open(copy, Database::Access::read_write).value();
      ASSERT_TRUE(
          database
              ->execute("PRAGMA foreign_keys = OFF; ALTER TABLE " + std::string(table) +
                        " RENAME TO old; CREATE VIEW " + table +
                        " AS WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r)"
                        " SELECT old.* FROM r, old")
              .ok());
    }
    EXPECT_EQ(use(file_content(copy)), MGR_CORRUPT);
  }
}

TEST_F(HostileFiles, PacksAreRefusedOrPacks) {
  const std::string bytes = pack();
  EXPECT_EQ(use(bytes), MGR_OK);
  const std::string fields = pack_fields(bytes);
  int accepted = 0;
  const int rounds = in_long_lane(10'000, 1000);
  for (int i = 0; i < rounds && !HasFailure(); ++i) {
    const std::string damaged = mutated(bytes);
    EXPECT_EQ(use(damaged) == MGR_OK, damaged == bytes);
    const std::string changed = mutated(fields);
    accepted += use(seal_pack(changed).value()) == MGR_OK ? 1 : 0;
  }
  EXPECT_GT(accepted, 0) << "nothing got as far as planning";
  EXPECT_LT(accepted, rounds / 2);
}

}  // namespace
}  // namespace mgtune
