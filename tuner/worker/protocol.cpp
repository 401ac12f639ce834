#include "worker/protocol.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "json/object_reader.h"
#include "worker/record_json.h"

namespace mgtune {
namespace {

constexpr std::array<StatusCode, 12> kFailures = {
    StatusCode::invalid_argument, StatusCode::not_found,     StatusCode::environment,
    StatusCode::corrupt,          StatusCode::incompatible,  StatusCode::io,
    StatusCode::compile_failed,   StatusCode::launch_failed, StatusCode::timeout,
    StatusCode::device_lost,      StatusCode::unsupported,   StatusCode::internal};

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

}  // namespace

std::string encode(const WorkRequest& request) {
  if (request.kind == WorkRequest::Kind::ceiling) {
    return Json({{"do", word(request.kind)},
                 {"id", request.id},
                 {"device", request.device},
                 {"ceiling", request.ceiling},
                 {"bytes", request.bytes}})
        .compact_text();
  }
  Json json{{"do", word(request.kind)}, {"id", request.id},           {"kernel", request.kernel},
            {"op", request.op},         {"problem", request.problem}, {"device", request.device}};
  if (request.kind == WorkRequest::Kind::final) {
    json["variants"] = request.variants;
    return json.compact_text();
  }
  json["variant"] = request.variant;
  if (request.kind == WorkRequest::Kind::count) {
    json["tier"] = request.tier;
  } else {
    json["stop_above_ns"] = number_or_word(request.stop_above_ns);
  }
  return json.compact_text();
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
