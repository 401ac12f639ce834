#include "measure/timing_method_probe.h"

#include <chrono>
#include <iostream>

#include "json/json.h"
#include "json/json_cursor.h"
#include "worker/child_process.h"

namespace mgtune {
namespace {

// Loading CUPTI takes 0.1 s, but some seconds from a network file system whose cache is cold.
constexpr std::chrono::seconds kProbeDeadline{20};

TimingMethod without_cupti(const std::string& why) {
  return {"rotating_events", "CUPTI cannot be tried: " + why};
}

Result<TimingMethod> read_timing_method(const std::string& line) {
  MGTUNE_ASSIGN(const JsonValue json, parse_json(line));
  const std::string source = "method";
  const JsonCursor cursor(source, json);
  MGTUNE_TRY(cursor.expect_keys({"method", "reason"}));
  TimingMethod method;
  MGTUNE_ASSIGN(method.name, cursor.at("method").string());
  MGTUNE_ASSIGN(method.reason, cursor.at("reason").string());
  return method;
}

}  // namespace

Result<TimingMethod> probe_timing_method(const std::string& program) {
  MGTUNE_ASSIGN(ChildProcess child, ChildProcess::start({program, "worker", "method"}));
  const Result<std::string> line =
      child.read_line(std::chrono::steady_clock::now() + kProbeDeadline);
  if (line.status().code() == StatusCode::timeout) {
    return without_cupti("no answer in " + std::to_string(kProbeDeadline.count()) + " s");
  }
  if (!line.ok()) {
    const std::string end = child.end_description();
    return without_cupti("the process that tried " + end + "; " + child.read_error_output());
  }
  const Result<TimingMethod> method = read_timing_method(*line);
  return method.ok() ? *method : without_cupti("no answer but '" + *line + "'");
}

void write_timing_method(const TimingMethod& method) {
  const Json json = {{"method", method.name}, {"reason", method.reason}};
  std::cout << json.compact_text() << std::endl;
}

}  // namespace mgtune
