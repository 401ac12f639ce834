#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analysis/analysis.h"
#include "analysis/pareto_front.h"
#include "model/missing_parts.h"
#include "text/printable.h"
#include "text/tables.h"
#include "text/text_table.h"
#include "text/units.h"

namespace mgtune {
namespace {

using Align = TextTable::Align;

// Of a problem or a final.
template <typename View>
std::string heading_with_method(const View& view, const std::string& method) {
  return printable_line(fmt::format("{} {} on {}, method {}", view.op, view.problem,
                                    device_text(view.gpu), method)) +
         '\n';
}

std::string effects_text(const ParameterColumn& column, const ParameterImportance& parameter) {
  std::string text;
  for (const ValueEffect& effect : parameter.effects) {
    text += fmt::format("{}{} {:+.0f} %", text.empty() ? "" : ", ",
                        column.values[static_cast<std::size_t>(effect.value)],
                        100 * (effect.ratio - 1));
  }
  return text;
}

std::string design_text(const SpaceColumns& space, const DesignImportance& design) {
  TextTable table({{"parameter"},
                   {"changing it alone", Align::right},
                   {"its average", Align::right},
                   {"time of each value, to the mean"}});
  for (const ParameterImportance& parameter : design.parameters) {
    const ParameterColumn& column = space.parameters[parameter.parameter];
    table.add_row({column.name, parameter.total ? percent_text(*parameter.total) : "",
                   percent_text(parameter.main), effects_text(column, parameter)});
  }
  std::string text = printable_line(
      fmt::format("{}: {}, the slowest takes {} the fastest", space.designs[design.design].name,
                  counted(design.variants, "variant"), ratio_text(design.spread)));
  text = "  " + text + "\n" + table.text(4);
  for (const Interaction& pair : design.interactions) {
    text += printable_line(fmt::format("{} and {} together: {} more", space.parameters[pair.a].name,
                                       space.parameters[pair.b].name, percent_text(pair.share)))
                .insert(0, "    ") +
            "\n";
  }
  return text;
}

std::string series_text(const ReportModel& model, const SizeSeries& series) {
  TextTable table({{series.dim, Align::right},
                   {"time", Align::right},
                   {"default", Align::right},
                   {"of copy", Align::right},
                   {"pick"}});
  for (const SizePoint& point : series.points) {
    const ReportPick& pick = model.picks[point.pick];
    const TunedRecord& tuned = pick.view.tuned;
    table.add_row({fmt::format("{:.0f}", point.size), time_text(tuned.median_ns),
                   tuned.default_median_ns > 0 ? time_text(tuned.default_median_ns) : "",
                   pick.of_copy ? percent_text(*pick.of_copy) : "", tuned.variant});
  }
  std::string fixed;
  for (const auto& [name, value] : series.fixed) fixed += fmt::format(" {}={}", name, value);
  std::string text = printable_line(fmt::format("{} on {}, method {}:{}", series.op,
                                                device_text(series.gpu), series.method, fixed)) +
                     "\n" + table.text(2);
  for (const SizeBoundary& boundary : series.boundaries) {
    text += "  " +
            printable_line(
                fmt::format("from {} = {:.0f} on: {}", series.dim, boundary.at, boundary.above)) +
            "\n";
  }
  return text;
}

std::string machine_text(const SweepView& view) {
  std::string text = printable_line(device_text(view.gpu)) + "\n";
  const auto add = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) text += fmt::format("  {}: {}\n", name, printable_line(value));
  };
  add("driver", view.environment.driver);
  add("compiler", view.environment.compiler);
  add("system", view.environment.system);
  add("mgtune", view.environment.mgtune_version);
  return text;
}

// "0.912 .. 0.918"
std::string interval(double low, double high) { return fmt::format("{:.3f} .. {:.3f}", low, high); }

std::string note_line(const std::string& note) {
  return note.empty() ? "" : "  " + printable_line(note) + "\n";
}

