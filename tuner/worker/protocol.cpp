#include "worker/protocol.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <type_traits>

#include "worker/object_reader.h"
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

std::string line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Json> parse(const std::string& text) {
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return corrupt("not JSON: " + text.substr(0, 120));
  return json;
}

void write_fields(Json& json, const ProblemRequest& request) {
  json["kernel"] = request.kernel;
  json["op"] = request.op;
  json["problem"] = request.problem;
}

void read_fields(ObjectReader& reader, ProblemRequest& request) {
  reader.read("kernel", request.kernel);
  reader.read("op", request.op);
  reader.read("problem", request.problem);
}

void write_fields(Json& json, const VariantRequest& request) {
  write_fields(json, static_cast<const ProblemRequest&>(request));
  json["variant"] = request.variant;
}

void read_fields(ObjectReader& reader, VariantRequest& request) {
  read_fields(reader, static_cast<ProblemRequest&>(request));
  reader.read("variant", request.variant);
}

void write_fields(Json& json, const CompileRequest& request) {
  write_fields(json, static_cast<const VariantRequest&>(request));
  json["device"] = request.device;
}

void read_fields(ObjectReader& reader, CompileRequest& request) {
  read_fields(reader, static_cast<VariantRequest&>(request));
  reader.read("device", request.device);
}

void write_fields(Json& json, const MeasureRequest& request) {
  write_fields(json, static_cast<const VariantRequest&>(request));
  json["stop_above_ns"] = number_or_word(request.stop_above_ns);
}

void read_fields(ObjectReader& reader, MeasureRequest& request) {
  read_fields(reader, static_cast<VariantRequest&>(request));
  reader.read("stop_above_ns", request.stop_above_ns);
}

void write_fields(Json& json, const CountRequest& request) {
  write_fields(json, static_cast<const VariantRequest&>(request));
  json["tier"] = request.tier;
}

void read_fields(ObjectReader& reader, CountRequest& request) {
  read_fields(reader, static_cast<VariantRequest&>(request));
  reader.read("tier", request.tier);
}

void write_fields(Json& json, const CeilingRequest& request) {
  json["ceiling"] = request.ceiling;
  json["bytes"] = request.bytes;
}

void read_fields(ObjectReader& reader, CeilingRequest& request) {
  reader.read("ceiling", request.ceiling);
  reader.read("bytes", request.bytes);
}

void write_fields(Json& json, const FinalRequest& request) {
  write_fields(json, static_cast<const ProblemRequest&>(request));
  json["variants"] = request.variants;
}

void read_fields(ObjectReader& reader, FinalRequest& request) {
  read_fields(reader, static_cast<ProblemRequest&>(request));
  reader.read("variants", request.variants);
}

// Makes `work` the alternative whose kind is `kind`, and reads its fields.
template <typename... Kinds>
void read_work(ObjectReader& reader, std::string_view kind, std::variant<Kinds...>& work) {
  const auto read_if_kind = [&]<typename Kind>(std::type_identity<Kind>) {
    if (kind != Kind::kKind) return false;
    read_fields(reader, work.template emplace<Kind>());
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
        write_fields(json, work);
        return line(json);
      },
      request.work);
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
  read_work(reader, kind, request.work);
  reader.read("id", request.id);
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
