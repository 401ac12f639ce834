#include "cli/output/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace mgtune {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr ProgressPrinter::Time kStart{};

SweepProgress halfway() {
  SweepProgress progress;
  progress.problem = "rmsnorm.forward rows=16 hidden=256 T=bf16";
  progress.problem_index = 1;
  progress.problems = 6;
  progress.done = 20;
  progress.total = 40;
  progress.best_ns = 1500;
  progress.best_variant = "row VEC=8";
  progress.elapsed_seconds = 12;
  progress.eta_seconds = 65;
  progress.fraction = 0.25;
  return progress;
}

TEST(ProgressPrinter, ElsewhereOneLineEvery30Seconds) {
  std::ostringstream out;
  ProgressPrinter printer(out, ProgressPrinter::Style::lines, 80, kStart);
  for (int second = 0; second < 75; ++second) printer.update(halfway(), kStart + seconds(second));
  printer.clear();
  const std::string line =
      "24 %, problem 2/6 rmsnorm.forward rows=16 hidden=256 T=bf16: 20/40 variants, best 1.500 us "
      "(row VEC=8), 12 s elapsed, ETA 1:05\n";
  EXPECT_EQ(out.str(), line + line);
}

TEST(ProgressPrinter, TheBarIsRedrawnAtMostTenTimesASecond) {
  std::ostringstream out;
  ProgressPrinter printer(out, ProgressPrinter::Style::bar, 120, kStart);
  for (int ms = 0; ms < 1000; ++ms) printer.update(halfway(), kStart + milliseconds(ms));
  const std::string text = out.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\r'), 10);
  EXPECT_THAT(text, Not(HasSubstr("\n")));
}

TEST(ProgressPrinter, TheBarShowsWhereItStands) {
  std::ostringstream out;
  ProgressPrinter printer(out, ProgressPrinter::Style::bar, 140, kStart);
  printer.update(halfway(), kStart);
  EXPECT_EQ(out.str(),
            "\r[#####...............] 24 %  problem 2/6  ETA 1:05  best 1.500 us  "
            "rmsnorm.forward rows=16 hidden=256 T=bf16: 20/40 variants\x1b[K");
  printer.clear();
  EXPECT_THAT(out.str(), ::testing::EndsWith("\r\x1b[K"));
}

TEST(ProgressPrinter, TheBarFitsTheTerminal) {
  for (const std::size_t columns : {10U, 22U, 30U, 80U}) {
    std::ostringstream out;
    ProgressPrinter printer(out, ProgressPrinter::Style::bar, columns, kStart);
    printer.update(halfway(), kStart);
    const std::size_t drawn = out.str().size() - std::string("\r\x1b[K").size();
    EXPECT_LE(drawn, std::max<std::size_t>(columns, 22)) << columns;
  }
}

TEST(ProgressPrinter, ColorOnlyWhereAsked) {
  std::ostringstream plain, colored;
  ProgressPrinter(plain, ProgressPrinter::Style::bar, 80, kStart).update(halfway(), kStart);
  ProgressPrinter(colored, ProgressPrinter::Style::color_bar, 80, kStart).update(halfway(), kStart);
  EXPECT_THAT(plain.str(), Not(HasSubstr("\x1b[32m")));
  EXPECT_THAT(colored.str(), HasSubstr("\x1b[32m#####\x1b[0m"));
}

TEST(ProgressPrinter, SaysWhatIsNotKnownYet) {
  SweepProgress progress = halfway();
  progress.total = 0;
  progress.best_ns.reset();
  progress.eta_seconds.reset();
  std::ostringstream out;
  ProgressPrinter(out, ProgressPrinter::Style::bar, 120, kStart).update(progress, kStart);
  EXPECT_THAT(out.str(), HasSubstr("] 24 %  problem 2/6  ETA -  no best yet  rmsnorm.forward"));
}

}  // namespace
}  // namespace mgtune
