// ExchangedResults: the content of an export, independent of any format. Plain data.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/variant_words.h"
#include "selection/usable_rows.h"
#include "store/views.h"
#include "tables/read_tuned_table.h"

namespace mgtune {

// Whether the default was timed too.
inline bool has_default(const TunedRecord& tuned) {
  return !tuned.default_variant.empty() && tuned.default_median_ns > 0;
}

// The picks of one operator on one GPU in one environment, by problem and method.
struct TunedTable {
  std::string op;
  GpuRecord gpu;
  EnvironmentRecord environment;
  std::vector<TunedTableRow> picks;
};

// Where and when a row was measured.
struct Origin {
  EnvironmentRecord environment;
  std::string measured_at;

  bool operator==(const Origin&) const = default;
};

struct RecordedVariant {
  VariantWords variant;
  Outcome outcome = Outcome::ok;
  MeasurementRecord measurement;  // only for the outcomes ok and raced_out
  std::size_t origin = 0;         // an index into VariantRecording::origins
};

// Every variant of one problem on one GPU that was timed by one method, or that failed.
struct VariantRecording {
  std::string op, problem, method;
  GpuRecord gpu;
  std::vector<Origin> origins;
  std::vector<RecordedVariant> variants;  // sorted by their texts
};

struct RecordedOutcome {
  OutcomeView view;
  Origin origin;
};

struct ExchangedResults {
  std::vector<TunedTable> tables;
  std::vector<VariantRecording> recordings;
  std::vector<RecordedOutcome> outcomes;
  FailedVariants failed;  // of the whole store, whether selected or not
};

}  // namespace mgtune
