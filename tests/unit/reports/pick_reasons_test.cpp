#include "model/pick_reasons.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/one_parameter_changes.h"
#include "tests/helpers/made_up_report.h"

namespace mgtune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kReasonsProblem[] = "rows=4096 hidden=4096 T=bf16";
constexpr char kReasonsPick[] = "row VEC=8 THREADS=256 STAGES=2";

StoredRows neighbour_rows() {
  StoredRows rows;
  const auto add = [&](const char* variant, double time_ns, Outcome outcome = Outcome::ok) {
    rows.outcomes.push_back(made_up_outcome(kH200, kReasonsProblem, variant, outcome, time_ns));
    rows.outcomes.back().launch_hash = "launch";
  };
  add(kReasonsPick, 20000);
  add("row VEC=4 THREADS=256 STAGES=2", 30000);
  add("row VEC=8 THREADS=256 STAGES=3", 20100);
  add("row VEC=8 THREADS=256 STAGES=4", 36600, Outcome::raced_out);
  add("row VEC=4 THREADS=128 STAGES=2", 32000);
  add("row VEC=2 THREADS=256 STAGES=3", 50000);
  add("bulk CLUSTER=2", 21000);
  add("bulk CLUSTER=4", 22000);
  return rows;
}

struct ReadReport {
  ReportModel model;
  ReportAnalysis analysis;
};

ReadReport read_report(StoredRows rows,
                       const std::string& standard = "row VEC=4 THREADS=128 STAGES=2") {
  rows.tuned.push_back(made_up_pick(kH200, kReasonsProblem, kReasonsPick, 20000, standard, 32000));
  rows.tuned.back().copy_ns = 18000;
  ReadReport read{make_report_model(std::move(rows)), {}};
  read.analysis = analyze(read.model);
  return read;
}

std::vector<std::string> reasons(const ReadReport& read) {
  return pick_reasons(read.model, read.analysis, read.model.picks.front());
}

CounterView made_up_counters(const char* variant, double instructions, double hits) {
  CounterView view;
  view.gpu_id = kH200;
  view.op = "rmsnorm.forward";
  view.problem = kReasonsProblem;
  view.variant = variant;
  view.build_sha256 = "4bf5122f344554c53bde2ebb8cd2b7e3d1600ad631c385a5d7cce23c7785459a";
  view.launch_hash = "launch";
  view.counters = {{"dram_read_bytes", 33.6e6},
                   {"dram_write_bytes", instructions / 100},
                   {"l2_hit_percent", hits},
                   {"instructions", instructions},
                   {"local_loads", 0}};
  return view;
}

TEST(PickReasonsTest, EachParameterIsChangedAlone) {
  EXPECT_THAT(
      reasons(read_report(neighbour_rows())),
      ElementsAre(
          "With one value of the default and all else as in the pick, the time is: VEC=4 1.50x "
          "that of the pick. What THREADS alone does was not measured: no timed variant "
          "differs in it only.",
          "If one parameter of the pick changes, its time is longer: STAGES=4 instead of 2 about "
          "1.83x.",
          "The fastest variant of each other design, beside the pick's design row: bulk "
          "1.050x."));
}

TEST(PickReasonsTest, APickThatIsTheDefaultIsComparedWithItsNeighbours) {
  EXPECT_THAT(reasons(read_report(neighbour_rows(), kReasonsPick)).front(),
              "If one parameter of the pick changes, its time is longer: STAGES=4 instead of 2 "
              "about 1.83x, VEC=4 instead of 8 1.50x.");
}

TEST(PickReasonsTest, AChangeThatCostsLittleIsCalledSo) {
  StoredRows rows = neighbour_rows();
  std::erase_if(rows.outcomes,
                [](const OutcomeView& view) { return view.outcome == Outcome::raced_out; });
  EXPECT_THAT(reasons(read_report(std::move(rows), kReasonsPick)).front(),
              HasSubstr("STAGES alone changes the time by less than 1 %."));
}

TEST(PickReasonsTest, AShorterSingleMeasurementIsNotCalledAGain) {
  StoredRows rows = neighbour_rows();
  rows.outcomes[2].measurement->median_ns = 19000;
  EXPECT_THAT(
      reasons(read_report(std::move(rows), kReasonsPick)).front(),
      HasSubstr("Shorter, but in a single measurement or within the noise: STAGES=3 instead "
                "of 2 0.950x."));
}

