#include "worker/protocol.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

namespace mgtune {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<StatusCode, 12> kFailures = {
    StatusCode::invalid_argument, StatusCode::not_found,     StatusCode::environment,
    StatusCode::corrupt,          StatusCode::incompatible,  StatusCode::io,
    StatusCode::compile_failed,   StatusCode::launch_failed, StatusCode::timeout,
    StatusCode::device_lost,      StatusCode::unsupported,   StatusCode::internal};

// ---- writing ----

Json number(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return "nan";
  return value > 0 ? "inf" : "-inf";
}

const char* word(WorkReply::Phase phase) {
  return phase == WorkReply::Phase::reference ? "reference" : "variant";
}

std::string line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

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
          {"error", number(check.error)},
          {"tolerance", number(check.tolerance)}};
}

Json to_json(const ClockRecord& clocks) {
  return {{"sm_mhz", number(clocks.sm_mhz)},
          {"memory_mhz", number(clocks.memory_mhz)},
          {"power_w", number(clocks.power_w)},
          {"temperature_c", number(clocks.temperature_c)},
          {"throttle_reasons", clocks.throttle_reasons},
          {"throttled_samples", clocks.throttled_samples}};
}

Json to_json(const MeasurementRecord& measurement) {
  return {{"outcome", to_string(measurement.outcome)},
          {"message", measurement.message},
          {"method", measurement.method},
          {"median_ns", number(measurement.median_ns)},
          {"q1_ns", number(measurement.q1_ns)},
          {"q3_ns", number(measurement.q3_ns)},
          {"min_ns", number(measurement.min_ns)},
          {"samples", measurement.samples},
          {"note", measurement.note},
          {"median_low_ns", number(measurement.median_low_ns)},
          {"median_high_ns", number(measurement.median_high_ns)},
          {"clocks", to_json(measurement.clocks)}};
}

Json to_json(const CeilingRecord& ceiling) {
  return {{"kind", ceiling.kind},
          {"method", ceiling.method},
          {"bytes", ceiling.bytes},
          {"rate", number(ceiling.rate)},
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
    values[counter.name] = number(counter.value);
  }
  return {{"chip", counters.chip},     {"launches", counters.launches},
          {"passes", counters.passes}, {"note", counters.note},
          {"values", values},          {"left_out", counters.left_out}};
}

const char* word(WorkRequest::Kind kind) {
  switch (kind) {
    case WorkRequest::Kind::compile:
      return "compile";
    case WorkRequest::Kind::measure:
      return "measure";
    case WorkRequest::Kind::count:
      return "count";
    case WorkRequest::Kind::ceiling:
      return "ceiling";
    case WorkRequest::Kind::final:
      return "final";
  }
  return "";
}

// ---- reading ----

// Takes an object apart key by key and remembers the first thing that is wrong with it.
class ObjectReader {
 public:
  ObjectReader(const Json& json, std::string where) : json_(json), where_(std::move(where)) {
    if (!json_.is_object()) fail("expected an object");
  }

  bool has(const char* key) const { return json_.is_object() && json_.contains(key); }

  const Json& value(const char* key) {
    static const Json kNone;
    known_.insert(key);
    if (has(key)) return json_[key];
    fail(std::string("no key \"") + key + '"');
    return kNone;
  }

  void read(const char* key, std::string& out) {
    if (const Json& json = value(key); json.is_string()) {
      out = json.get<std::string>();
    } else {
      fail(std::string(key) + ": expected a string");
    }
  }

  template <typename Integer>
  requires std::is_integral_v<Integer>
  void read(const char* key, Integer& out) {
    const Json& json = value(key);
    const bool fits =
        json.is_number_unsigned()
            ? std::in_range<Integer>(json.get<std::uint64_t>())
            : json.is_number_integer() && std::in_range<Integer>(json.get<std::int64_t>());
    if (fits) {
      out = json.get<Integer>();
    } else {
      fail(std::string(key) + ": expected an integer");
    }
  }

  void read(const char* key, double& out) {
    const Json& json = value(key);
    if (json.is_number()) {
      out = json.get<double>();
    } else if (json == "inf" || json == "-inf") {
      out = json == "inf" ? std::numeric_limits<double>::infinity()
                          : -std::numeric_limits<double>::infinity();
    } else if (json == "nan") {
      out = std::numeric_limits<double>::quiet_NaN();
    } else {
      fail(std::string(key) + ": expected a number");
    }
  }

  template <typename Value>
  void read(const char* key, std::vector<Value>& out) {
    const Json& json = value(key);
    if (!json.is_array()) return fail(std::string(key) + ": expected an array");
    for (const Json& item : json) {
      const Json wrapped = {{key, item}};
      ObjectReader inner(wrapped, where_);
      inner.read(key, out.emplace_back());
      if (!inner.failure_.empty()) failure_ = inner.failure_;
    }
  }

