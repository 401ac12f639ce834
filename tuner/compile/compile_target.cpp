#include "compile/compile_target.h"

#include <array>
#include <utility>

#include "json/json.h"
#include "json/json_cursor.h"

namespace mgtune {
namespace {

constexpr std::array<std::pair<const char*, std::int64_t DeviceLimits::*>, 4> kLimits = {
    {{"compute_capability", &DeviceLimits::compute_capability},
     {"sm_count", &DeviceLimits::sm_count},
     {"max_shared_bytes", &DeviceLimits::max_shared_bytes},
     {"l2_bytes", &DeviceLimits::l2_bytes}}};

Result<DeviceInfo> read_target(const std::string& word) {
  MGTUNE_ASSIGN(const JsonValue json, parse_json(word));
  const JsonCursor cursor(word, json);
  MGTUNE_TRY(cursor.expect_keys(
      {"id", "arch", "compute_capability", "sm_count", "max_shared_bytes", "l2_bytes"}));
  DeviceInfo device;
  MGTUNE_ASSIGN(device.id, cursor.at("id").string());
  MGTUNE_ASSIGN(device.arch, cursor.at("arch").string());
  device.kind = device.arch == "cpu" ? DeviceKind::cpu : DeviceKind::cuda;
  for (const auto& [key, member] : kLimits) {
    MGTUNE_ASSIGN(device.limits.*member, cursor.at(key).integer());
  }
  return device;
}

}  // namespace

std::string compile_target_word(const DeviceInfo& device) {
  Json json = {{"id", device.id}, {"arch", device.arch}};
  for (const auto& [key, member] : kLimits) json[key] = device.limits.*member;
  return json.compact_text();
}

Result<DeviceInfo> decode_compile_target(const std::string& word) {
  Result<DeviceInfo> device = read_target(word);
  if (!device.ok()) return invalid_argument("not a device to compile for: " + word);
  return device;
}

}  // namespace mgtune
