#include "compile/compile_target.h"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

namespace mgtune {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::pair<const char*, std::int64_t DeviceLimits::*>, 4> kLimits = {
    {{"compute_capability", &DeviceLimits::compute_capability},
     {"sm_count", &DeviceLimits::sm_count},
     {"max_shared_bytes", &DeviceLimits::max_shared_bytes},
     {"l2_bytes", &DeviceLimits::l2_bytes}}};

bool has_text(const Json& json, const char* key) {
  return json.contains(key) && json[key].is_string();
}

}  // namespace

std::string compile_target_word(const DeviceInfo& device) {
  Json json = {{"id", device.id}, {"arch", device.arch}};
  for (const auto& [key, member] : kLimits) json[key] = device.limits.*member;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<DeviceInfo> decode_compile_target(const std::string& word) {
  const Json json = Json::parse(word, nullptr, false);
  const Status malformed = invalid_argument("not a device to compile for: " + word);
  if (!json.is_object() || !has_text(json, "id") || !has_text(json, "arch")) return malformed;
  DeviceInfo device;
  device.id = json["id"].get<std::string>();
  device.arch = json["arch"].get<std::string>();
  device.kind = device.arch == "cpu" ? DeviceKind::cpu : DeviceKind::cuda;
  for (const auto& [key, member] : kLimits) {
    if (!json.contains(key) || !json[key].is_number_integer()) return malformed;
    device.limits.*member = json[key].get<std::int64_t>();
  }
  return device;
}

}  // namespace mgtune
