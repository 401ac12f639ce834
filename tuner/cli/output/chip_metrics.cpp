#include "cli/output/chip_metrics.h"

#include <algorithm>
#include <vector>

#include "counters/chip_counters.h"
#include "json/json.h"
#include "text/text_table.h"

namespace mgtune {
namespace {

// One of mgtune's counters on the chip.
struct ListedCounter {
  const CounterSet* set;
  const Counter* counter;
  std::string metric;  // "" where the chip has none
};

struct ListedSet {
  const CounterSet* set;
  std::int64_t passes;
};

struct ListedMetric {
  std::string name;
  MetricText text;
};

struct ChipListing {
  std::string chip;
  std::vector<ListedSet> sets;
  std::vector<ListedCounter> counters;
  std::vector<ListedMetric> metrics;
};

Status list_counters(const MetricHost& host, ChipListing& listing) {
  for (const CounterSet* set : counter_sets()) {
    const ChipCounters chosen = counters_of_chip(*set, host);
    MGTUNE_ASSIGN(const MetricConfig config, host.schedule(chosen.metrics));
    listing.sets.push_back({set, config.passes});
    for (const Counter& counter : set->counters) {
      const auto found = std::ranges::find(chosen.counters, &counter);
      const bool has = found != chosen.counters.end();
      const auto place = static_cast<std::size_t>(found - chosen.counters.begin());
      listing.counters.push_back({set, &counter, has ? chosen.metrics[place] : ""});
    }
  }
  return {};
}

Result<ChipListing> list_chip(const std::string& chip) {
  MGTUNE_ASSIGN(const CounterLibrary library, open_counter_library());
  MGTUNE_ASSIGN(const MetricHost host, MetricHost::open(library, chip));
  ChipListing listing{chip, {}, {}, {}};
  MGTUNE_TRY(list_counters(host, listing));
  MGTUNE_ASSIGN(const std::vector<std::string> metrics, host.base_metrics());
  for (const std::string& name : metrics) {
    const Result<MetricText> text = host.describe(name);
    listing.metrics.push_back({name, text.ok() ? *text : MetricText()});
  }
  return listing;
}

std::string listing_table(const ChipListing& listing) {
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

std::string listing_json(const ChipListing& listing) {
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

}  // namespace

Result<std::string> chip_metrics_text(const std::string& chip, bool json) {
  MGTUNE_ASSIGN(const ChipListing listing, list_chip(chip));
  return json ? listing_json(listing) : listing_table(listing);
}

}  // namespace mgtune
