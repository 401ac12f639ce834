// Picks, and the builds behind them.

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "core/text.h"
#include "core/variant_words.h"
#include "document/document_parts.h"
#include "model/default_difference.h"
#include "model/next_step.h"
#include "model/pick_reasons.h"

namespace mgtune {
namespace {

Json share_json(const CeilingShare& share) {
  return {{"name", share.name}, {"fraction", number(share.fraction)}, {"text", share_text(share)}};
}

// "faster": the noise rule's words are in capitals.
std::string lower(std::string_view word) {
  std::string text(word);
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

Json baseline_json(const std::optional<BaselinePick>& pick) {
  if (!pick) return nullptr;
  return {{"variant", pick->variant},
          {"time_ns", number(pick->time_ns)},
          {"speedup", number(pick->speedup)},
          {"speedup_low", number(pick->speedup_low)},
          {"speedup_high", number(pick->speedup_high)},
          {"verdict", lower(to_string(pick->verdict))}};
}

const OutcomeView* view_of(const DocumentInput& input, const std::optional<std::size_t>& row) {
  return row ? &input.model.variants[*row].view : nullptr;
}

Json count_of(const OutcomeView* view, int OutcomeView::*field) {
  return view != nullptr ? count_or_null(view->*field) : Json();
}

// Whether programs run it. The fastest variant of a recording is shown as a pick, but no program
// runs it.
bool serves(const ReportPick& pick) {
  return !pick.imported || pick.standing != PickStanding::no_default;
}

std::string explain_command(const DocumentInput& input, const ReportPick& pick) {
  return "mgtune explain " + place_words(input, pick.view.gpu, pick.view.op, pick.view.problem);
}

// One file with the picks of the operator and their builds.
std::string pack_command(const DocumentInput& input, const ReportPick& pick) {
  return fmt::format("mgtune pack --kernel {} --gpu {}{} -o {}", shell_word(pick.view.op),
                     shell_word(pick.view.gpu.model), database_words(input),
                     shell_word(pick.view.op + ".mgpack"));
}

std::string next_command(const DocumentInput& input, const ReportPick& pick,
                         NextStep::Command command) {
  switch (command) {
    case NextStep::Command::none:
      return "";
    case NextStep::Command::sweep_on_gpu:
      return fmt::format("mgtune sweep {} --gpu auto", shell_word(pick.view.op));
    case NextStep::Command::repeat_sweep: {
      const std::int64_t sweep = input.index.sweep(pick.view.tuned.sweep);
      return sweep < 0 ? "" : input.model.sweeps[static_cast<std::size_t>(sweep)].sweep.command;
    }
    case NextStep::Command::first_sweep:
      return "mgtune sweep " + place_words(input, pick.view.gpu, pick.view.op, pick.view.problem);
    case NextStep::Command::count:
      return fmt::format("{} {}",
                         profile_command(input, pick.view.gpu, pick.view.op, pick.view.problem),
                         shell_word(pick.view.tuned.variant));
  }
  return "";
}

Json next_json(const DocumentInput& input, const ReportPick& pick) {
  const NextStep step = next_step(input.model, input.analysis, pick);
  if (step.text.empty()) return nullptr;
  return {{"text", step.text}, {"command", next_command(input, pick, step.command)}};
}

Json pick_json(const DocumentInput& input, std::size_t place) {
  const ReportPick& pick = input.model.picks[place];
  const TunedRecord& tuned = pick.view.tuned;
  const OutcomeView* const view = view_of(input, pick.row);
  const OutcomeView* const fallback = view_of(input, pick.default_row);
  const std::vector<CeilingShare> shares = ceiling_shares(pick);
  const bool rate = !pick.view.gpu.emulation && pick.view.flops > 0 && tuned.median_ns > 0;
  const std::int64_t sweep = input.index.sweep(tuned.sweep);
  Json json = {{"problem", pick.problem},
               {"method", input.index.methods.index_of(tuned.method)},
               {"row", pick.row},
               {"variant", tuned.variant},
               {"design", split_variant(tuned.variant).design},
               {"time_ns", number(tuned.median_ns)},
               {"low_ns", number(pick.low_ns)},
               {"high_ns", number(pick.high_ns)},
               {"default_row", pick.default_row},
               {"default_variant", tuned.default_variant},
               {"default_ns", known_time(tuned.default_median_ns)},
               {"standing", to_string(pick.standing)},
               {"speedup", number(pick.speedup)},
               {"speedup_low", number(pick.speedup_low)},
               {"speedup_high", number(pick.speedup_high)}};
  json["baseline"] =
      place < input.options.baseline.size() ? baseline_json(input.options.baseline[place]) : Json();
  json["ceiling"] = shares.empty() ? Json() : share_json(shares.front());
  json["ceilings"] = Json::array(shares, share_json);
  json["bandwidth_gbps"] = number(pick.bandwidth_gbps);
  json["gflops"] = rate ? number(pick.view.flops / tuned.median_ns) : Json();
  json["noise_floor"] = number(pick.noise_floor);
  json["tied"] = pick.tied;
  json["tied_rows"] = pick.tied_rows;
  json["against_default"] = difference_sentences(input.model, input.analysis, pick);
  json["why"] = pick_reasons(input.model, input.analysis, pick);
  json["limit"] = pick.roofline.limit;
  json["next"] = next_json(input, pick);
  json["variants_ok"] = pick.variants_ok;
  json["variants_failed"] = pick.variants_failed;
  json["imported"] = pick.imported;
  json["build_sha256"] = tuned.build_sha256;
  json["default_build_sha256"] = fallback != nullptr ? fallback->build_sha256 : "";
  json["registers"] = count_of(view, &OutcomeView::registers);
  json["spill_bytes"] = count_of(view, &OutcomeView::spill_bytes);
  json["sweep"] = sweep >= 0 ? Json(sweep) : Json();
  json["use"] = serves(pick) ? explain_command(input, pick) : "";
  json["ship"] = serves(pick) ? pack_command(input, pick) : "";
  return json;
}

}  // namespace

Json picks_part(const DocumentInput& input) {
  Json picks = Json::array();
  for (std::size_t i = 0; i < input.model.picks.size(); ++i) picks.push_back(pick_json(input, i));
  return picks;
}

Json builds_part(const DocumentInput& input) {
  Json builds = Json::array();
  const auto add = [&](const ReportPick& pick, const std::optional<std::size_t>& row,
                       const std::string& variant, std::string_view role, std::string_view sha256) {
    if (sha256.empty()) return;
    builds.push_back({{"problem", pick.problem},
                      {"row", row},
                      {"variant", variant},
                      {"role", role},
                      {"sha256", sha256}});
  };
  for (const ReportPick& pick : input.model.picks) {
    const TunedRecord& tuned = pick.view.tuned;
    add(pick, pick.row, tuned.variant, "pick", tuned.build_sha256);
    if (tuned.variant == tuned.default_variant || !pick.default_row) continue;
    add(pick, pick.default_row, tuned.default_variant, "default",
        input.model.variants[*pick.default_row].view.build_sha256);
  }
  return builds;
}

}  // namespace mgtune
