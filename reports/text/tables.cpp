#include "text/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "core/text.h"
#include "core/variant_words.h"
#include "model/metric_values.h"
#include "model/pick_peers.h"
#include "text/explanations.h"
#include "text/printable.h"
#include "text/text_table.h"
#include "text/units.h"

namespace mgtune {
namespace {

using Align = TextTable::Align;

std::string heading(const std::string& what, const GpuRecord& gpu) {
  return printable_line(fmt::format("{} on {}", what, device_text(gpu)));
}

std::string time_or_dash(double time_ns) { return time_ns > 0 ? time_text(time_ns) : "-"; }

std::string origin_text(bool imported) { return imported ? "import" : ""; }

// "98.9 % of copy": the share of the nearest ceiling.
std::string reached_text(const ReportPick& pick) {
  const std::vector<CeilingShare> shares = ceiling_shares(pick);
  if (shares.empty()) return "";
  // The bytes of the copy follow from the problem.
  const std::string& name = shares.front().name;
  return fmt::format("{} of {}", percent_text(shares.front().fraction),
                     name.starts_with("copy") ? "copy" : name);
}

// Whether a line of the text is wider than the terminal; no terminal has 0 columns.
bool is_wider(std::string_view text, std::size_t columns) {
  while (columns > 0 && !text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (display_width(text.substr(0, end)) > columns) return true;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return false;
}

// "VEC=8": the parameters in which the variant differs from the default. All of it if there is no
// default, or one of another design.
std::string difference(const std::string& variant, const std::string& default_variant) {
  const VariantWords words = split_variant(variant);
  const VariantWords others = split_variant(default_variant);
  if (words.design != others.design || words.parameters.empty()) return variant;
  std::string text;
  for (const auto& [name, value] : words.parameters) {
    const std::string* other = others.find(name);
    if (other == nullptr || *other != value) {
      text += text.empty() ? "" : " ";
      text.append(name).append("=").append(value);
    }
  }
  return text.empty() ? "the default" : text;
}

void add_metric_columns(const std::vector<std::string>& metrics,
                        std::vector<TextTable::Column>& columns, std::size_t place) {
  for (const std::string& name : metrics) {
    columns.insert(columns.begin() + static_cast<std::ptrdiff_t>(place++), {name, Align::right});
  }
}

void add_metric_cells(const ReportProblem& problem, std::span<const std::optional<double>> values,
                      const std::vector<std::string>& metrics, std::vector<std::string>& cells,
                      std::size_t place) {
  for (const std::string& name : metrics) {
    const std::optional<double> value = metric_value(problem, values, name);
    cells.insert(cells.begin() + static_cast<std::ptrdiff_t>(place++),
                 value ? metric_text(*value) : "");
  }
}

// `differences`: what the picks have other than the default, instead of all parameters.
std::string picks_of_operator(const ReportModel& model, std::span<const ReportPick> picks,
                              bool differences) {
  constexpr std::size_t kMetricsPlace = 6;  // behind GB/s
  std::vector<TextTable::Column> columns = {
      {"problem"},
      {"time", Align::right},
      {"default", Align::right},
      {"speed-up", Align::right},
      {"fastest other"},
      {"GB/s", Align::right},
      {"reached"},
      {"method"},
      {"variants", Align::right},
      {"failed", Align::right},
      {"from"},
      {differences ? "pick, where it differs from the default" : "pick"}};
  std::vector<std::size_t> problems;
  for (const ReportPick& pick : picks) problems.push_back(pick.problem);
  const std::vector<std::string> metrics = metric_names(model, problems);
  add_metric_columns(metrics, columns, kMetricsPlace);
  TextTable table(std::move(columns));
  for (const ReportPick& pick : picks) {
    const TunedRecord& tuned = pick.view.tuned;
    const ReportProblem& problem = model.problems[pick.problem];
    std::vector<std::string> cells = {
        pick.view.problem,
        time_or_dash(tuned.median_ns),
        time_or_dash(tuned.default_median_ns),
        pick.standing == PickStanding::no_default ? "-" : standing_text(pick),
        pick.peers.empty() ? "" : peer_text(pick, pick.peers.front()),
        pick.bandwidth_gbps ? bandwidth_text(*pick.bandwidth_gbps) : "",
        reached_text(pick),
        tuned.method,
        std::to_string(problem.count),
        pick.variants_failed > 0 ? std::to_string(pick.variants_failed) : "",
        origin_text(pick.imported),
        differences ? difference(tuned.variant, tuned.default_variant) : tuned.variant};
    add_metric_cells(problem, pick.metrics, metrics, cells, kMetricsPlace);
    table.add_row(std::move(cells));
  }
  return heading(picks.front().view.op, picks.front().view.gpu) + '\n' + table.text(2);
}

// "12.01 .. 12.30 us" would need one unit for both; two times are as readable.
std::string quartiles(const MeasurementRecord& measurement) {
  return fmt::format("{} .. {}", time_text(measurement.q1_ns), time_text(measurement.q3_ns));
}

std::string role(const ReportVariant& variant) {
  if (variant.is_pick) return variant.is_default ? "pick, default" : "pick";
  return variant.is_default ? "default" : "";
}

constexpr std::size_t kVariantMetricsPlace = 4;  // behind GB/s

void add_variant(TextTable& table, const ReportProblem& problem, const ReportVariant& variant,
                 const std::string& text) {
  const OutcomeView& view = variant.view;
  const bool has_time = median_ns(view).has_value();
  std::vector<std::string> cells = {
      has_time ? time_text(view.measurement->median_ns) : "-",
      variant.slowdown ? ratio_text(*variant.slowdown) : "",
      has_time ? quartiles(*view.measurement) : "",
      variant.bandwidth_gbps ? bandwidth_text(*variant.bandwidth_gbps) : "",
      std::string(to_string(view.outcome)),
      has_time ? view.measurement->method : "",
      view.registers >= 0 ? std::to_string(view.registers) : "",
      view.spill_bytes >= 0 ? std::to_string(view.spill_bytes) : "",
      view.check ? error_text(view.check->error) : "",
      role(variant),
      origin_text(variant.imported),
      text};
  add_metric_cells(problem, variant.metrics, problem.metrics, cells, kVariantMetricsPlace);
  table.add_row(std::move(cells));
}

std::string variants_of_problem(const ReportProblem& problem,
                                std::span<const ReportVariant> variants, bool differences) {
  std::vector<TextTable::Column> columns = {
      {"time", Align::right},
      {"of fastest", Align::right},
      {"q1 .. q3", Align::right},
      {"GB/s", Align::right},
      {"status"},
      {"method"},
      {"registers", Align::right},
      {"spill bytes", Align::right},
      {"error", Align::right},
      {"role"},
      {"from"},
      {differences ? "variant, where it differs from the default" : "variant"}};
  add_metric_columns(problem.metrics, columns, kVariantMetricsPlace);
  TextTable table(std::move(columns));
  const auto standard = std::ranges::find_if(variants, &ReportVariant::is_default);
  const std::string of_default =
      differences && standard != variants.end() ? standard->view.variant : "";
  for (const ReportVariant& variant : variants) {
    const std::string& text = variant.view.variant;
    add_variant(table, problem, variant,
                differences && !variant.is_default ? difference(text, of_default) : text);
  }
  const OutcomeView& first = variants.front().view;
  return fmt::format("{}: {}\n{}", heading(first.op + " " + first.problem, first.gpu),
                     counted(variants.size(), "variant"), table.text(2));
}

// "mgtune show failures --kernel vector_add.add"
std::string show_failures_command(const std::string& op) {
  return "mgtune show failures" + (op.empty() ? "" : " --kernel " + shell_word(op));
}

// The only operator of the model's variants; "" if there are several.
std::string only_operator_of(const ReportModel& model) {
  const std::string& first = model.variants.front().view.op;
  const bool is_only = std::ranges::all_of(
      model.variants, [&](const ReportVariant& variant) { return variant.view.op == first; });
  return is_only ? first : "";
}

// A line for each operator and GPU of which no variant passed, beside those that have picks.
std::string failed_operators_text(const ReportModel& model) {
  struct Counts {
    std::size_t all = 0, failed = 0;
  };
  std::map<std::pair<std::string, std::string>, Counts> counts;
  for (const ReportVariant& variant : model.variants) {
    Counts& of_operator = counts[{variant.view.op, variant.view.gpu.model}];
    ++of_operator.all;
    of_operator.failed += is_failure(variant.view.outcome) ? 1 : 0;
  }
  std::string text;
  for (const auto& [key, count] : counts) {
    const bool has_pick = std::ranges::any_of(model.picks, [&key = key](const ReportPick& pick) {
      return pick.view.op == key.first && pick.view.gpu.model == key.second;
    });
    if (has_pick || count.failed < count.all) continue;
    text += printable_line(fmt::format("{} on {}: no pick, because none of {} passed; {} says why.",
                                       key.first, key.second, counted(count.all, "variant"),
                                       show_failures_command(key.first))) +
            "\n";
  }
  return text.empty() ? "" : "\n" + text;
}

}  // namespace

std::string empty_text(std::string_view what) {
  return fmt::format("{} Fill this store with: {}\n", what, kSweepCommand);
}

std::string emulation_note(const ReportModel& model) {
  return model.emulation ? fmt::format("\n{}\n", kEmulationNote) : "";
}

std::string no_picks_text(const ReportModel& model) {
  if (model.variants.empty()) return empty_text("No picks yet.");
  const auto passed = std::ranges::count_if(model.variants, [](const ReportVariant& variant) {
    return !is_failure(variant.view.outcome);
  });
  const std::string all = counted(model.variants.size(), "variant");
  if (passed == 0) {
    return fmt::format("No picks: none of {} passed; {} says why.\n", all,
                       printable_line(show_failures_command(only_operator_of(model))));
  }
  return fmt::format(
      "No picks yet: {} of {} passed, but the sweep ended before it picked one. Run the same "
      "command "
      "again to finish it; 'mgtune show environment' prints the command.\n",
      passed, all);
}

std::string peers_text(const ReportModel& model) {
  std::string text;
  for (const std::string& line : peer_lines(model)) text += printable_line(line) + "\n";
  for (const std::string& line : peer_differences(model)) text += printable_line(line) + "\n";
  return text.empty() ? "" : text + "\n";
}

std::string picks_table(const ReportModel& model, std::size_t columns) {
  if (model.picks.empty()) return no_picks_text(model);
  std::string text = peers_text(model);
  bool is_first = true;
  for (const auto picks : picks_by_operator(model)) {
    std::string of_operator = picks_of_operator(model, picks, false);
    if (is_wider(of_operator, columns)) of_operator = picks_of_operator(model, picks, true);
    text += (std::exchange(is_first, false) ? "" : "\n") + of_operator;
  }
  const bool default_stays = std::ranges::any_of(model.picks, [](const ReportPick& pick) {
    return pick.standing == PickStanding::tie || pick.standing == PickStanding::default_fastest;
  });
  if (default_stays) {
    text +=
        "\ntie: nothing beat the default beyond noise, so it stays; default: nothing was faster.\n";
  }
  const bool has_gain = std::ranges::any_of(model.picks, [](const ReportPick& pick) {
    return pick.standing == PickStanding::faster && pick.speedup;
  });
  if (has_gain) {
    text += fmt::format("{}speed-up: the default's time divided by the time of the pick.\n",
                        default_stays ? "" : "\n");
  }
  const auto has_ceiling = [](const auto& pick) { return !ceiling_shares(pick).empty(); };
  if (std::ranges::any_of(model.picks, has_ceiling)) {
    text += fmt::format(
        "{}reached: of the rate of a copy of as many bytes, or of the peak of its arithmetic, both "
        "measured here.\n",
        default_stays || has_gain ? "" : "\n");
  }
  return text + failed_operators_text(model) + emulation_note(model);
}

std::string variants_table(const ReportModel& model, std::size_t columns) {
  if (model.variants.empty()) return empty_text("No variants yet.");
  std::string text;
  for (const ReportProblem& problem : model.problems) {
    if (problem.count == 0) continue;
    const std::span<const ReportVariant> variants = model.variants_of(problem);
    std::string of_problem = variants_of_problem(problem, variants, false);
    if (is_wider(of_problem, columns)) of_problem = variants_of_problem(problem, variants, true);
    text += (text.empty() ? "" : "\n") + of_problem;
  }
  return text + emulation_note(model);
}

std::string failures_table(const ReportModel& model) {
  if (model.variants.empty()) return empty_text("No variants yet.");
  if (model.failures.empty()) {
    return fmt::format("No failures: {} evaluated.\n", counted(model.variants.size(), "variant"));
  }
  TextTable table({{"status"}, {"device"}, {"problem"}, {"variant"}, {"message"}});
  for (const ReportFailure& failure : model.failures) {
    for (const std::size_t index : failure.variants) {
      const OutcomeView& view = model.variants[index].view;
      table.add_row({std::string(to_string(view.outcome)), view.gpu.model,
                     view.op + " " + view.problem, view.variant,
                     std::string(headline(failure.message))});
    }
  }
  return table.text();
}

}  // namespace mgtune