  void read(const char* key, std::vector<CounterRecord>& out) {
    const Json& json = value(key);
    ObjectReader inner(json, key);
    if (json.is_object()) {
      for (const auto& [name, number] : json.items()) {
        inner.read(name.c_str(), out.emplace_back(CounterRecord{name, 0}).value);
      }
    }
    if (!inner.failure_.empty()) fail(inner.failure_);
  }

  void read(const char* key, Outcome& out) {
    std::string text;
    read(key, text);
    if (const std::optional<Outcome> outcome = outcome_from_string(text)) {
      out = *outcome;
    } else {
      fail(std::string(key) + ": no outcome is called \"" + text + '"');
    }
  }

  void read(const char* key, WorkReply::Phase& out) {
    std::string text;
    read(key, text);
    if (text == word(WorkReply::Phase::reference)) {
      out = WorkReply::Phase::reference;
    } else if (text != word(WorkReply::Phase::variant)) {
      fail(std::string(key) + ": no phase is called \"" + text + '"');
    }
  }

  void read(const char* key, StatusCode& out) {
    std::string text;
    read(key, text);
    const auto* const found = std::ranges::find_if(
        kFailures, [&text](StatusCode code) { return to_string(code) == text; });
    if (found != kFailures.end()) {
      out = *found;
    } else {
      fail(std::string(key) + ": no failure is called \"" + text + '"');
    }
  }

  template <typename Record>
  void read_optional(const char* key, std::optional<Record>& out) {
    if (has(key)) read_object(key, out.emplace());
  }

  template <typename Record>
  void read_object(const char* key, Record& out) {
    ObjectReader inner(value(key), key);
    inner.read_all(out);
    if (!inner.failure_.empty()) fail(inner.failure_);
  }

  void fail(const std::string& what) {
    if (failure_.empty()) failure_ = where_ + ": " + what;
  }

  // After everything was read: corrupt for what went wrong, or for a key that nothing asked for.
  Status finish() {
    if (json_.is_object()) {
      for (const auto& [key, value] : json_.items()) {
        if (known_.count(key) == 0) fail("unknown key \"" + key + '"');
      }
    }
    return failure_.empty() ? Status() : corrupt(failure_);
  }

 private:
  void read_all(BuildRecord& build) {
    read("key", build.key);
    read("sha256", build.sha256);
    read("arch", build.arch);
    read("outcome", build.outcome);
    read("message", build.message);
    read("registers", build.registers);
    read("spill_bytes", build.spill_bytes);
    read("static_shared_bytes", build.static_shared_bytes);
    static_cast<void>(finish());
  }

  void read_all(CheckRecord& check) {
    read("outcome", check.outcome);
    read("message", check.message);
    read("error", check.error);
    read("tolerance", check.tolerance);
    static_cast<void>(finish());
  }

  void read_all(MeasurementRecord& measurement) {
    read("outcome", measurement.outcome);
    read("message", measurement.message);
    read("method", measurement.method);
    read("median_ns", measurement.median_ns);
    read("q1_ns", measurement.q1_ns);
    read("q3_ns", measurement.q3_ns);
    read("min_ns", measurement.min_ns);
    read("samples", measurement.samples);
    read("note", measurement.note);
    read("median_low_ns", measurement.median_low_ns);
    read("median_high_ns", measurement.median_high_ns);
    read_object("clocks", measurement.clocks);
    static_cast<void>(finish());
  }

  void read_all(ClockRecord& clocks) {
    read("sm_mhz", clocks.sm_mhz);
    read("memory_mhz", clocks.memory_mhz);
    read("power_w", clocks.power_w);
    read("temperature_c", clocks.temperature_c);
    read("throttle_reasons", clocks.throttle_reasons);
    read("throttled_samples", clocks.throttled_samples);
    static_cast<void>(finish());
  }

  void read_all(FinalSamples& final) {
    read("samples_ns", final.samples_ns);
    read("note", final.note);
    read_object("clocks", final.clocks);
    static_cast<void>(finish());
  }

  void read_all(CeilingRecord& ceiling) {
    read("kind", ceiling.kind);
    read("method", ceiling.method);
    read("bytes", ceiling.bytes);
    read("rate", ceiling.rate);
    read("measured_at", ceiling.measured_at);
    read_object("clocks", ceiling.clocks);
    static_cast<void>(finish());
  }

  void read_all(VariantCounters& counters) {
    read("chip", counters.chip);
    read("launches", counters.launches);
    read("passes", counters.passes);
    read("note", counters.note);
    read("values", counters.values);
    read("left_out", counters.left_out);
    static_cast<void>(finish());
  }

  const Json& json_;
  std::string where_;
  std::set<std::string, std::less<>> known_;
  std::string failure_;
};

