#include "measure/derived_figures.h"

#include <optional>
#include <string_view>

namespace mgtune {
namespace {

std::optional<double> value_of(const VariantCounters& counters, std::string_view name) {
  for (const CounterRecord& counter : counters.values) {
    if (counter.name == name) return counter.value;
  }
  return std::nullopt;
}

}  // namespace

std::vector<DerivedFigure> derived_figures(const VariantCounters& counters, double cost_bytes) {
  const std::optional<double> read = value_of(counters, "dram_read_bytes");
  const std::optional<double> written = value_of(counters, "dram_write_bytes");
  std::vector<DerivedFigure> figures;
  if (!read.has_value() || !written.has_value()) return figures;
  const double bytes = *read + *written;
  if (cost_bytes > 0) {
    figures.push_back({"dram_of_cost_percent", 100 * bytes / cost_bytes, "%",
                       "device memory traffic, relative to the bytes that the operator must move"});
  }
  const std::optional<double> elapsed_ns = value_of(counters, "elapsed_ns");
  if (elapsed_ns.has_value() && *elapsed_ns > 0) {
    figures.push_back(
        {"dram_gbps", bytes / *elapsed_ns, "GB/s",
         "device memory traffic per elapsed_ns, which includes gaps between launches"});
  }
  return figures;
}

}  // namespace mgtune
