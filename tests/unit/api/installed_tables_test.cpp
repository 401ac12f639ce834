// Installed tables: each operator gets its own rows, once. Errors in the rows of other operators do
// not matter.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "family/catalog.h"
#include "source/tuned_source.h"
#include "tests/helpers/environment_variable.h"
#include "tests/helpers/fakes/stand_in_gpu.h"
#include "tests/helpers/operators/golden_operators.h"
#include "tests/helpers/test_folder.h"

namespace mgtune {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class InstalledTablesTest : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(folder_.file(name), std::ios::binary) << content;
    return folder_.file(name);
  }
  const Operator& op(const std::string& name) { return **catalog_.find_operator(name); }

  const TestFolder folder_;
  Catalog catalog_{FileSystem::real()};
  TunedSource source_;
  InstalledTables& tables_ = source_.installed;
};

TEST_F(InstalledTablesTest, AnOperatorGetsItsRowsOnce) {
  EXPECT_TRUE(tables_.empty());
  ASSERT_TRUE(tables_.add(write("h200", rmsnorm_table())).ok());
  ASSERT_TRUE(tables_.add(write("l4", rmsnorm_table("NVIDIA L4"))).ok());
  EXPECT_FALSE(tables_.empty());
  EXPECT_THAT(tables_.load(op("swiglu.forward")).rows, IsEmpty());
  const InstalledTables::Rows first = tables_.load(op("rmsnorm.forward"));
  EXPECT_THAT(first.failures, IsEmpty());
  ASSERT_EQ(first.rows.size(), 2U);
  EXPECT_EQ(first.rows[0].gpu.model, "NVIDIA H200");
  EXPECT_EQ(first.rows[1].gpu.model, "NVIDIA L4");
  EXPECT_EQ(first.rows[0].problem, "rows=512 hidden=1024 T=bf16");
  EXPECT_THAT(tables_.load(op("rmsnorm.forward")).rows, IsEmpty());
  EXPECT_EQ(tables_.loaded("rmsnorm.forward"), 2U);
  EXPECT_EQ(tables_.loaded("swiglu.forward"), 0U);
}

TEST_F(InstalledTablesTest, WhatIsWrongIsSaidToTheOperatorThatItIsOf) {
  const Variable quiet("MGTUNE_QUIET", "1");
  ASSERT_TRUE(tables_.add(write("good", rmsnorm_table())).ok());
  const std::string of_another =
      replaced(rmsnorm_table(), "rmsnorm.forward", "rmsnorm.add_forward");
  const std::string stale = write("stale", replaced(of_another, "\"VEC\": 8", "\"VEC\": 3"));
  ASSERT_TRUE(tables_.add(stale).ok());
  add_installed(op("rmsnorm.forward"), source_);
  EXPECT_EQ(source_.rows.size(), 1U);
  EXPECT_THAT(source_.notes, IsEmpty());
  source_.text = "none";
  EXPECT_EQ(source_lines(source_, "rmsnorm.forward"),
            "tables    none; installed tables, 1 tuned problem of rmsnorm.forward\n");
  add_installed(op("rmsnorm.add_forward"), source_);
  EXPECT_EQ(source_.rows.size(), 1U);
  EXPECT_THAT(source_.notes, ElementsAre(HasSubstr(stale + ": /tables/0/picks/0")));
  EXPECT_THAT(source_lines(source_, "rmsnorm.add_forward"),
              AllOf(HasSubstr("installed tables, 0 tuned problems of rmsnorm.add_forward\n"),
                    HasSubstr("note      " + stale)));
}

TEST_F(InstalledTablesTest, AFileThatIsNoTableIsSaidOnce) {
  const Variable quiet("MGTUNE_QUIET", "1");
  const std::string cut = write("cut", rmsnorm_table().substr(0, 300));
  EXPECT_THAT(tables_.add(cut).message(), HasSubstr(cut + ": "));
  EXPECT_EQ(tables_.add(folder_.file("none")).code(), StatusCode::not_found);
  EXPECT_TRUE(tables_.empty());
  ASSERT_TRUE(
      tables_.add(write("newer", replaced(rmsnorm_table(), "\"format\": 1", "\"format\": 2")))
          .ok());
  ASSERT_TRUE(tables_.add(write("other", "{}")).ok());
  for (const char* name : {"rmsnorm.forward", "swiglu.forward"}) add_installed(op(name), source_);
  EXPECT_THAT(source_.rows, IsEmpty());
  EXPECT_THAT(source_.notes,
              ElementsAre(HasSubstr("format 2 is newer"), HasSubstr("a tuned table")));
}

}  // namespace
}  // namespace mgtune
