#include "model/pick_peers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/analysis.h"
#include "document/markdown.h"
#include "document/report_document.h"
#include "html/sections.h"
#include "tests/helpers/made_up_report.h"
#include "text/tables.h"

namespace mgtune {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

const std::string kLargeProblem = "rows=4096 hidden=4096 T=bf16";  // its pick takes 20 us
const std::string kTinyProblem = "rows=64 hidden=256 T=f32";       // of the cpu device

PeerView peer_view(const std::string& name, double median_ns,
                   const std::string& problem = kLargeProblem) {
  PeerView view;
  view.op = "rmsnorm.forward";
  view.problem = problem;
  view.peer.name = name;
  view.peer.version = "2.11.0";
  view.peer.gpu = "NVIDIA H200";
  view.peer.method = "rotating";
  view.peer.median_ns = median_ns;
  view.peer.measured_at = "2026-11-20T18:30:00Z";  // the day of the sweep that made the picks
  return view;
}

ReportModel model_with(std::vector<PeerView> peers) {
  StoredRows rows = made_up_rows();
  rows.peers = std::move(peers);
  return make_report_model(std::move(rows));
}

TEST(PickPeersTest, APickLeadsWithThePeersOfItsProblemTheFastestFirst) {
  const ReportModel model =
      model_with({peer_view("F.rms_norm", 45000), peer_view("torch.compile", 38800)});
  EXPECT_THAT(peer_lines(model),
              ElementsAre("rmsnorm.forward rows=4096 hidden=4096 T=bf16 on NVIDIA H200: 20.00 us; "
                          "torch.compile 2.11.0 38.80 us (1.94x), F.rms_norm 2.11.0 45.00 us "
                          "(2.25x)"));
  EXPECT_THAT(peer_differences(model), IsEmpty());
  EXPECT_THAT(picks_table(model), StartsWith(peer_lines(model).front() + "\n\n"));
  EXPECT_THAT(summary_table(model), StartsWith(peer_lines(model).front() + "\n\n"));
}

TEST(PickPeersTest, WithoutPeersNothingIsSaid) {
  const ReportModel model = model_with({});
  EXPECT_THAT(peer_lines(model), IsEmpty());
  EXPECT_EQ(peers_text(model), "");
  EXPECT_THAT(picks_table(model), StartsWith("rmsnorm.forward on NVIDIA H200\n"));
}

TEST(PickPeersTest, APeerThatIsFasterIsShownToo) {
  EXPECT_THAT(peer_lines(model_with({peer_view("quack", 16000)})).front(),
              HasSubstr("20.00 us; quack 2.11.0 16.00 us (0.80x)"));
}

TEST(PickPeersTest, ALineHasThreePeersAndTheNumberOfTheOthers) {
  std::vector<PeerView> peers;
  for (const int number : {1, 2, 3, 4, 5}) {
    peers.push_back(peer_view("peer" + std::to_string(number), 20000 + 1000 * number));
  }
  EXPECT_THAT(
      peer_lines(model_with(peers)).front(),
      AllOf(HasSubstr("peer3 2.11.0 23.00 us (1.15x), and 2 slower"), Not(HasSubstr("peer4"))));
}

TEST(PickPeersTest, OfManyPicksThoseLeadThatGainMost) {
  StoredRows rows = made_up_rows();
  for (int rank = 1; rank <= 7; ++rank) {
    const std::string problem = "rows=" + std::to_string(rank) + " hidden=64 T=bf16";
    rows.tuned.push_back(made_up_pick(kH200, problem, "row VEC=1", 1000, "row VEC=1", 1000));
    rows.peers.push_back(peer_view("eager", 1000 + 100 * rank, problem));
  }
  const ReportModel model = make_report_model(std::move(rows));
  const std::vector<std::string> lines = peer_lines(model);
  ASSERT_EQ(lines.size(), 6U);
  EXPECT_THAT(lines[0], StartsWith("rmsnorm.forward rows=7 hidden=64"));
  EXPECT_THAT(lines[4], StartsWith("rmsnorm.forward rows=3 hidden=64"));
  EXPECT_EQ(lines[5],
            "Over 7 picks the fastest other implementation takes 1.10x to 1.70x the time "
            "of the pick.");
  EXPECT_THAT(picks_table(model),
              AllOf(HasSubstr("fastest other"), HasSubstr("eager 2.11.0 1.100 us (1.10x)")));
}

TEST(PickPeersTest, AnotherMethodIsNamedOnce) {
  std::vector<PeerView> peers = {peer_view("torch.compile", 38800),
                                 peer_view("torch.compile", 3000, "rows=64 hidden=4096 T=bf16")};
  for (PeerView& view : peers) view.peer.method = "graph";
  const ReportModel model = model_with(peers);
  EXPECT_EQ(peer_lines(model).size(), 2U);
  EXPECT_THAT(
      peer_differences(model),
      ElementsAre("The methods differ: torch.compile 2.11.0 was timed by graph, the pick by "
                  "rotating."));
  EXPECT_THAT(picks_table(model), HasSubstr("The methods differ: torch.compile"));
}

TEST(PickPeersTest, AnotherDayIsNamedAndADayThatIsNotKnown) {
  std::vector<PeerView> peers = {peer_view("torch.compile", 38800), peer_view("quack", 39000)};
  peers[0].peer.measured_at = "2025-01-02T03:04:05Z";
  peers[1].peer.measured_at = "";
  EXPECT_THAT(
      peer_differences(model_with(peers)),
      ElementsAre("The dates differ: torch.compile 2.11.0 was timed on 2025-01-02, the pick "
                  "on 2026-11-20.",
                  "It is not known when quack 2.11.0 was timed."));
}

TEST(PickPeersTest, APeerOnAnotherGpuIsNamedButNotCompared) {
  PeerView peer = peer_view("torch.compile", 38800);
  peer.peer.gpu = "NVIDIA L4";
  const ReportModel model = model_with({peer});
  EXPECT_THAT(peer_lines(model), IsEmpty());
  EXPECT_THAT(peer_differences(model),
              ElementsAre("The GPUs differ, so torch.compile 2.11.0 on NVIDIA L4 is not compared "
                          "with the pick on NVIDIA H200."));
}

TEST(PickPeersTest, APartOfAGpuIsAnotherGpu) {
  StoredRows rows = made_up_rows();
  for (TunedView& row : rows.tuned) row.gpu.mig_profile = "1g.18gb";
  rows.peers = {peer_view("torch.compile", 38800)};
  EXPECT_THAT(peer_lines(make_report_model(std::move(rows))), IsEmpty());
}

TEST(PickPeersTest, EmulationIsNeverComparedWithAPeer) {
  PeerView named_cpu = peer_view("torch.compile", 38800, kTinyProblem);
  named_cpu.peer.gpu = "cpu";
  const ReportModel model =
      model_with({peer_view("torch.compile", 38800, kTinyProblem), named_cpu});
  EXPECT_THAT(peer_lines(model), IsEmpty());
  EXPECT_THAT(peer_differences(model), IsEmpty());
  for (const ReportPick& pick : model.picks) EXPECT_TRUE(pick.peers.empty());
}

TEST(PickPeersTest, TheDocumentOfThePageHasThemByTheirGpu) {
  const ReportModel model = model_with({peer_view("torch.compile", 38800)});
  const auto document = nlohmann::json::parse(report_document(model, analyze(model), {}));
  ASSERT_EQ(document["peers"].size(), 1U);
  const auto& peer = document["peers"][0];
  EXPECT_EQ(document["gpus"][peer["gpu"].get<std::size_t>()]["model"], "NVIDIA H200");
  EXPECT_EQ(peer["operator"], "rmsnorm.forward");
  EXPECT_EQ(peer["problem"], kLargeProblem);
  EXPECT_EQ(peer["name"], "torch.compile");
  EXPECT_EQ(peer["version"], "2.11.0");
  EXPECT_EQ(peer["method"], "rotating");
  EXPECT_EQ(peer["median_ns"], 38800);
  EXPECT_TRUE(peer["low_ns"].is_null());
  EXPECT_EQ(peer["measured_at"], "2026-11-20T18:30:00Z");
}

TEST(PickPeersTest, PicksByTwoMethodsHaveThePeerOnceInTheDocument) {
  StoredRows rows = made_up_rows();
  TunedView other = rows.tuned[1];
  other.tuned.method = "graph";
  rows.tuned.push_back(other);
  rows.peers = {peer_view("torch.compile", 38800)};
  const ReportModel model = make_report_model(std::move(rows));
  const auto document = nlohmann::json::parse(report_document(model, analyze(model), {}));
  EXPECT_EQ(document["peers"].size(), 1U);
  EXPECT_EQ(peer_lines(model).size(), 2U);
}

TEST(PickPeersTest, JsonOfThePicksHasThePeersWithTheirRatio) {
  const auto document =
      nlohmann::json::parse(picks_json(model_with({peer_view("torch.compile", 38800)})));
  const auto& peers = document["picks"][1]["peers"];
  ASSERT_EQ(peers.size(), 1U) << document.dump(1);
  EXPECT_EQ(peers[0]["name"], "torch.compile");
  EXPECT_EQ(peers[0]["median_ns"], 38800);
  EXPECT_DOUBLE_EQ(peers[0]["ratio"], 1.94);
}

TEST(PickPeersTest, MarkdownAndThePageWithoutScriptsLeadWithThem) {
  PeerView peer = peer_view("<b>evil</b>", 38800);
  peer.peer.method = "graph";
  const ReportModel model = model_with({peer});
  const std::string html = verdict_section(model);
  EXPECT_THAT(html, StartsWith("<p class=\"verdict\">rmsnorm.forward rows=4096"));
  EXPECT_THAT(html, AllOf(HasSubstr("&lt;b&gt;evil&lt;/b&gt; 2.11.0 38.80 us (1.94x)"),
                          Not(HasSubstr("<b>evil"))));
  const std::string markdown = report_markdown(model, analyze(model), {});
  EXPECT_LT(markdown.find("38.80 us (1.94x)"), markdown.find("On NVIDIA H200,"));
  EXPECT_THAT(markdown, HasSubstr("- The methods differ:"));
}

}  // namespace
}  // namespace mgtune
