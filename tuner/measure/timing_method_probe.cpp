#include "measure/timing_method_probe.h"

#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>

#include "system/child_process.h"

namespace mgtune {
namespace {

// Loading CUPTI takes 0.1 s; from a cold network file system some seconds.
constexpr std::chrono::seconds kDeadline{20};

TimingMethod without_cupti(const std::string& why) {
  return {"rotating_events", "CUPTI cannot be tried: " + why};
}

}  // namespace

Result<TimingMethod> probe_timing_method(const std::string& program) {
  MGTUNE_ASSIGN(ChildProcess child, ChildProcess::start({program, "worker", "method"}));
  const Result<std::string> line = child.read_line(std::chrono::steady_clock::now() + kDeadline);
  if (line.status().code() == StatusCode::timeout) {
    return without_cupti("no answer in " + std::to_string(kDeadline.count()) + " s");
  }
  if (!line.ok()) {
    const std::string end = child.end_description();
    return without_cupti("the process that tried " + end + "; " + child.read_error_output());
  }
  const auto json = nlohmann::json::parse(*line, nullptr, false);
  const bool understood = json.is_object() && json.contains("method") && json.contains("reason") &&
                          json["method"].is_string() && json["reason"].is_string();
  if (!understood) return without_cupti("no answer but '" + *line + "'");
  return TimingMethod{json["method"].get<std::string>(), json["reason"].get<std::string>()};
}

void write_timing_method(const TimingMethod& method) {
  const nlohmann::json json = {{"method", method.name}, {"reason", method.reason}};
  std::cout << json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << std::endl;
}

}  // namespace mgtune
