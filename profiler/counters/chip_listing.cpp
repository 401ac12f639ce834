#include "counters/chip_listing.h"

#include <algorithm>

#include "counters/chip_counters.h"

namespace mgtune {
namespace {

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

}  // namespace

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

}  // namespace mgtune
