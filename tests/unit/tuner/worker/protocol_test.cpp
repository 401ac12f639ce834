#include "worker/protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/helpers/filled_record.h"

namespace mgtune {
namespace {

VariantRequest variant_request() {
  return {{"path with spaces/\"quoted\"", "rmsnorm.forward", "rows=64 hidden=256 T=bf16"},
          "row VEC=8"};
}

void expect_same(const VariantRequest& decoded) {
  EXPECT_EQ(decoded.kernel, "path with spaces/\"quoted\"");
  EXPECT_EQ(decoded.op, "rmsnorm.forward");
  EXPECT_EQ(decoded.problem, "rows=64 hidden=256 T=bf16");
  EXPECT_EQ(decoded.variant, "row VEC=8");
}

// The request as the worker gets it: on one line, and with its id.
template <typename Work>
Work on_the_wire(const Work& work) {
  const std::string line = encode(WorkRequest{7, work});
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const Result<WorkRequest> decoded = decode_request(line);
  EXPECT_TRUE(decoded.ok()) << decoded.status().message();
  if (!decoded.ok() || !decoded->is<Work>()) {
    ADD_FAILURE() << "no " << Work::kKind << " comes back from " << line;
    return {};
  }
  EXPECT_EQ(decoded->id, 7);
  return std::get<Work>(decoded->work);
}

WorkReply reply() {
  WorkReply reply;
  reply.id = 9'000'000'000;
  reply.outcome = Outcome::raced_out;
  reply.message = "line one\nline two";
  reply.build = BuildRecord{{32, 0, 128}, "key", "sha", "cpu", "warning", Outcome::unsupported};
  reply.code = "12ab";
  reply.compile_seconds = 0.75;
  reply.not_cached = "No space left on device";
  reply.check = CheckRecord{Outcome::ok, "", 1e-7, 2e-6};
  MeasurementRecord measurement;
  measurement.outcome = Outcome::raced_out;
  measurement.method = "emulation";
  measurement.median_ns = 1.5;
  measurement.q1_ns = 1;
  measurement.q3_ns = 2;
  measurement.min_ns = 0.5;
  measurement.samples = 5;
  measurement.note = "note";
  measurement.median_low_ns = 1.4;
  measurement.median_high_ns = 1.6;
  measurement.clocks = {1980, 3201, 650.5, 55, "sw_power_cap", 3};
  reply.measurement = measurement;
  reply.seconds = WorkSeconds{0.25, 0.5, 1.5, 2.5};
  return reply;
}

TEST(Protocol, CeilingsSurviveTheWire) {
  const CeilingRequest request{"read", std::int64_t{3} << 40};
  const CeilingRequest decoded = on_the_wire(request);
  EXPECT_EQ(decoded.ceiling, "read");
  EXPECT_EQ(decoded.bytes, request.bytes);

  WorkReply reply;
  reply.ceiling = {"copy",
                   "rotating",
                   request.bytes,
                   1234.5,
                   "2026-11-21T09:00:00Z",
                   {1980, 3201, 650, 55, "sw_power_cap", 3}};
  const Result<WorkReply> answer = decode_reply(encode(reply));
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  ASSERT_TRUE(answer->ceiling.has_value());
  EXPECT_EQ(answer->ceiling->method, "rotating");
  EXPECT_EQ(answer->ceiling->bytes, request.bytes);
  EXPECT_EQ(answer->ceiling->kind, "copy");
  EXPECT_EQ(answer->ceiling->rate, 1234.5);
  EXPECT_EQ(answer->ceiling->measured_at, "2026-11-21T09:00:00Z");
  EXPECT_EQ(answer->ceiling->clocks, reply.ceiling->clocks);
}

TEST(Protocol, FinalsSurviveTheWire) {
  const FinalRequest request{{"rmsnorm", "rmsnorm.forward", "rows=4 hidden=64 T=f32"},
                             {"row VEC=8", "row VEC=1", "row VEC=8"},
                             0.25};
  const FinalRequest decoded = on_the_wire(request);
  EXPECT_EQ(decoded.variants, request.variants);
  EXPECT_EQ(decoded.problem, request.problem);
  EXPECT_EQ(decoded.settle_seconds, 0.25);

  WorkReply reply;
  reply.final = {{{1.5, 2.5}, {3, 4}, {}}, "a note", {1980, 3201, 650, 55, "", 0}};
  const Result<WorkReply> answer = decode_reply(encode(reply));
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  ASSERT_TRUE(answer->final.has_value());
  EXPECT_EQ(answer->final->samples_ns, reply.final->samples_ns);
  EXPECT_EQ(answer->final->note, "a note");
  EXPECT_EQ(answer->final->clocks, reply.final->clocks);
}

TEST(Protocol, AProbeComesBack) {
  EXPECT_EQ(on_the_wire(ProbeRequest{"compile"}).worker, "compile");
}

TEST(Protocol, ListsOfTheWrongThingAreCorrupt) {
  const std::string start = R"({"do":"final","id":1,"kernel":"k","op":"o","problem":"p",)";
  for (const char* variants : {"\"row\"", "[1]", "[\"row\", null]", "{}"}) {
    const std::string line = start + R"("variants":)" + variants + "}";
    const Status status = decode_request(line).status();
    EXPECT_EQ(status.code(), StatusCode::corrupt) << line;
    EXPECT_THAT(status.message(), testing::ContainsRegex("/variants(/[01])?: expected ")) << line;
  }
}

TEST(Protocol, CountsSurviveTheWire) {
  const CountRequest decoded = on_the_wire(CountRequest{variant_request(), 2});
  EXPECT_EQ(decoded.tier, 2);
  expect_same(decoded);

  WorkReply reply;
  reply.counters = VariantCounters{
      "GH100", 16, 2, "note", {{"dram_write_bytes", 1.5}, {"a", 1e300}}, {"x: why", "y: why"}};
  const Result<WorkReply> answer = decode_reply(encode(reply));
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  ASSERT_TRUE(answer->counters.has_value());
  EXPECT_EQ(answer->counters->chip, "GH100");
  EXPECT_EQ(answer->counters->launches, 16);
  EXPECT_EQ(answer->counters->passes, 2);
  EXPECT_EQ(answer->counters->note, "note");
  EXPECT_EQ(answer->counters->values, reply.counters->values);  // in their order
  EXPECT_EQ(answer->counters->left_out, reply.counters->left_out);
}

TEST(Protocol, MalformedCountersAreRefused) {
  WorkReply reply;
  reply.counters = VariantCounters{"GH100", 16, 2, "", {{"a", 1}}, {"b"}};
  const std::string line = encode(reply);
  const auto refused = [&line](const std::string& from, const std::string& to) {
    std::string edited = line;
    edited.replace(edited.find(from), from.size(), to);
    return decode_reply(edited).status().code() == StatusCode::corrupt;
  };
  EXPECT_TRUE(refused(R"({"a":1.0})", R"({"a":"many"})"));
  EXPECT_TRUE(refused(R"({"a":1.0})", "[1]"));
  EXPECT_TRUE(refused(R"(["b"])", "[1]"));
  EXPECT_TRUE(refused(R"(["b"])", R"("b")"));
  EXPECT_TRUE(refused(R"("chip")", R"("chips")"));
}

TEST(Protocol, RequestsSurviveTheWire) {
  const CompileRequest compile = on_the_wire(CompileRequest{variant_request(), "cpu"});
  EXPECT_EQ(compile.device, "cpu");
  expect_same(compile);
  const MeasureRequest measure = on_the_wire(MeasureRequest{variant_request(), 1234.5, 1980});
  EXPECT_EQ(measure.stop_above_ns, 1234.5);
  EXPECT_EQ(measure.stop_above_mhz, 1980);
  expect_same(measure);
}

TEST(Protocol, VariantsThatCompileTogetherSurviveTheWire) {
  CompileRequest request{variant_request(), "cpu"};
  EXPECT_THAT(encode(WorkRequest{7, request}), testing::Not(testing::HasSubstr("others")));
  EXPECT_THAT(on_the_wire(request).others, testing::IsEmpty());
  request.others = {"row VEC=4", "row VEC=2"};
  const CompileRequest decoded = on_the_wire(request);
  EXPECT_EQ(decoded.others, request.others);
  EXPECT_EQ(decoded.device, "cpu");
  expect_same(decoded);

  const std::string line = encode(WorkRequest{7, request});
  for (const char* wrong : {R"("row VEC=4")", "[1]", "null"}) {
    std::string edited = line;
    const std::string right = R"(["row VEC=4","row VEC=2"])";
    edited.replace(edited.find(right), right.size(), wrong);
    EXPECT_EQ(decode_request(edited).status().code(), StatusCode::corrupt) << edited;
  }
  std::string measure = encode(WorkRequest{7, MeasureRequest{variant_request(), 1}});
  measure.insert(measure.size() - 1, R"(,"others":["row VEC=4"])");
  EXPECT_EQ(decode_request(measure).status().code(), StatusCode::corrupt) << measure;
}

TEST(Protocol, RepliesSurviveTheWire) {
  const std::string line = encode(reply());
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const Result<WorkReply> decoded = decode_reply(line);
  ASSERT_TRUE(decoded.ok()) << decoded.status().message();
  EXPECT_EQ(decoded->kind, WorkReply::Kind::done);
  EXPECT_EQ(decoded->id, 9'000'000'000);
  EXPECT_EQ(decoded->outcome, Outcome::raced_out);
  EXPECT_EQ(decoded->message, "line one\nline two");
  ASSERT_TRUE(decoded->build.has_value());
  EXPECT_EQ(decoded->build->sha256, "sha");
  EXPECT_EQ(decoded->build->registers, 32);
  EXPECT_EQ(decoded->build->outcome, Outcome::unsupported);
  EXPECT_EQ(decoded->build->static_shared_bytes, 128);
  ASSERT_TRUE(decoded->check.has_value());
  EXPECT_EQ(decoded->check->error, 1e-7);
  ASSERT_TRUE(decoded->measurement.has_value());
  EXPECT_EQ(decoded->measurement->outcome, Outcome::raced_out);
  EXPECT_EQ(decoded->measurement->median_ns, 1.5);
  EXPECT_EQ(decoded->measurement->samples, 5);
  EXPECT_EQ(decoded->measurement->median_high_ns, 1.6);
  EXPECT_EQ(decoded->measurement->clocks, reply().measurement->clocks);
  ASSERT_TRUE(decoded->seconds.has_value());
  EXPECT_EQ(decoded->seconds->load, 0.25);
  EXPECT_EQ(decoded->seconds->check, 0.5);
  EXPECT_EQ(decoded->seconds->measure, 1.5);
  EXPECT_EQ(decoded->seconds->all, 2.5);
  EXPECT_EQ(decoded->compile_seconds, 0.75);
  EXPECT_EQ(encode(*decoded), line);
}

TEST(Protocol, RecordsSurviveTheWireWithEveryField) {
  WorkReply reply;
  reply.build = filled_record<BuildRecord>();
  reply.check = filled_record<CheckRecord>();
  reply.measurement = filled_record<MeasurementRecord>();
  reply.ceiling = filled_record<CeilingRecord>();
  const Result<WorkReply> decoded = decode_reply(encode(reply));
  ASSERT_TRUE(decoded.ok()) << decoded.status().message();
  EXPECT_TRUE(*decoded->build == *reply.build);
  EXPECT_EQ(decoded->code, reply.code);
  EXPECT_EQ(decoded->not_cached, reply.not_cached);
  EXPECT_TRUE(*decoded->check == *reply.check);
  EXPECT_TRUE(*decoded->measurement == *reply.measurement);
  EXPECT_TRUE(*decoded->ceiling == *reply.ceiling);
}

TEST(Protocol, BeginSaysWhatBegins) {
  WorkReply begin;
  begin.kind = WorkReply::Kind::begin;
  begin.id = 3;
  EXPECT_EQ(encode(begin), R"({"did":"begin","id":3,"phase":"variant","message":""})");
  begin.phase = WorkReply::Phase::reference;
  begin.message = "reference.cu: scale_reference";
  const Result<WorkReply> decoded = decode_reply(encode(begin));
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded->kind, WorkReply::Kind::begin);
  EXPECT_EQ(decoded->phase, WorkReply::Phase::reference);
  EXPECT_EQ(decoded->message, "reference.cu: scale_reference");
  EXPECT_FALSE(
      decode_reply(R"({"did":"begin","id":3,"phase":"variant","message":"","outcome":"ok"})").ok());
}

TEST(Protocol, FailuresThatAreNotTheVariantsSurviveTheWire) {
  for (const StatusCode code : {StatusCode::io, StatusCode::environment, StatusCode::internal,
                                StatusCode::invalid_argument, StatusCode::not_found}) {
    WorkReply failed;
    failed.kind = WorkReply::Kind::failed;
    failed.id = 5;
    failed.failure = code;
    failed.message = "no space";
    const Result<WorkReply> decoded = decode_reply(encode(failed));
    ASSERT_TRUE(decoded.ok()) << decoded.status().message();
    EXPECT_EQ(decoded->kind, WorkReply::Kind::failed);
    EXPECT_EQ(decoded->failure, code);
    EXPECT_EQ(decoded->message, "no space");
    EXPECT_EQ(encode(*decoded), encode(failed));
  }
}

TEST(Protocol, AbsentRecordsStayAbsent) {
  const Result<WorkReply> decoded =
      decode_reply(R"({"did":"done","id":1,"outcome":"ok","message":""})");
  ASSERT_TRUE(decoded.ok());
  EXPECT_FALSE(decoded->build || decoded->check || decoded->measurement);
}

TEST(Protocol, NumbersThatAreNotFiniteSurviveTheWire) {
  WorkReply out;
  out.check = CheckRecord{Outcome::wrong, "", std::numeric_limits<double>::infinity(), 0};
  out.measurement = MeasurementRecord{};
  out.measurement->q1_ns = -std::numeric_limits<double>::infinity();
  out.measurement->min_ns = std::nan("");
  const Result<WorkReply> decoded = decode_reply(encode(out));
  ASSERT_TRUE(decoded.ok()) << decoded.status().message();
  EXPECT_EQ(decoded->check->error, std::numeric_limits<double>::infinity());
  EXPECT_EQ(decoded->measurement->q1_ns, -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(decoded->measurement->min_ns));
}

TEST(Protocol, BytesThatAreNotUtf8AreReplaced) {
  WorkReply out;
  out.message = "caf\xe9 \xff!";
  const Result<WorkReply> decoded = decode_reply(encode(out));
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded->message, "caf\xef\xbf\xbd \xef\xbf\xbd!");
}

TEST(Protocol, MalformedRepliesAreCorruptAndSayWhere) {
  struct Row {
    std::string line, message;
  };
  const std::vector<Row> rows{
      {"", "not JSON: "},
      {"Segmentation fault", "not JSON: Segmentation fault"},
      {R"({"did":"done")", R"(not JSON: {"did":"done")"},
      {"[1, 2]", "reply: expected object, got an array"},
      {R"({"id":1,"outcome":"ok","message":""})", R"(reply: no key "did")"},
      {R"({"did":"dance","id":1})", R"(reply: nothing is called "dance")"},
      {R"({"did":"begin","id":1,"phase":"nap","message":""})",
       R"(reply: /phase: no phase is called "nap")"},
      {R"({"did":"failed","id":1,"status":"ok","message":""})",
       R"(reply: /status: no failure is called "ok")"},
      {R"({"did":"begin","id":"1"})", R"(reply: /id: expected integer, got "1")"},
      {R"({"did":"begin","id":1.5})", "reply: /id: expected integer, got 1.5"},
      {R"({"did":"begin","id":18446744073709551615})",
       R"(not JSON: {"did":"begin","id":18446744073709551615})"},
      {R"({"did":"done","id":1,"outcome":"fine","message":""})",
       R"(reply: /outcome: no outcome is called "fine")"},
      {R"({"did":"done","id":1,"outcome":"ok","message":null})",
       "reply: /message: expected string, got null"},
      {R"({"did":"done","id":1,"outcome":"ok","message":"","extra":0})",
       R"(reply: unknown key "extra")"},
      {R"({"did":"done","id":1,"outcome":"ok","message":"","check":7})",
       "reply: /check: expected object, got 7"},
      {R"({"did":"done","id":1,"outcome":"ok","message":"","check":
          {"outcome":"ok","message":"","error":"big","tolerance":0}})",
       R"(reply: /check/error: expected number, got "big")"},
      {R"({"did":"done","id":1,"outcome":"ok","message":"","build":
          {"key":"","sha256":"","arch":"","outcome":"ok","message":"","registers":4294967296,
           "spill_bytes":0,"static_shared_bytes":0}})",
       "reply: /build/registers: expected integer, got 4294967296"},
  };
  for (const Row& row : rows) {
    const Result<WorkReply> decoded = decode_reply(row.line);
    ASSERT_FALSE(decoded.ok()) << row.line;
    EXPECT_EQ(decoded.status().code(), StatusCode::corrupt);
    EXPECT_EQ(decoded.status().message(), row.message);
  }
}

TEST(Protocol, MalformedRequestsAreCorrupt) {
  EXPECT_EQ(decode_request(R"({"do":"dance"})").status().message(),
            R"(request: nothing is called "dance")");
  std::string line = encode(WorkRequest{7, CompileRequest{variant_request(), "cpu"}});
  line.replace(line.find("\"id\""), 4, "\"ib\"");
  EXPECT_EQ(decode_request(line).status().message(), R"(request: no key "id")");
  EXPECT_EQ(decode_request(line).status().code(), StatusCode::corrupt);
}

TEST(Protocol, DeepNestingIsNoCrash) {
  EXPECT_FALSE(decode_reply(std::string(200'000, '[')).ok());
  EXPECT_FALSE(decode_reply(std::string(5'000, '[') + std::string(5'000, ']')).ok());
}

}  // namespace
}  // namespace mgtune
