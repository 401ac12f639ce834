// A disk that fills up under mgtune. A limit on the size of files stands in for it: writing beyond
// it fails in the same way.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>

#include "store/store.h"
#include "tests/helpers/mgtune_program.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class CliFullDiskTest : public VectorAddTest {
 protected:
  MgtuneProgram::Words sweep() const {
    return {"sweep", "--gpu", "cpu", "--kernel", family_, "--strategy", "exhaustive"};
  }

  std::size_t rows() const {
    Result<Store> store = Store::open(mgtune_.database(), Store::Mode::read_only);
    return store.ok() ? store->outcomes()->size() : 0;
  }
};

TEST_F(CliFullDiskTest, ADatabaseThatCannotGrowEndsTheSweepAndKeepsItsRows) {
  const std::string log = mgtune_.database() + "-wal";
  mgtune_.start(sweep());
  ASSERT_TRUE(mgtune_.wait_until([&] { return rows() > 0; }));
  std::error_code none;
  const rlimit limit{std::filesystem::file_size(log, none), RLIM_INFINITY};
  ASSERT_FALSE(none) << log;
  ASSERT_EQ(::prlimit(mgtune_.pid(), RLIMIT_FSIZE, &limit, nullptr), 0);
  const std::size_t before = rows();
  const Ended ended = mgtune_.finish();
  EXPECT_EQ(ended.exit_code, 5) << ended;
  EXPECT_FALSE(ended.by_signal);
  EXPECT_THAT(ended.err, AllOf(HasSubstr(mgtune_.database()), HasSubstr("disk I/O error")));
  EXPECT_GE(rows(), before);
  EXPECT_LT(rows(), 9U);
  EXPECT_TRUE(mgtune_.processes().empty());
  EXPECT_TRUE(std::filesystem::is_empty(mgtune_.temporary_files()));
  EXPECT_EQ(mgtune_.run(sweep()).exit_code, 3);  // a third of them does not compile
  EXPECT_EQ(rows(), 9U);
}

TEST_F(CliFullDiskTest, AReportThatDoesNotFitLeavesTheOldOne) {
  const std::string report = mgtune_.folder().file("site/report.html");
  std::filesystem::create_directory(mgtune_.folder().file("site"));
  std::ofstream(report) << "old";
  { ASSERT_TRUE(Store::open(mgtune_.database(), Store::Mode::read_write).ok()); }
  mgtune_.with_file_size_limit(4000);
  const Ended ended = mgtune_.run({"report", "-o", report});
  EXPECT_EQ(ended.exit_code, 5) << ended;
  EXPECT_THAT(ended.err, HasSubstr("cannot write " + report + ": File too large"));
  EXPECT_EQ(mgtune_.run({"report", "-o", "/dev/full"}).exit_code, 5);
  EXPECT_EQ(file_content(report), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(mgtune_.folder().file("site")), {}),
            1);
}

TEST_F(CliFullDiskTest, OutputThatDoesNotFitIsAFailure) {
  mgtune_.with_file_size_limit(500);
  const Ended ended = mgtune_.run({"list", "--json"});
  EXPECT_EQ(ended.exit_code, 5) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("cannot write to standard output"));
}

TEST_F(CliFullDiskTest, ADatabaseThatCannotBeMadeIsNamed) {
  mgtune_.with_file_size_limit(2000);
  const Ended ended = mgtune_.run(sweep());
  EXPECT_EQ(ended.exit_code, 5) << ended;
  EXPECT_THAT(ended.err, AllOf(HasSubstr(mgtune_.database()), HasSubstr("disk I/O error")));
}

}  // namespace
}  // namespace mgtune
