#include "cli/output/profile_output.h"

#include <fmt/format.h>

#include <cmath>

#include "counters/counter_sets.h"
#include "json/json.h"
#include "text/text_table.h"

namespace mgtune {
namespace {

// A count or a large number has no decimals; others have four digits.
std::string number_text(double value) {
  const bool whole = value == std::floor(value) || std::abs(value) >= 1000;
  return whole ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

// The members are empty for a counter that this mgtune does not know, for example from a newer
// database.
struct CounterText {
  std::string unit, meaning;
};
CounterText text_of(const std::string& name) {
  const Counter* counter = find_counter(name);
  if (counter == nullptr) return {};
  return {std::string(counter->unit), std::string(counter->meaning)};
}

std::string source_text(const std::string& source) {
  if (source == "pick") return "the problem's pick";
  if (source == "default") return "the default, because the store has no pick of this problem";
  return "as named by --variant";
}

}  // namespace

std::string profile_announcement(const DeviceInfo& device, const Problem& problem,
                                 const std::string& variant, const std::string& source) {
  return fmt::format("Counting {} {} on {}: {} ({}).\n", problem.op->full_name(), problem.text(),
                     device.name, variant, source_text(source));
}

std::string profile_table(const ProfileReport& report) {
  using Align = TextTable::Align;
  const VariantCounters& counters = report.profile.counters;
  TextTable table({{"counter"}, {"value", Align::right}, {"unit"}, {"meaning"}});
  for (const CounterRecord& counter : counters.values) {
    const CounterText text = text_of(counter.name);
    table.add_row({counter.name, number_text(counter.value), text.unit, text.meaning});
  }
  TextTable derived({{"derived"}, {"value", Align::right}, {"unit"}, {"meaning"}});
  const std::vector<DerivedFigure> figures = derived_figures(counters, report.profile.cost_bytes);
  for (const DerivedFigure& figure : figures) {
    derived.add_row({figure.name, number_text(figure.value), figure.unit, figure.meaning});
  }
  std::string text = table.text();
  if (!figures.empty()) text += "\n" + derived.text();
  text += fmt::format("\nPer launch, the mean of {} launches on {} ({}), counted in {} {}.\n",
                      counters.launches, report.device.name, counters.chip, counters.passes,
                      counters.passes == 1 ? "pass" : "passes");
  if (!counters.note.empty()) text += counters.note + "\n";
  for (const std::string& left_out : counters.left_out) text += "Not counted: " + left_out + "\n";
  return text;
}

std::string profile_json(const ProfileReport& report) {
  const VariantCounters& counters = report.profile.counters;
  Json rows = Json::array();
  for (const CounterRecord& counter : counters.values) {
    const CounterText text = text_of(counter.name);
    rows.push_back({{"name", counter.name},
                    {"value", counter.value},
                    {"unit", text.unit},
                    {"meaning", text.meaning}});
  }
  Json derived = Json::array();
  for (const DerivedFigure& figure : derived_figures(counters, report.profile.cost_bytes)) {
    derived.push_back({{"name", figure.name},
                       {"value", figure.value},
                       {"unit", figure.unit},
                       {"meaning", figure.meaning}});
  }
  return Json({{"format", 1},
               {"device", report.device.id},
               {"name", report.device.name},
               {"chip", counters.chip},
               {"operator", report.problem.op->full_name()},
               {"problem", report.problem.text()},
               {"variant", report.profile.variant},
               {"source", report.source},
               {"tier", report.tier},
               {"launches", counters.launches},
               {"passes", counters.passes},
               {"note", counters.note},
               {"sweep", report.profile.sweep},
               {"counters", rows},
               {"derived", derived},
               {"left_out", counters.left_out}})
      .document_text();
}

std::string chip_metrics_table(const ChipListing& listing) {
  TextTable counters({{"counter"}, {"tier"}, {"unit"}, {"metric"}, {"meaning"}});
  for (const ListedCounter& listed : listing.counters) {
    counters.add_row({std::string(listed.counter->name), std::to_string(listed.set->tier),
                      std::string(listed.counter->unit),
                      listed.metric.empty() ? "not on this chip" : listed.metric,
                      std::string(listed.counter->meaning)});
  }
  std::string text = counters.text() + "\n";
  for (const ListedSet& listed : listing.sets) {
    text += std::string(listed.set->name) + " (tier " + std::to_string(listed.set->tier) +
            "): " + std::to_string(listed.passes) + (listed.passes == 1 ? " pass" : " passes") +
            "\n";
  }
  TextTable metrics({{"metric of " + listing.chip}, {"unit"}, {"description"}});
  for (const ListedMetric& listed : listing.metrics) {
    metrics.add_row({listed.name, listed.text.unit, listed.text.description});
  }
  return text + "\n" + metrics.text();
}

std::string chip_metrics_json(const ChipListing& listing) {
  Json sets = Json::array();
  for (const ListedSet& listed : listing.sets) {
    sets.push_back(
        {{"name", listed.set->name}, {"tier", listed.set->tier}, {"passes", listed.passes}});
  }
  Json counters = Json::array();
  for (const ListedCounter& listed : listing.counters) {
    counters.push_back({{"name", listed.counter->name},
                        {"set", listed.set->name},
                        {"tier", listed.set->tier},
                        {"unit", listed.counter->unit},
                        {"meaning", listed.counter->meaning},
                        {"metric", listed.metric}});
  }
  Json metrics = Json::array();
  for (const ListedMetric& listed : listing.metrics) {
    metrics.push_back({{"name", listed.name},
                       {"unit", listed.text.unit},
                       {"description", listed.text.description}});
  }
  return Json({{"format", 1},
               {"chip", listing.chip},
               {"sets", sets},
               {"counters", counters},
               {"metrics", metrics}})
      .document_text();
}

}  // namespace mgtune