Result<Json> parse(const std::string& text) {
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return corrupt("not JSON: " + text.substr(0, 120));
  return json;
}

}  // namespace

std::string encode(const WorkRequest& request) {
  if (request.kind == WorkRequest::Kind::ceiling) {
    return line({{"do", word(request.kind)},
                 {"id", request.id},
                 {"device", request.device},
                 {"ceiling", request.ceiling},
                 {"bytes", request.bytes}});
  }
  Json json{{"do", word(request.kind)}, {"id", request.id},           {"kernel", request.kernel},
            {"op", request.op},         {"problem", request.problem}, {"device", request.device}};
  if (request.kind == WorkRequest::Kind::final) {
    json["variants"] = request.variants;
    return line(json);
  }
  json["variant"] = request.variant;
  if (request.kind == WorkRequest::Kind::count) {
    json["tier"] = request.tier;
  } else {
    json["stop_above_ns"] = number(request.stop_above_ns);
  }
  return line(json);
}

std::string encode(const WorkReply& reply) {
  if (reply.kind == WorkReply::Kind::begin) {
    return line({{"did", "begin"},
                 {"id", reply.id},
                 {"phase", word(reply.phase)},
                 {"message", reply.message}});
  }
  if (reply.kind == WorkReply::Kind::failed) {
    return line({{"did", "failed"},
                 {"id", reply.id},
                 {"status", to_string(reply.failure)},
                 {"message", reply.message}});
  }
  Json json{{"did", "done"},
            {"id", reply.id},
            {"outcome", to_string(reply.outcome)},
            {"message", reply.message}};
  if (reply.build) json["build"] = to_json(*reply.build);
  if (reply.check) json["check"] = to_json(*reply.check);
  if (reply.measurement) json["measurement"] = to_json(*reply.measurement);
  if (reply.ceiling) json["ceiling"] = to_json(*reply.ceiling);
  if (reply.final) json["final"] = to_json(*reply.final);
  if (reply.counters) json["counters"] = to_json(*reply.counters);
  return line(json);
}

Result<WorkRequest> decode_request(const std::string& text) {
  MGTUNE_ASSIGN(const Json json, parse(text));
  ObjectReader reader(json, "request");
  WorkRequest request;
  std::string kind;
  reader.read("do", kind);
  constexpr std::array kKinds = {WorkRequest::Kind::compile, WorkRequest::Kind::measure,
                                 WorkRequest::Kind::count, WorkRequest::Kind::ceiling,
                                 WorkRequest::Kind::final};
  const auto* const known =
      std::ranges::find_if(kKinds, [&kind](WorkRequest::Kind each) { return kind == word(each); });
  if (known == kKinds.end()) {
    reader.fail("nothing is called \"" + kind + '"');
  } else {
    request.kind = *known;
  }
  reader.read("id", request.id);
  reader.read("device", request.device);
  if (request.kind == WorkRequest::Kind::ceiling) {
    reader.read("ceiling", request.ceiling);
    reader.read("bytes", request.bytes);
    MGTUNE_TRY(reader.finish());
    return request;
  }
  reader.read("kernel", request.kernel);
  reader.read("op", request.op);
  reader.read("problem", request.problem);
  if (request.kind == WorkRequest::Kind::final) {
    reader.read("variants", request.variants);
  } else {
    reader.read("variant", request.variant);
  }
  if (request.kind == WorkRequest::Kind::count) {
    reader.read("tier", request.tier);
  } else if (request.kind != WorkRequest::Kind::final) {
    reader.read("stop_above_ns", request.stop_above_ns);
  }
  MGTUNE_TRY(reader.finish());
  return request;
}

Result<WorkReply> decode_reply(const std::string& text) {
  MGTUNE_ASSIGN(const Json json, parse(text));
  ObjectReader reader(json, "reply");
  WorkReply reply;
  std::string kind;
  reader.read("did", kind);
  reader.read("id", reply.id);
  if (kind == "begin") {
    reply.kind = WorkReply::Kind::begin;
    reader.read("phase", reply.phase);
    reader.read("message", reply.message);
  } else if (kind == "failed") {
    reply.kind = WorkReply::Kind::failed;
    reader.read("status", reply.failure);
    reader.read("message", reply.message);
  } else if (kind == "done") {
    reader.read("outcome", reply.outcome);
    reader.read("message", reply.message);
    reader.read_optional("build", reply.build);
    reader.read_optional("check", reply.check);
    reader.read_optional("measurement", reply.measurement);
    reader.read_optional("ceiling", reply.ceiling);
    reader.read_optional("final", reply.final);
    reader.read_optional("counters", reply.counters);
  } else {
    reader.fail("nothing is called \"" + kind + '"');
  }
  MGTUNE_TRY(reader.finish());
  return reply;
}

}  // namespace mgtune
