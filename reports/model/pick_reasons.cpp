#include "model/pick_reasons.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <string_view>

#include "core/variant_words.h"
#include "model/one_parameter_changes.h"
#include "model/pick_peers.h"
#include "text/units.h"

namespace mgtune {
namespace {

constexpr std::size_t kMostChanges = 5;    // of one sentence
constexpr double kSmallChange = 0.01;      // of the time: listed without its figure
constexpr double kSmallDifference = 0.02;  // of a counter
constexpr double kManyCopies = 1.3;        // in the time of a peer
constexpr double kSmallShare = 0.01;       // of the bytes that must move

std::string joined(const std::vector<std::string>& items) {
  return fmt::format("{}", fmt::join(items, ", "));
}

// "1.83x", "about 1.83x".
std::string ratio_of(const OneParameterChange& change) {
  return (change.is_rough ? "about " : "") + ratio_text(change.ratio);
}

std::string peer_sentence(const ReportPick& pick) {
  const std::vector<CeilingShare> shares = ceiling_shares(pick);
  if (pick.peers.empty() || shares.empty()) return "";
  const PeerRecord& peer = pick.peers.front();
  const double ratio = peer.median_ns / pick.view.tuned.median_ns;
  const CeilingShare& share = shares.front();
  std::string text = fmt::format("The pick reaches {}, {} {} of it.", share_text(share),
                                 peer_name(peer), percent_text(share.fraction / ratio));
  if (pick.of_copy && ratio / *pick.of_copy >= kManyCopies) {
    text += fmt::format(
        " In the {} of {} a copy kernel moves as many bytes as this problem must move {:.1f} "
        "times, in the {} of the pick {:.1f} times.",
        time_text(peer.median_ns), peer.name, ratio / *pick.of_copy,
        time_text(pick.view.tuned.median_ns), 1 / *pick.of_copy);
  }
  return text;
}

// The changes back to a value of the default.
std::string default_sentence(const std::vector<OneParameterChange>& changes,
                             const VariantWords& standard, const VariantWords& pick) {
  std::vector<std::string> known, unknown;
  for (const Assignment& of_default : standard.parameters) {
    const auto& [name, value] = of_default;
    const std::string* const mine = pick.find(name);
    if (mine == nullptr || *mine == value) continue;
    const auto change = std::ranges::find_if(changes, [&](const OneParameterChange& each) {
      return each.parameter == of_default.first && each.value == of_default.second;
    });
    if (change == changes.end()) {
      unknown.push_back(name);
    } else {
      known.push_back(fmt::format("{}={} {}", name, value, ratio_of(*change)));
    }
  }
  std::string text;
  if (!known.empty()) {
    text = fmt::format(
        "With one value of the default and all else as in the pick, the time is: {} that of the "
        "pick.",
        joined(known));
  }
  if (!unknown.empty()) {
    text +=
        fmt::format("{}What {} alone {} was not measured: no timed variant differs in {} only.",
                    text.empty() ? "" : " ", joined(unknown), unknown.size() == 1 ? "does" : "do",
                    unknown.size() == 1 ? "it" : "one of them");
  }
  return text;
}

// For each parameter the change that costs most, the most expensive first. A tie keeps a default
// that others may seem to beat.
std::string changes_sentence(std::vector<OneParameterChange> changes) {
  std::ranges::stable_sort(changes, std::ranges::greater{}, &OneParameterChange::ratio);
  std::vector<std::string> costly, small, shorter, seen;
  for (const OneParameterChange& change : changes) {
    const std::string text = fmt::format("{}={} instead of {} {}", change.parameter, change.value,
                                         change.pick_value, ratio_of(change));
    if (change.ratio < 1 - kSmallChange) shorter.push_back(text);
    if (std::ranges::find(seen, change.parameter) != seen.end()) continue;
    seen.push_back(change.parameter);
    if (std::abs(change.ratio - 1) < kSmallChange) {
      small.push_back(change.parameter);
    } else if (change.ratio > 1 && costly.size() < kMostChanges) {
      costly.push_back(text);
    }
  }
  std::vector<std::string> sentences;
  if (!costly.empty()) {
    sentences.push_back(fmt::format("If one parameter of the pick changes, its time is longer: {}.",
                                    joined(costly)));
  }
  if (!small.empty()) {
    sentences.push_back(fmt::format("{} alone {} the time by less than 1 %.", joined(small),
                                    small.size() == 1 ? "changes" : "change"));
  }
  if (!shorter.empty()) {
    sentences.push_back(fmt::format("Shorter, but in a single measurement or within the noise: {}.",
                                    joined(shorter)));
  }
  return fmt::format("{}", fmt::join(sentences, " "));
}

std::string designs_sentence(const ReportModel& model, const ReportPick& pick) {
  const std::string own = split_variant(pick.view.tuned.variant).design;
  struct Best {
    double ratio = 0;
    bool is_rough = false;
  };
  std::map<std::string, Best> designs;
  const ReportProblem& problem = model.problems[pick.problem];
  for (std::size_t row = problem.first; row < problem.first + problem.count; ++row) {
    const OutcomeView& view = model.variants[row].view;
    const double ratio = time_ratio(model, pick, row);
    const std::string design = view.variant.substr(0, view.variant.find(' '));
    if (ratio <= 0 || design == own) continue;
    const auto [entry, is_new] = designs.try_emplace(design);
    if (!is_new && entry->second.ratio <= ratio) continue;
    entry->second = {ratio, view.outcome == Outcome::raced_out};
  }
  if (designs.empty()) return "";
  std::vector<std::pair<std::string, Best>> order(designs.begin(), designs.end());
  std::ranges::stable_sort(order, {}, [](const auto& each) { return each.second.ratio; });
  std::vector<std::string> items;
  items.reserve(order.size());
  for (const auto& [design, best] : order) {
    items.push_back(
        fmt::format("{} {}{}", design, best.is_rough ? "about " : "", ratio_text(best.ratio)));
  }
  return fmt::format("The fastest variant of each other design, beside the pick's design {}: {}.",
                     own, joined(items));
}

std::optional<double> counter_of(const ReportVariant& variant, std::string_view name) {
  const auto found = std::ranges::find(variant.counters, name, &CounterRecord::name);
  return found == variant.counters.end() || !std::isfinite(found->value)
             ? std::nullopt
             : std::optional(found->value);
}

enum class Kind { bytes, percent, count };

struct ShownCounter {
  std::string_view name, words;
  Kind kind;
};

constexpr std::array<ShownCounter, 7> kShownCounters = {
    {{"dram_read_bytes", "bytes read from DRAM", Kind::bytes},
     {"dram_write_bytes", "bytes written to DRAM", Kind::bytes},
     {"l2_bytes_from_sm", "bytes that the SMs move through L2", Kind::bytes},
     {"l2_hit_percent", "L2 hit rate", Kind::percent},
     {"occupancy_percent", "occupancy", Kind::percent},
     {"instructions", "instructions", Kind::count},
     {"local_loads", "loads of spilled registers", Kind::count}}};

std::string counter_text(Kind kind, double value) {
  if (kind == Kind::percent) return fmt::format("{:.1f} %", value);
  if (kind == Kind::bytes) return fmt::format("{:.1f} MB", value / 1e6);
  return value >= 1e6 ? fmt::format("{:.2f} million", value / 1e6) : fmt::format("{:.0f}", value);
}

bool differs(Kind kind, double a, double b, double bytes) {
  const double difference = std::abs(a - b);
  if (kind == Kind::percent) return difference >= 1;
  if (kind == Kind::bytes && bytes > 0 && difference < kSmallShare * bytes) return false;
  return difference > kSmallDifference * std::max(a, b);
}

// "12.52 million instead of 13.51 million instructions"
std::string counters_sentence(const ReportVariant& pick, const ReportVariant& other,
                              std::string_view name) {
  std::vector<std::string> items, alike;
  for (const ShownCounter& shown : kShownCounters) {
    const auto mine = counter_of(pick, shown.name), theirs = counter_of(other, shown.name);
    if (!mine || !theirs) continue;
    if (!differs(shown.kind, *mine, *theirs, pick.view.bytes)) {
      if (*mine != 0) alike.emplace_back(shown.words);
      continue;
    }
    items.push_back(fmt::format("{} {} instead of {}", shown.words, counter_text(shown.kind, *mine),
                                counter_text(shown.kind, *theirs)));
  }
  const auto add_resource = [&](std::string_view words, int mine, int theirs) {
    if (mine < 0 || theirs < 0 || mine == theirs) return;
    items.push_back(fmt::format("{} {} instead of {}", words, mine, theirs));
  };
  add_resource("registers", pick.view.registers, other.view.registers);
  add_resource("spilled bytes", pick.view.spill_bytes, other.view.spill_bytes);
  if (items.empty() && alike.empty()) return "";
  std::string text = items.empty()
                         ? fmt::format("The counters of the pick and of {} do not differ.", name)
                         : fmt::format("Counters of the pick, beside {}: {}.", name, joined(items));
  if (!alike.empty()) text += fmt::format(" Alike within 2 %: {}.", joined(alike));
  return text;
}

// The row that the pick's counters are compared with; none if nothing else was counted.
std::optional<std::size_t> counted_other(const ReportModel& model, const ReportPick& pick) {
  if (pick.default_row && *pick.default_row != *pick.row) {
    return model.variants[*pick.default_row].counters.empty() ? std::nullopt : pick.default_row;
  }
  std::optional<std::size_t> fastest;
  double least = 0;
  const ReportProblem& problem = model.problems[pick.problem];
  for (std::size_t row = problem.first; row < problem.first + problem.count; ++row) {
    const double ratio = time_ratio(model, pick, row);
    if (row == *pick.row || model.variants[row].counters.empty() || ratio <= 0) continue;
    if (fastest && ratio >= least) continue;
    fastest = row;
    least = ratio;
  }
  return fastest;
}

// "with VEC=4": what differs from the pick, or the whole text of another design.
std::string short_name(const std::string& variant, const std::string& pick) {
  const VariantWords words = split_variant(variant), own = split_variant(pick);
  if (words.design != own.design) return "`" + variant + "`";
  std::vector<std::string> changed;
  for (const auto& [name, value] : words.parameters) {
    const std::string* const mine = own.find(name);
    if (mine == nullptr || *mine != value) changed.push_back(fmt::format("{}={}", name, value));
  }
  return "with " + joined(changed);
}

// How often the bytes that must move were moved.
std::string traffic_sentence(const ReportVariant& pick) {
  const auto read = counter_of(pick, "dram_read_bytes");
  const auto written = counter_of(pick, "dram_write_bytes");
  if (!read || !written || pick.view.bytes <= 0) return "";
  return fmt::format("It moves {} through DRAM, {:.2f} times the bytes that must move.",
                     counter_text(Kind::bytes, *read + *written),
                     (*read + *written) / pick.view.bytes);
}

std::string compared_counters(const ReportModel& model, const ReportPick& pick) {
  const ReportVariant& mine = model.variants[*pick.row];
  if (mine.counters.empty()) return "";
  const std::optional<std::size_t> row = counted_other(model, pick);
  if (!row) return "";
  const ReportVariant& other = model.variants[*row];
  const std::string name =
      other.is_default ? "the default"
                       : "the runner-up " + short_name(other.view.variant, mine.view.variant);
  return counters_sentence(mine, other,
                           fmt::format("{} ({})", name, ratio_text(time_ratio(model, pick, *row))));
}

}  // namespace

std::vector<std::string> pick_reasons(const ReportModel& model, const ReportAnalysis& analysis,
                                      const ReportPick& pick) {
  std::vector<std::string> sentences;
  if (pick.view.gpu.emulation) return sentences;
  const auto add = [&](std::string sentence) {
    if (!sentence.empty()) sentences.push_back(std::move(sentence));
  };
  add(peer_sentence(pick));
  if (!pick.row) return sentences;
  add(traffic_sentence(model.variants[*pick.row]));
  std::vector<OneParameterChange> changes = one_parameter_changes(model, analysis, pick);
  const TunedRecord& tuned = pick.view.tuned;
  const VariantWords standard = split_variant(tuned.default_variant);
  const VariantWords words = split_variant(tuned.variant);
  if (standard.design == words.design) {
    add(default_sentence(changes, standard, words));
    // The sentence about the default has these changes already.
    std::erase_if(changes, [&](const OneParameterChange& change) {
      const std::string* const value = standard.find(change.parameter);
      return value != nullptr && *value == change.value;
    });
  }
  add(changes_sentence(std::move(changes)));
  add(designs_sentence(model, pick));
  add(compared_counters(model, pick));
  return sentences;
}

}  // namespace mgtune