TEST(PickReasonsTest, ThePeersTimeIsSetAgainstTheCeiling) {
  StoredRows rows = neighbour_rows();
  PeerView peer;
  peer.op = "rmsnorm.forward";
  peer.problem = kReasonsProblem;
  peer.peer.name = "torch.compile";
  peer.peer.version = "2.11.0";
  peer.peer.gpu = "NVIDIA H200";
  peer.peer.median_ns = 40000;
  rows.peers.push_back(peer);
  EXPECT_EQ(
      reasons(read_report(std::move(rows))).front(),
      "The pick reaches 90.0 % of the copy of 64.0 MiB, torch.compile 2.11.0 45.0 % of it. In "
      "the 40.00 us of torch.compile a copy kernel moves as many bytes as this problem must "
      "move 2.2 times, in the 20.00 us of the pick 1.1 times.");
}

TEST(PickReasonsTest, CountersAreComparedWithThoseOfTheDefault) {
  StoredRows rows = neighbour_rows();
  rows.counters = {made_up_counters(kReasonsPick, 12.5e6, 1),
                   made_up_counters("row VEC=4 THREADS=128 STAGES=2", 25e6, 6)};
  rows.outcomes[4].registers = 64;
  EXPECT_EQ(reasons(read_report(std::move(rows))).back(),
            "Counters of the pick, beside the default (1.60x): L2 hit rate 1.0 % instead of 6.0 %, "
            "instructions 12.50 million instead of 25.00 million, registers 32 instead of 64. "
            "Alike within 2 %: bytes read from DRAM, bytes written to DRAM.");
}

TEST(PickReasonsTest, ADefaultThatIsPickedIsComparedWithTheFastestOtherThatWasCounted) {
  StoredRows rows = neighbour_rows();
  rows.counters = {made_up_counters(kReasonsPick, 12.5e6, 1),
                   made_up_counters("bulk CLUSTER=4", 12.6e6, 1.5),
                   made_up_counters("row VEC=4 THREADS=256 STAGES=2", 50e6, 1)};
  EXPECT_EQ(
      reasons(read_report(std::move(rows), kReasonsPick)).back(),
      "The counters of the pick and of the runner-up `bulk CLUSTER=4` (1.10x) do not differ. Alike "
      "within 2 %: bytes read from DRAM, bytes written to DRAM, L2 hit rate, instructions.");
}

TEST(PickReasonsTest, ARunnerUpOfTheSameDesignIsNamedByWhatDiffers) {
  StoredRows rows = neighbour_rows();
  rows.counters = {made_up_counters(kReasonsPick, 12.5e6, 1),
                   made_up_counters("row VEC=8 THREADS=256 STAGES=3", 25e6, 1)};
  const std::vector<std::string> sentences = reasons(read_report(std::move(rows), kReasonsPick));
  EXPECT_THAT(sentences.back(), HasSubstr("beside the runner-up with STAGES=3 (1.005x): instr"));
  EXPECT_EQ(sentences.front(),
            "It moves 33.7 MB through DRAM, 0.50 times the bytes that must move.");
}

TEST(PickReasonsTest, WhatWasNotRecordedIsNotSaid) {
  StoredRows rows;
  rows.outcomes = {made_up_outcome(kH200, kReasonsProblem, kReasonsPick, Outcome::ok, 20000)};
  EXPECT_THAT(reasons(read_report(std::move(rows), kReasonsPick)), IsEmpty());
  EXPECT_THAT(reasons(read_report({}, kReasonsPick)), IsEmpty());
}

TEST(PickReasonsTest, EmulationSaysNothingOfAGpu) {
  const ReportModel model = make_report_model(made_up_rows());
  const ReportPick& pick = model.picks.back();
  ASSERT_TRUE(pick.view.gpu.emulation);
  EXPECT_THAT(pick_reasons(model, analyze(model), pick), IsEmpty());
}

TEST(OneParameterChangesTest, ValuesOfOtherVariantsThatWereNotTriedAloneAreNamed) {
  const ReadReport read = read_report(neighbour_rows());
  EXPECT_THAT(untried_changes(read.model, read.analysis, read.model.picks.front()),
              ElementsAre("VEC=2", "THREADS=128"));
}

}  // namespace
}  // namespace mgtune