std::string final_table(const FinalView& view) {
  TextTable table({{"time", Align::right},
                   {"ratio", Align::right},
                   {"95 % interval"},
                   {"tied"},
                   {"rounds", Align::right},
                   {"energy", Align::right},
                   {"95 % error", Align::right},
                   {"front"},
                   {"variant"}});
  const std::vector<bool> front = pareto_front(view.final);
  for (std::size_t i = 0; i < front.size(); ++i) {
    const FinalistRecord& finalist = view.final.finalists[i];
    const bool is_measured = finalist.energy_j > 0;
    table.add_row({time_text(finalist.median_ns), fmt::format("{:.3f}", finalist.ratio),
                   interval(finalist.ratio_low, finalist.ratio_high), finalist.tied ? "yes" : "",
                   std::to_string(finalist.samples_ns.size()),
                   is_measured ? energy_text(finalist.energy_j) : "",
                   is_measured ? energy_text(finalist.energy_error_j) : "", front[i] ? "yes" : "",
                   finalist.variant});
  }
  std::string clocks;
  if (view.final.clocks.sm_mhz > 0) {
    clocks = fmt::format(", SM clock {:.0f} MHz, memory {:.0f} MHz, {:.0f} W, {:.0f} C",
                         view.final.clocks.sm_mhz, view.final.clocks.memory_mhz,
                         view.final.clocks.power_w, view.final.clocks.temperature_c);
  }
  if (view.final.clocks.throttled_samples > 0) {
    clocks +=
        fmt::format(", {} ({})", counted(view.final.clocks.throttled_samples, "throttled sample"),
                    view.final.clocks.throttle_reasons);
  }
  return heading_with_method(view, view.final.method) + table.text(2) +
         fmt::format("  noise: two entries of one variant differ by {}{}\n",
                     percent_text(view.final.noise_floor), clocks) +
         note_line(view.final.note) + note_line(view.final.not_counted);
}

std::string energy_note(const ReportModel& model) {
  const bool any = std::ranges::any_of(
      model.finals, [](const ReportFinal& final) { return has_energy(final.view.final); });
  return any ? "energy: of one launch, of the whole board, while the variant runs back to back.\n"
               "front: no other finalist needs both less time and less energy.\n"
             : "";
}

std::string share(const std::optional<double>& part) { return part ? percent_text(*part) : ""; }

}  // namespace

std::string summary_table(const ReportModel& model) {
  std::string text = peers_text(model);
  for (const std::string& sentence : model.verdict) text += printable_line(sentence) + "\n";
  TextTable table({{"without data"}, {"this fills it"}});
  bool any = false;
  for (const MissingPart& part : missing_parts(model, analyze(model), true)) {
    if (part.command.empty()) continue;
    table.add_row({part.part, part.command});
    any = true;
  }
  if (any && !model.variants.empty()) text += "\n" + table.text();
  return text + emulation_note(model);
}

std::string importance_table(const ReportModel& model) {
  const ReportAnalysis analysis = analyze(model);
  if (analysis.importance.empty()) return missing_text(model, analysis, "importance");
  std::string text;
  for (const ProblemImportance& entry : analysis.importance) {
    if (!text.empty()) text += "\n";
    text += heading_with_method(model.problems[entry.problem], entry.method);
    if (entry.importance.design_share) {
      text += fmt::format("  the choice of the design: {}\n",
                          percent_text(*entry.importance.design_share));
    }
    for (const DesignImportance& design : entry.importance.designs) {
      text += design_text(analysis.spaces[entry.problem], design);
    }
    if (!entry.note.empty()) text += "  " + entry.note + "\n";
  }
  return text +
         "\nBoth are shares of the variance of log time. changing it alone: what is left once all "
         "other parameters are\nfixed; empty where too few variants differ in it alone. its "
         "average: what its value explains, averaged over\nthe others: more than the former where "
         "its values were tried together with others' good or bad ones.\n" +
         emulation_note(model);
}

std::string progress_table(const ReportModel& model) {
  const ReportAnalysis analysis = analyze(model);
  std::string text;
  for (const BestSoFar& curve : analysis.best_so_far) {
    if (!curve.order_known) continue;
    TextTable table({{"evaluation", Align::right},
                     {"after", Align::right},
                     {"best", Align::right},
                     {"variant"}});
    for (const BestStep& step : curve.steps) {
      table.add_row({std::to_string(step.evaluation),
                     step.seconds ? fmt::format("{:.1f} s", *step.seconds) : "",
                     time_text(step.best_ns), model.variants[step.row].view.variant});
    }
    text += (text.empty() ? "" : "\n") +
            heading_with_method(model.problems[curve.problem], curve.method) + table.text(2) +
            fmt::format("  {} in all{}\n", counted(curve.evaluations, "evaluation"),
                        curve.seconds ? ", " + duration_text(*curve.seconds) : "");
  }
  if (text.empty()) return missing_text(model, analysis, "best_so_far");
  return text + emulation_note(model);
}

