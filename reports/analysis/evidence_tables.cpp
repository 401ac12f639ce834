// The tables of `mgtune show finals` and `mgtune show limits`.

#include <fmt/format.h>

#include "text/printable.h"
#include "text/tables.h"
#include "text/text_table.h"
#include "text/units.h"

namespace mgtune {
namespace {

using Align = TextTable::Align;

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
                   {"variant"}});
  for (const FinalistRecord& finalist : view.final.finalists) {
    table.add_row({time_text(finalist.median_ns), fmt::format("{:.3f}", finalist.ratio),
                   interval(finalist.ratio_low, finalist.ratio_high), finalist.tied ? "yes" : "",
                   std::to_string(finalist.samples_ns.size()), finalist.variant});
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
  return printable_line(fmt::format("{} {} on {}{}, method {}", view.op, view.problem,
                                    view.gpu.model, view.gpu.emulation ? " (emulation)" : "",
                                    view.final.method)) +
         '\n' + table.text(2) +
         fmt::format("  noise: two entries of one variant differ by {}{}\n",
                     percent_text(view.final.noise_floor), clocks) +
         note_line(view.final.note) + note_line(view.final.not_counted);
}

std::string share(const std::optional<double>& part) { return part ? percent_text(*part) : ""; }

}  // namespace

std::string finals_table(const ReportModel& model) {
  if (model.finals.empty() && !model.variants.empty()) {
    return "No finals: no problem has two variants that passed, or its sweep was stopped.\n";
  }
  if (model.finals.empty()) {
    return fmt::format("No finals yet. Fill this store with: {}\n", kSweepCommand);
  }
  std::string text;
  for (const FinalView& view : model.finals) text += (text.empty() ? "" : "\n") + final_table(view);
  return text +
         "\nratio: to the variant whose ratio is 1, the default where it ran.\n"
         "tied: not told apart from the fastest, beyond the noise and 0.5 %. Of those tied the "
         "default is picked, else\nthe one with the fewest registers.\n" +
         (model.emulation ? fmt::format("\n{}\n", kEmulationNote) : "");
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
  if (!any && !model.variants.empty()) return "No picks: mgtune show failures says why.\n";
  if (!any) return fmt::format("No picks yet. Fill this store with: {}\n", kSweepCommand);
  return table.text();
}

}  // namespace mgtune
