#include "cli/output/chip_metrics.h"

#include "json/json.h"
#include "text/text_table.h"

namespace mgtune {

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
