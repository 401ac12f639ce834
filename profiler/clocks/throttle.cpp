#include "clocks/throttle.h"

#include <array>

namespace mgtune {
namespace {

struct Reason {
  std::uint64_t bit;  // nvmlClocksEventReason...
  const char* word;
};

constexpr std::array kReasons = {
    Reason{0x04, "sw_power_cap"},        Reason{0x08, "hw_slowdown"},
    Reason{0x20, "sw_thermal_slowdown"}, Reason{0x40, "hw_thermal_slowdown"},
    Reason{0x80, "hw_power_brake"},
};

}  // namespace

bool is_throttled(std::uint64_t reasons) { return !throttle_text(reasons).empty(); }

std::string throttle_text(std::uint64_t reasons) {
  std::string text;
  for (const Reason& reason : kReasons) {
    if ((reasons & reason.bit) == 0) continue;
    if (!text.empty()) text += ' ';
    text += reason.word;
  }
  return text;
}

}  // namespace mgtune