std::string sizes_table(const ReportModel& model) {
  const ReportAnalysis analysis = analyze(model);
  if (analysis.sizes.empty()) return missing_text(model, analysis, "sizes");
  std::string text;
  for (const SizeSeries& series : analysis.sizes) {
    text += (text.empty() ? "" : "\n") + series_text(model, series);
  }
  return text + emulation_note(model);
}

std::string counters_table(const ReportModel& model) {
  std::string text;
  for (const ReportVariant& variant : model.variants) {
    if (variant.counters.empty()) continue;
    TextTable table({{"counter"}, {"of one launch", Align::right}});
    for (const CounterRecord& counter : variant.counters) {
      table.add_row({counter.name, fmt::format("{:.6g}", counter.value)});
    }
    const OutcomeView& view = variant.view;
    text += (text.empty() ? "" : "\n") +
            printable_line(fmt::format("{} {} on {}: {}{}", view.op, view.problem, view.gpu.model,
                                       view.variant, variant.is_pick ? " (pick)" : "")) +
            "\n" + table.text(2) + "  " + variant.roofline.limit + "\n";
  }
  return text.empty() ? missing_text(model, analyze(model), "counters") : text;
}

std::string environment_table(const ReportModel& model) {
  if (model.sweeps.empty()) return missing_text(model, analyze(model), "environment");
  TextTable sweeps({{"started (UTC)"}, {"device"}, {"strategy"}, {"budget"}, {"command"}});
  std::set<std::string> seen;
  std::string machines;
  for (const SweepView& view : model.sweeps) {
    const std::string machine = machine_text(view);
    if (seen.insert(machine).second) machines += machine + "\n";
    sweeps.add_row({view.sweep.started_at, view.gpu.model, view.sweep.strategy, view.sweep.budget,
                    view.sweep.command});
  }
  return machines + sweeps.text();
}

std::string finals_table(const ReportModel& model) {
  if (model.finals.empty()) {
    return model.variants.empty()
               ? empty_text("No finals yet.")
               : "No finals: no problem has two variants that passed, or its sweep was stopped.\n";
  }
  std::string text;
  for (const ReportFinal& final : model.finals) {
    text += (text.empty() ? "" : "\n") + final_table(final.view);
  }
  return text +
         "\nratio: in each round, the variant's time divided by the default's; shown is the median "
         "over\n"
         "the rounds. Without the default, the variant with the ratio 1 takes its place. The ratio "
         "decides,\nbecause drift cancels in it. It may differ from the ratio of two times of this "
         "table.\n"
         "tied: not told apart from the fastest, beyond the noise and 0.5 %. Of those tied the "
         "default is picked, else\nthe one with the fewest registers.\n" +
         energy_note(model) + emulation_note(model);
}

std::string limits_table(const ReportModel& model) {
  TextTable table({{"device"},
                   {"problem"},
                   {"time", Align::right},
                   {"flop/byte", Align::right},
                   {"of copy", Align::right},
                   {"of peak", Align::right},
                   {"peak"},
                   {"what limits the pick"}});
  bool any = false;
  for (const ReportPick& pick : model.picks) {
    const Roofline& line = pick.roofline;
    if (line.limit.empty()) continue;
    any = true;
    table.add_row({pick.view.gpu.model, pick.view.op + " " + pick.view.problem,
                   time_text(pick.view.tuned.median_ns),
                   line.intensity ? fmt::format("{:.2f}", *line.intensity) : "",
                   share(line.of_copy), share(line.of_peak), line.peak, line.limit});
  }
  if (!any && model.emulation) {
    return fmt::format("Nothing limits an emulation. {}\n", kEmulationNote);
  }
  if (!any && model.picks.empty()) return no_picks_text(model);
  if (!any) return "Nothing is known of what limits the picks: no ceiling was measured.\n";
  return table.text();
}

}  // namespace mgtune
