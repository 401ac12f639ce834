#include "system/utc_now.h"

#include <fmt/chrono.h>
#include <time.h>

#include <algorithm>

namespace mgtune {
namespace {

constexpr std::time_t kYear0 = -62'167'219'200;
constexpr std::time_t kEndOfYear9999 = 253'402'300'799;

timespec clock_now() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return now;
}

std::string utc_text(std::time_t seconds) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                     fmt::gmtime(std::clamp(seconds, kYear0, kEndOfYear9999)));
}

}  // namespace

std::string utc_now() { return utc_text(clock_now().tv_sec); }

std::string utc_now_ms() {
  const timespec now = clock_now();
  std::string text = utc_text(now.tv_sec);
  return text.insert(text.size() - 1, fmt::format(".{:03}", now.tv_nsec / 1'000'000));
}

std::string utc_before_now(std::chrono::seconds age) {
  return utc_text(clock_now().tv_sec - static_cast<std::time_t>(age.count()));
}

}  // namespace mgtune
