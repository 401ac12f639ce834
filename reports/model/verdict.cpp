#include "model/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "text/units.h"

namespace mgtune {
namespace {

// The picks of one GPU by one method.
struct Tally {
  const GpuRecord* gpu = nullptr;
  std::int64_t gpu_id = 0;
  std::string method;
  std::int64_t problems = 0, faster = 0, default_stays = 0, no_default = 0;
  double log_speedups = 0;  // of the faster ones
  const ReportPick* best = nullptr;
};

// In the order of the picks: GPUs first, emulation last.
std::vector<Tally> tally_picks(const ReportModel& model) {
  std::vector<Tally> tallies;
  std::map<std::pair<std::int64_t, std::string>, std::size_t> index;
  for (const ReportPick& pick : model.picks) {
    const TunedRecord& tuned = pick.view.tuned;
    const auto [at, is_new] = index.try_emplace({tuned.gpu, tuned.method}, tallies.size());
    if (is_new) tallies.push_back({&pick.view.gpu, tuned.gpu, tuned.method});
    Tally& tally = tallies[at->second];
    ++tally.problems;
    if (pick.standing == PickStanding::no_default) {
      ++tally.no_default;
    } else if (pick.standing != PickStanding::faster) {
      ++tally.default_stays;
    } else {
      ++tally.faster;
      tally.log_speedups += std::log(pick.speedup.value_or(1));
      if (tally.best == nullptr || pick.speedup > tally.best->speedup) tally.best = &pick;
    }
  }
  return tallies;
}

// "On NVIDIA H200", with the method where the GPU has picks by several.
std::string on_gpu(const Tally& tally, const std::vector<Tally>& all) {
  const auto of_this_gpu = std::ranges::count(all, tally.gpu_id, &Tally::gpu_id);
  if (of_this_gpu == 1) return fmt::format("On {}", tally.gpu->model);
  return fmt::format("On {} (method {})", tally.gpu->model, tally.method);
}

std::string of_problems(std::int64_t some, std::int64_t all) {
  if (all == 1) return "its one problem";
  return some == all ? fmt::format("all {} problems", all)
                     : fmt::format("{} of {} problems", some, all);
}

std::string gain(const Tally& tally) {
  const ReportPick& best = *tally.best;
  const std::string top = ratio_text(best.speedup.value_or(1));
  const std::string where = fmt::format("{} {}", best.view.op, best.view.problem);
  if (tally.faster == 1) return fmt::format("{} ({})", top, where);
  const double mean = std::exp(tally.log_speedups / static_cast<double>(tally.faster));
  return fmt::format("{} in the geometric mean and {} at most ({})", ratio_text(mean), top, where);
}

std::string gpu_sentence(const Tally& tally, const std::vector<Tally>& all) {
  std::string text = on_gpu(tally, all);
  if (tally.no_default == tally.problems) {
    return fmt::format("{}, {} {} a fastest variant; the default has no time to compare with.",
                       text, counted(tally.problems, "problem"),
                       tally.problems == 1 ? "has" : "have");
  }
  if (tally.faster == 0) {
    text += fmt::format(", no variant beats the default on {}",
                        of_problems(tally.problems, tally.problems));
  } else {
    text += fmt::format(", the tuned variant beats the default on {}, by {}",
                        of_problems(tally.faster, tally.problems), gain(tally));
    if (tally.default_stays > 0) {
      text += fmt::format("; on {} the default stays, as nothing beats it beyond noise",
                          tally.default_stays);
    }
  }
  if (tally.no_default > 0) {
    text += fmt::format("; on {} the default has no time to compare with", tally.no_default);
  }
  return text + ".";
}

std::string emulation_sentence(const Tally& tally) {
  return fmt::format("On the cpu device (emulation), {} {} a checked variant.",
                     counted(tally.problems, "problem"), tally.problems == 1 ? "has" : "have");
}

// " of 4374 that the constraints admit". "" if the number is not known for every problem yet, or
// all were evaluated.
std::string of_admissible(const ReportModel& model) {
  // A sweep that runs has problems whose space is not counted yet.
  if (!model.sweeps.empty() && model.sweeps.front().sweep.finished_at.empty()) return "";
  std::set<std::tuple<std::int64_t, std::string, std::string>> known;
  std::int64_t admissible = 0;
  for (const SpaceView& view : model.spaces) {
    if (!view.space.counted) return "";
    known.emplace(view.gpu_id, view.op, view.problem);
    if (view.space.unavailable.empty()) admissible += view.space.admissible;
  }
  const auto all = static_cast<std::int64_t>(model.variants.size());
  if (known.size() != model.problems.size() || admissible <= all) return "";
  return fmt::format(" of {} that the constraints admit", admissible);
}

// "402 variants evaluated, 12 failed (10 compile_failed, 2 wrong); a variant that failed is ..."
std::string failure_sentence(const ReportModel& model) {
  std::int64_t failed = 0, stopped = 0;
  std::string kinds;
  for (const OutcomeCount& count : model.counts) {
    if (count.outcome == Outcome::raced_out) stopped += count.count;
    if (!is_failure(count.outcome)) continue;
    failed += count.count;
    kinds +=
        fmt::format("{}{} {}", kinds.empty() ? "" : ", ", count.count, to_string(count.outcome));
  }
  const auto all = static_cast<std::int64_t>(model.variants.size());
  const std::string raced =
      stopped == 0 ? ""
                   : fmt::format(" {} stopped early, as clearly slower than the best until then.",
                                 stopped == 1 ? "1 was" : fmt::format("{} were", stopped));
  if (failed == 0) {
    return fmt::format("{} evaluated{}, none of them failed.{}", counted(all, "variant"),
                       of_admissible(model), raced);
  }
  return fmt::format("{} evaluated{}, {} failed ({}); a variant that failed is never dispatched.{}",
                     counted(all, "variant"), of_admissible(model), failed, kinds, raced);
}

}  // namespace

std::string report_title(const ReportModel& model) {
  std::set<std::string> operators;
  std::set<std::string> devices;
  for (const ReportVariant& variant : model.variants) {
    operators.insert(variant.view.op);
    devices.insert(device_text(variant.view.gpu));
  }
  for (const ReportPick& pick : model.picks) {  // of an imported table: it has no variants
    operators.insert(pick.view.op);
    devices.insert(device_text(pick.view.gpu));
  }
  if (operators.empty()) return "mgtune report";
  const auto name = [](const std::set<std::string>& names, std::string_view noun) {
    return names.size() == 1 ? *names.begin() : fmt::format("{} {}", names.size(), noun);
  };
  return fmt::format("mgtune report: {} on {}", name(operators, "operators"),
                     name(devices, "devices"));
}

std::vector<std::string> verdict_sentences(const ReportModel& model) {
  if (model.picks.empty() && model.variants.empty()) {
    return {"There are no results yet.", fmt::format("Fill this store with: {}", kSweepCommand)};
  }
  std::vector<std::string> sentences;
  const std::vector<Tally> tallies = tally_picks(model);
  sentences.reserve(tallies.size() + 2);
  for (const Tally& tally : tallies) {
    sentences.push_back(tally.gpu->emulation ? emulation_sentence(tally)
                                             : gpu_sentence(tally, tallies));
  }
  if (tallies.empty()) sentences.emplace_back("No problem has a pick yet.");
  if (!model.variants.empty()) sentences.push_back(failure_sentence(model));
  return sentences;
}

}  // namespace mgtune
