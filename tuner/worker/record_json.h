// What stands in the replies of workers, as JSON: records of the store, and what finals and counts
// bring. Pure.

#pragma once

#include "json/json.h"
#include "json/object_reader.h"
#include "store/records.h"
#include "worker/protocol.h"

namespace mgtune {

Json to_json(const BuildRecord& build);
Json to_json(const CheckRecord& check);
Json to_json(const ClockRecord& clocks);
Json to_json(const MeasurementRecord& measurement);
Json to_json(const CeilingRecord& ceiling);
Json to_json(const FinalSamples& final);
Json to_json(const VariantCounters& counters);

// The same back; what is wrong with it, the reader remembers.
void read_fields(ObjectReader& reader, BuildRecord& build);
void read_fields(ObjectReader& reader, CheckRecord& check);
void read_fields(ObjectReader& reader, ClockRecord& clocks);
void read_fields(ObjectReader& reader, MeasurementRecord& measurement);
void read_fields(ObjectReader& reader, CeilingRecord& ceiling);
void read_fields(ObjectReader& reader, FinalSamples& final);
void read_fields(ObjectReader& reader, VariantCounters& counters);

}  // namespace mgtune
