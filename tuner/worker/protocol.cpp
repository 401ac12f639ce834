#include "worker/protocol.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <type_traits>

#include "json/object_reader.h"
#include "worker/record_json.h"

namespace mgtune {
namespace {

constexpr std::array<StatusCode, 12> kFailures = {
    StatusCode::invalid_argument, StatusCode::not_found,     StatusCode::environment,
    StatusCode::corrupt,          StatusCode::incompatible,  StatusCode::io,
    StatusCode::compile_failed,   StatusCode::launch_failed, StatusCode::timeout,
    StatusCode::device_lost,      StatusCode::unsupported,   StatusCode::internal};

const char* word(WorkReply::Phase phase) {
  return phase == WorkReply::Phase::reference ? "reference" : "variant";
}

std::optional<WorkReply::Phase> phase_from_string(std::string_view text) {
  for (const auto phase : {WorkReply::Phase::variant, WorkReply::Phase::reference}) {
    if (text == word(phase)) return phase;
  }
  return std::nullopt;
}

std::optional<StatusCode> failure_from_string(std::string_view text) {
  const auto* const found =
      std::ranges::find_if(kFailures, [&](StatusCode code) { return to_string(code) == text; });
  if (found == kFailures.end()) return std::nullopt;
  return *found;
}

Result<JsonValue> parse(const std::string& text) {
  Result<JsonValue> json = parse_json(text);
  if (!json.ok()) return corrupt("not JSON: " + text.substr(0, 120));
  return json;
}

// Calls field(key, member) for each field of a request, to write it or to read it.
template <typename Request, typename Field>
void for_each_field(Request& request, const Field& field) {
  using Kind = std::remove_const_t<Request>;
  if constexpr (std::is_base_of_v<NamedProblem, Kind>) {
    field("kernel", request.kernel);
    field("op", request.op);
    field("problem", request.problem);
  }
  if constexpr (std::is_base_of_v<VariantRequest, Kind>) field("variant", request.variant);
  if constexpr (std::is_same_v<Kind, CompileRequest>) field("device", request.device);
  if constexpr (std::is_same_v<Kind, MeasureRequest>) {
    field("stop_above_ns", request.stop_above_ns);
  }
  if constexpr (std::is_same_v<Kind, CountRequest>) field("tier", request.tier);
  if constexpr (std::is_same_v<Kind, CeilingRequest>) {
    field("ceiling", request.ceiling);
    field("bytes", request.bytes);
  }
  if constexpr (std::is_same_v<Kind, FinalRequest>) field("variants", request.variants);
}

template <typename Value>
Json to_value(const Value& value) {
  return value;
}
Json to_value(double value) { return number_or_word(value); }

// Makes `work` the alternative whose kind is `kind`, and reads its fields.
template <typename... Kinds>
void read_work(ObjectReader& reader, std::string_view kind, std::variant<Kinds...>& work) {
  const auto read_if_kind = [&]<typename Kind>(std::type_identity<Kind>) {
    if (kind != Kind::kKind) return false;
    for_each_field(work.template emplace<Kind>(),
                   [&reader](const char* key, auto& value) { reader.read(key, value); });
    return true;
  };
  const bool known = (read_if_kind(std::type_identity<Kinds>()) || ...);
  if (!known) reader.fail("nothing is called \"" + std::string(kind) + '"');
}

}  // namespace

std::string encode(const WorkRequest& request) {
  return std::visit(
      [&request](const auto& work) {
        Json json{{"do", work.kKind}, {"id", request.id}};
        for_each_field(
            work, [&json](const char* key, const auto& value) { json[key] = to_value(value); });
        return json.compact_text();
      },
      request.work);
}

std::string encode(const WorkReply& reply) {
  if (reply.kind == WorkReply::Kind::begin) {
    return Json({{"did", "begin"},
                 {"id", reply.id},
                 {"phase", word(reply.phase)},
                 {"message", reply.message}})
        .compact_text();
  }
  if (reply.kind == WorkReply::Kind::failed) {
    return Json({{"did", "failed"},
                 {"id", reply.id},
                 {"status", to_string(reply.failure)},
                 {"message", reply.message}})
        .compact_text();
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
  reader.read("id", reply.id);
  if (kind == "begin") {
    reply.kind = WorkReply::Kind::begin;
    reader.read_word("phase", reply.phase, phase_from_string, "phase");
    reader.read("message", reply.message);
  } else if (kind == "failed") {
    reply.kind = WorkReply::Kind::failed;
    reader.read_word("status", reply.failure, failure_from_string, "failure");
    reader.read("message", reply.message);
  } else if (kind == "done") {
    reader.read_word("outcome", reply.outcome, outcome_from_string, "outcome");
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
