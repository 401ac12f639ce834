#include "system/utc_now.h"

#include <fmt/chrono.h>

namespace mgtune {

std::string utc_now() { return utc_text(std::chrono::system_clock::now()); }

std::string utc_now_ms() {
  const auto now = std::chrono::system_clock::now();
  const auto ms = std::chrono::floor<std::chrono::milliseconds>(now.time_since_epoch()).count();
  std::string text = utc_text(now);
  return text.insert(text.size() - 1, fmt::format(".{:03}", ms % 1000));
}

std::string utc_text(std::chrono::system_clock::time_point time) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(time)));
}

}  // namespace mgtune
