#include "model/pick_peers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

#include "text/units.h"

namespace mgtune {
namespace {

constexpr std::size_t kMostInALine = 3;  // the fastest ones
constexpr std::size_t kMostLines = 5;    // of the picks that gain most

// "2026-11-21" of "2026-11-21T09:00:00Z"; "" if the time is not known.
std::string_view day_of(std::string_view time) { return time.substr(0, time.find('T')); }

std::string others_text(std::size_t count) {
  return count == 0 ? "" : fmt::format(", and {} slower", count);
}

std::string line_of(const ReportPick& pick) {
  std::string peers;
  const std::size_t shown = std::min(kMostInALine, pick.peers.size());
  for (std::size_t i = 0; i < shown; ++i) {
    peers += (i == 0 ? "" : ", ") + peer_text(pick, pick.peers[i]);
  }
  return fmt::format("{} {} on {}: {}; {}{}", pick.view.op, pick.view.problem, pick.view.gpu.model,
                     time_text(pick.view.tuned.median_ns), peers,
                     others_text(pick.peers.size() - shown));
}

// Over the fastest peer.
double gain_of(const ReportPick& pick) {
  return pick.peers.front().median_ns / pick.view.tuned.median_ns;
}

std::string method_difference(const ReportPick& pick, const PeerRecord& peer) {
  const std::string& ours = pick.view.tuned.method;
  if (peer.method == ours) return "";
  return fmt::format("The methods differ: {} was timed by {}, the pick by {}.", peer_name(peer),
                     peer.method, ours);
}

std::string date_difference(const ReportPick& pick, const PeerRecord& peer) {
  const std::string_view ours = day_of(pick.measured_at), theirs = day_of(peer.measured_at);
  if (theirs.empty()) {
    return fmt::format("It is not known when {} was timed.", peer_name(peer));
  }
  if (ours.empty() || ours == theirs) return "";
  return fmt::format("The dates differ: {} was timed on {}, the pick on {}.", peer_name(peer),
                     theirs, ours);
}

std::string gpu_difference(const ReportPick& pick, const PeerRecord& peer) {
  return fmt::format("The GPUs differ, so {} on {} is not compared with the pick on {}.",
                     peer_name(peer), peer.gpu, pick.view.gpu.model);
}

}  // namespace

void add_peers(const std::vector<PeerView>& peers, ReportModel& model) {
  std::map<std::pair<std::string, std::string>, std::vector<const PeerRecord*>> of_problem;
  for (const PeerView& view : peers) of_problem[{view.op, view.problem}].push_back(&view.peer);
  for (ReportPick& pick : model.picks) {
    const GpuRecord& gpu = pick.view.gpu;
    const auto sweep = std::ranges::find_if(model.sweeps, [&](const SweepView& view) {
      return view.sweep.id == pick.view.tuned.sweep;
    });
    if (sweep != model.sweeps.end()) pick.measured_at = sweep->sweep.started_at;
    const auto found = of_problem.find({pick.view.op, pick.view.problem});
    if (found == of_problem.end() || gpu.emulation || pick.view.tuned.median_ns <= 0) continue;
    for (const PeerRecord* peer : found->second) {
      const bool is_same = peer->gpu == gpu.model && gpu.mig_profile.empty();
      (is_same ? pick.peers : pick.peers_elsewhere).push_back(*peer);
    }
    std::ranges::stable_sort(pick.peers, {}, &PeerRecord::median_ns);
  }
}

std::string peer_name(const PeerRecord& peer) {
  return peer.version.empty() ? peer.name : peer.name + " " + peer.version;
}

std::string peer_text(const ReportPick& pick, const PeerRecord& peer) {
  return fmt::format("{} {} ({})", peer_name(peer), time_text(peer.median_ns),
                     ratio_text(peer.median_ns / pick.view.tuned.median_ns));
}

std::vector<std::string> peer_lines(const ReportModel& model) {
  std::vector<const ReportPick*> picks;
  for (const ReportPick& pick : model.picks) {
    if (!pick.peers.empty()) picks.push_back(&pick);
  }
  std::ranges::stable_sort(picks, std::ranges::greater{},
                           [](const ReportPick* pick) { return gain_of(*pick); });
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < std::min(kMostLines, picks.size()); ++i) {
    lines.push_back(line_of(*picks[i]));
  }
  if (picks.size() > kMostLines) {
    lines.push_back(fmt::format(
        "Over {} picks the fastest other implementation takes {} to {} the "
        "time of the pick.",
        picks.size(), ratio_text(gain_of(*picks.back())), ratio_text(gain_of(*picks.front()))));
  }
  return lines;
}

std::vector<std::string> peer_differences(const ReportModel& model) {
  std::vector<std::string> sentences;
  const auto add = [&](std::string sentence) {
    if (sentence.empty() || std::ranges::find(sentences, sentence) != sentences.end()) return;
    sentences.push_back(std::move(sentence));
  };
  for (const ReportPick& pick : model.picks) {
    for (const PeerRecord& peer : pick.peers) {
      add(method_difference(pick, peer));
      add(date_difference(pick, peer));
    }
    for (const PeerRecord& peer : pick.peers_elsewhere) add(gpu_difference(pick, peer));
  }
  return sentences;
}

}  // namespace mgtune
