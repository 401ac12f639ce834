#include "worker/record_json.h"

#include <string>
#include <vector>

namespace mgtune {

Json to_json(const BuildRecord& build) {
  return {{"key", build.key},
          {"sha256", build.sha256},
          {"arch", build.arch},
          {"outcome", to_string(build.outcome)},
          {"message", build.message},
          {"registers", build.registers},
          {"spill_bytes", build.spill_bytes},
          {"static_shared_bytes", build.static_shared_bytes}};
}

Json to_json(const CheckRecord& check) {
  return {{"outcome", to_string(check.outcome)},
          {"message", check.message},
          {"error", number_or_word(check.error)},
          {"tolerance", number_or_word(check.tolerance)}};
}

Json to_json(const ClockRecord& clocks) {
  return {{"sm_mhz", number_or_word(clocks.sm_mhz)},
          {"memory_mhz", number_or_word(clocks.memory_mhz)},
          {"power_w", number_or_word(clocks.power_w)},
          {"temperature_c", number_or_word(clocks.temperature_c)},
          {"throttle_reasons", clocks.throttle_reasons},
          {"throttled_samples", clocks.throttled_samples}};
}

Json to_json(const MeasurementRecord& measurement) {
  return {{"outcome", to_string(measurement.outcome)},
          {"message", measurement.message},
          {"method", measurement.method},
          {"median_ns", number_or_word(measurement.median_ns)},
          {"q1_ns", number_or_word(measurement.q1_ns)},
          {"q3_ns", number_or_word(measurement.q3_ns)},
          {"min_ns", number_or_word(measurement.min_ns)},
          {"samples", measurement.samples},
          {"note", measurement.note},
          {"median_low_ns", number_or_word(measurement.median_low_ns)},
          {"median_high_ns", number_or_word(measurement.median_high_ns)},
          {"clocks", to_json(measurement.clocks)}};
}

Json to_json(const CeilingRecord& ceiling) {
  return {{"kind", ceiling.kind},
          {"method", ceiling.method},
          {"bytes", ceiling.bytes},
          {"rate", number_or_word(ceiling.rate)},
          {"measured_at", ceiling.measured_at},
          {"clocks", to_json(ceiling.clocks)}};
}

Json to_json(const FinalSamples& final) {
  return {
      {"samples_ns", final.samples_ns}, {"note", final.note}, {"clocks", to_json(final.clocks)}};
}

Json to_json(const VariantCounters& counters) {
  Json values = Json::object();
  for (const CounterRecord& counter : counters.values) {
    values[counter.name] = number_or_word(counter.value);
  }
  return {{"chip", counters.chip},     {"launches", counters.launches},
          {"passes", counters.passes}, {"note", counters.note},
          {"values", values},          {"left_out", counters.left_out}};
}

void read_fields(ObjectReader& reader, BuildRecord& build) {
  reader.read("key", build.key);
  reader.read("sha256", build.sha256);
  reader.read("arch", build.arch);
  reader.read_word("outcome", build.outcome, outcome_from_string, "outcome");
  reader.read("message", build.message);
  reader.read("registers", build.registers);
  reader.read("spill_bytes", build.spill_bytes);
  reader.read("static_shared_bytes", build.static_shared_bytes);
}

void read_fields(ObjectReader& reader, CheckRecord& check) {
  reader.read_word("outcome", check.outcome, outcome_from_string, "outcome");
  reader.read("message", check.message);
  reader.read("error", check.error);
  reader.read("tolerance", check.tolerance);
}

void read_fields(ObjectReader& reader, MeasurementRecord& measurement) {
  reader.read_word("outcome", measurement.outcome, outcome_from_string, "outcome");
  reader.read("message", measurement.message);
  reader.read("method", measurement.method);
  reader.read("median_ns", measurement.median_ns);
  reader.read("q1_ns", measurement.q1_ns);
  reader.read("q3_ns", measurement.q3_ns);
  reader.read("min_ns", measurement.min_ns);
  reader.read("samples", measurement.samples);
  reader.read("note", measurement.note);
  reader.read("median_low_ns", measurement.median_low_ns);
  reader.read("median_high_ns", measurement.median_high_ns);
  reader.read_object("clocks", measurement.clocks);
}

void read_fields(ObjectReader& reader, ClockRecord& clocks) {
  reader.read("sm_mhz", clocks.sm_mhz);
  reader.read("memory_mhz", clocks.memory_mhz);
  reader.read("power_w", clocks.power_w);
  reader.read("temperature_c", clocks.temperature_c);
  reader.read("throttle_reasons", clocks.throttle_reasons);
  reader.read("throttled_samples", clocks.throttled_samples);
}

void read_fields(ObjectReader& reader, FinalSamples& final) {
  reader.read("samples_ns", final.samples_ns);
  reader.read("note", final.note);
  reader.read_object("clocks", final.clocks);
}

void read_fields(ObjectReader& reader, CeilingRecord& ceiling) {
  reader.read("kind", ceiling.kind);
  reader.read("method", ceiling.method);
  reader.read("bytes", ceiling.bytes);
  reader.read("rate", ceiling.rate);
  reader.read("measured_at", ceiling.measured_at);
  reader.read_object("clocks", ceiling.clocks);
}

namespace {

// {"dram_read_bytes": 33580000, ...}
void read_values(ObjectReader& reader, std::vector<CounterRecord>& out) {
  for (const JsonCursor& value : reader.read_members("values")) {
    reader.keep(value.read(out.emplace_back(CounterRecord{value.key(), 0}).value));
  }
}

}  // namespace

void read_fields(ObjectReader& reader, VariantCounters& counters) {
  reader.read("chip", counters.chip);
  reader.read("launches", counters.launches);
  reader.read("passes", counters.passes);
  reader.read("note", counters.note);
  read_values(reader, counters.values);
  reader.read("left_out", counters.left_out);
}

}  // namespace mgtune
