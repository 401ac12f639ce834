#include "worker/protocol.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <type_traits>

#include "json/json.h"
#include "json/json_cursor.h"
#include "store/record_json.h"

namespace mgtune {
namespace {

constexpr std::array<StatusCode, 12> kFailures = {
    StatusCode::invalid_argument, StatusCode::not_found,     StatusCode::environment,
    StatusCode::corrupt,          StatusCode::incompatible,  StatusCode::io,
    StatusCode::compile_failed,   StatusCode::launch_failed, StatusCode::timeout,
    StatusCode::device_lost,      StatusCode::unsupported,   StatusCode::internal};

constexpr std::array kPhases = {WorkReply::Phase::variant, WorkReply::Phase::reference};
constexpr std::array kReplyKinds = {WorkReply::Kind::begin, WorkReply::Kind::done,
                                    WorkReply::Kind::failed};

std::string_view word(StatusCode code) { return to_string(code); }
std::string_view word(WorkReply::Phase phase) {
  return phase == WorkReply::Phase::reference ? "reference" : "variant";
}
std::string_view word(WorkReply::Kind kind) {
  if (kind == WorkReply::Kind::begin) return "begin";
  return kind == WorkReply::Kind::done ? "done" : "failed";
}

// The value of kValues that this word names.
template <const auto& kValues>
auto from_word(std::string_view text) -> std::optional<std::decay_t<decltype(kValues[0])>> {
  for (const auto value : kValues) {
    if (word(value) == text) return value;
  }
  return std::nullopt;
}

Result<JsonValue> parse(const std::string& text) {
  Result<JsonValue> json = parse_json(text);
  if (!json.ok()) return corrupt("not JSON: " + text.substr(0, 120));
  return json;
}

// Calls visit(key, member) for each member of a request, to write it or to read it.
template <typename Request, typename Visit>
void for_each_member(Request& request, const Visit& visit) {
  using Kind = std::remove_const_t<Request>;
  if constexpr (std::is_base_of_v<NamedProblem, Kind>) {
    visit("kernel", request.kernel);
    visit("op", request.op);
    visit("problem", request.problem);
  }
  if constexpr (std::is_base_of_v<VariantRequest, Kind>) visit("variant", request.variant);
  if constexpr (std::is_same_v<Kind, CompileRequest>) visit("device", request.device);
  if constexpr (std::is_same_v<Kind, MeasureRequest>) {
    visit("stop_above_ns", request.stop_above_ns);
    visit("stop_above_mhz", request.stop_above_mhz);
  }
  if constexpr (std::is_same_v<Kind, CountRequest>) visit("tier", request.tier);
  if constexpr (std::is_same_v<Kind, CeilingRequest>) {
    visit("ceiling", request.ceiling);
    visit("bytes", request.bytes);
  }
  if constexpr (std::is_same_v<Kind, FinalRequest>) {
    visit("variants", request.variants);
    visit("settle_seconds", request.settle_seconds);
  }
  if constexpr (std::is_same_v<Kind, EnergyRequest>) visit("variants", request.variants);
  if constexpr (std::is_same_v<Kind, ProbeRequest>) visit("worker", request.worker);
}

// Makes `work` the alternative whose kind is `kind`, and reads its fields.
template <typename... Kinds>
void read_work(ObjectReader& reader, std::string_view kind, std::variant<Kinds...>& work) {
  const auto read_if_kind = [&]<typename Kind>(std::type_identity<Kind>) {
    if (kind != Kind::kKind) return false;
    Kind& read = work.template emplace<Kind>();
    for_each_member(read, [&reader](const char* key, auto& value) { reader.read(key, value); });
    if constexpr (std::is_same_v<Kind, CompileRequest>) {
      if (reader.has("others")) reader.read("others", read.others);
    }
    return true;
  };
  const bool known = (read_if_kind(std::type_identity<Kinds>()) || ...);
  if (!known) reader.fail("nothing is called \"" + std::string(kind) + '"');
}

}  // namespace

// ObjectReader::read_optional() calls it.
void read_fields(ObjectReader& reader, VariantCounters& counters) {
  read_fields<VariantCounters>(reader, counters);
  for (const JsonCursor& value : reader.read_members("values")) {
    reader.keep(value.read(counters.values.emplace_back(CounterRecord{value.key(), 0}).value));
  }
}

void read_fields(ObjectReader& reader, WorkSeconds& seconds) {
  reader.read("load", seconds.load);
  reader.read("check", seconds.check);
  reader.read("measure", seconds.measure);
  reader.read("all", seconds.all);
}

std::string encode(const WorkRequest& request) {
  return std::visit(
      [&request]<typename Kind>(const Kind& work) {
        Json json{{"do", work.kKind}, {"id", request.id}};
        for_each_member(work, [&json](const char* key, const auto& value) {
          json[key] = field_json(value, number_or_word);
        });
        if constexpr (std::is_same_v<Kind, CompileRequest>) {
          if (!work.others.empty()) json["others"] = work.others;
        }
        return json.compact_text();
      },
      request.work);
}

std::string encode(const WorkReply& reply) {
  Json json{{"did", word(reply.kind)}, {"id", reply.id}};
  if (reply.kind == WorkReply::Kind::begin) json["phase"] = word(reply.phase);
  if (reply.kind == WorkReply::Kind::failed) json["status"] = word(reply.failure);
  if (reply.kind == WorkReply::Kind::done) json["outcome"] = to_string(reply.outcome);
  json["message"] = reply.message;
  if (reply.kind != WorkReply::Kind::done) return json.compact_text();
  const auto add = [&json](const char* key, const auto& record) {
    if (record) json[key] = record_json(*record, number_or_word);
  };
  add("build", reply.build);
  if (!reply.code.empty()) json["code"] = reply.code;
  if (reply.compile_seconds) json["compile_seconds"] = number_or_word(*reply.compile_seconds);
  if (!reply.not_cached.empty()) json["not_cached"] = reply.not_cached;
  add("check", reply.check);
  add("measurement", reply.measurement);
  add("ceiling", reply.ceiling);
  add("final", reply.final);
  add("energy", reply.energy);
  add("counters", reply.counters);
  if (reply.seconds) {
    json["seconds"] = Json{{"load", number_or_word(reply.seconds->load)},
                           {"check", number_or_word(reply.seconds->check)},
                           {"measure", number_or_word(reply.seconds->measure)},
                           {"all", number_or_word(reply.seconds->all)}};
  }
  if (reply.counters) {
    Json& values = json["counters"]["values"] = Json::object();
    for (const CounterRecord& counter : reply.counters->values) {
      values[counter.name] = number_or_word(counter.value);
    }
  }
  return json.compact_text();
}

Result<WorkRequest> decode_request(const std::string& text) {
  MGTUNE_ASSIGN(const JsonValue json, parse(text));
  const std::string source = "request";
  ObjectReader reader(JsonCursor(source, json));
  WorkRequest request;
  std::string kind;
  reader.read("do", kind);
  read_work(reader, kind, request.work);
  reader.read("id", request.id);
  MGTUNE_TRY(reader.finish());
  return request;
}

Result<WorkReply> decode_reply(const std::string& text) {
  MGTUNE_ASSIGN(const JsonValue json, parse(text));
  const std::string source = "reply";
  ObjectReader reader(JsonCursor(source, json));
  WorkReply reply;
  std::string kind;
  reader.read("did", kind);
  if (const auto known = from_word<kReplyKinds>(kind)) {
    reply.kind = *known;
  } else {
    reader.fail("nothing is called \"" + kind + '"');
  }
  reader.read("id", reply.id);
  reader.read("message", reply.message);
  if (reply.kind == WorkReply::Kind::begin) {
    reader.read_word("phase", reply.phase, from_word<kPhases>, "phase");
  } else if (reply.kind == WorkReply::Kind::failed) {
    reader.read_word("status", reply.failure, from_word<kFailures>, "failure");
  } else {
    reader.read_word("outcome", reply.outcome, outcome_from_string, "outcome");
    reader.read_optional("build", reply.build);
    if (reader.has("code")) reader.read("code", reply.code);
    if (reader.has("compile_seconds")) {
      reader.read("compile_seconds", reply.compile_seconds.emplace());
    }
    if (reader.has("not_cached")) reader.read("not_cached", reply.not_cached);
    reader.read_optional("check", reply.check);
    reader.read_optional("measurement", reply.measurement);
    reader.read_optional("ceiling", reply.ceiling);
    reader.read_optional("final", reply.final);
    reader.read_optional("energy", reply.energy);
    reader.read_optional("counters", reply.counters);
    reader.read_optional("seconds", reply.seconds);
  }
  MGTUNE_TRY(reader.finish());
  return reply;
}

}  // namespace mgtune
