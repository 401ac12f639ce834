#include "system/utc_now.h"

#include <array>
#include <ctime>
#include <string>

namespace mgtune {

std::string utc_now() { return utc_text(std::chrono::system_clock::now()); }

std::string utc_now_ms() {
  const auto now = std::chrono::system_clock::now();
  const auto ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  std::string text = utc_text(now);
  const std::string digits = std::to_string(1000 + ms).substr(1);
  return text.insert(text.size() - 1, "." + digits);
}

std::string utc_text(std::chrono::system_clock::time_point time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  std::array<char, sizeof "2026-11-21T09:00:00Z"> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text.data();
}

}  // namespace mgtune
