// ExchangedResults: what an export says, apart from any format. Plain data.

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "store/records.h"
#include "tables/variant_words.h"

namespace mgtune {

struct TunedPick {
  std::string problem, method;
  VariantWords variant;
  std::string build_sha256;  // "" where it is not known
  double median_ns = 0;
  std::optional<VariantWords> default_variant;  // none where none ran
  double default_median_ns = 0;
  bool tie = false;
  std::optional<double> of_copy;  // rate over that of the fastest copy of as many bytes
  std::string measured_at;        // UTC: when its sweep began
};

// The picks of one operator on one GPU in one environment, by problem and method.
struct TunedTable {
  std::string op;
  GpuRecord gpu;
  EnvironmentRecord environment;
  std::vector<TunedPick> picks;
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
  MeasurementRecord measurement;  // of ok and raced_out
  std::size_t origin = 0;         // of VariantRecording::origins
};

// Every variant of one problem on one GPU that was timed by one method, or that failed.
struct VariantRecording {
  std::string op, problem, method;
  GpuRecord gpu;
  std::vector<Origin> origins;
  std::vector<RecordedVariant> variants;  // by text
};

struct RecordedOutcome {
  OutcomeView view;
  Origin origin;
};

struct ExchangedResults {
  std::vector<TunedTable> tables;
  std::vector<VariantRecording> recordings;
  std::vector<RecordedOutcome> outcomes;
};

}  // namespace mgtune
