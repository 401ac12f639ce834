#include "peers/utc_time.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>

#include "core/text.h"

namespace mgtune {
namespace {

// Reads parts of a text from left to right. After a part that does not fit, `fits` is false.
struct TimeText {
  std::string_view rest;
  bool fits = true;

  int digits(std::size_t count) {
    const std::optional<int> number = parse_number<int>(rest.substr(0, count));
    fits = fits && rest.size() >= count && number && *number >= 0 && rest.front() != '+';
    rest.remove_prefix(std::min(count, rest.size()));
    return number.value_or(0);
  }
  void sign(char expected) {
    fits = fits && rest.starts_with(expected);
    rest.remove_prefix(std::min<std::size_t>(1, rest.size()));
  }
};

// The zone at the end of a time: "Z", "+01:00", "+0100" or nothing.
std::chrono::minutes zone_of(TimeText& text) {
  if (text.rest.empty()) return {};
  if (text.rest == "Z") {
    text.sign('Z');
    return {};
  }
  const bool is_west = text.rest.starts_with('-');
  text.sign(is_west ? '-' : '+');
  const std::chrono::hours hours(text.digits(2));
  if (text.rest.starts_with(':')) text.sign(':');
  const std::chrono::minutes zone = hours + std::chrono::minutes(text.digits(2));
  return is_west ? -zone : zone;
}

}  // namespace

Result<std::string> utc_time(std::string_view text) {
  TimeText parts{text};
  const std::chrono::year year(parts.digits(4));
  parts.sign('-');
  const std::chrono::month month(static_cast<unsigned>(parts.digits(2)));
  parts.sign('-');
  const std::chrono::day day(static_cast<unsigned>(parts.digits(2)));
  std::chrono::seconds time{};
  if (parts.fits && !parts.rest.empty()) {
    parts.sign(parts.rest.front() == ' ' ? ' ' : 'T');
    const int hour = parts.digits(2);
    parts.sign(':');
    const int minute = parts.digits(2);
    parts.sign(':');
    const int second = parts.digits(2);
    parts.fits = parts.fits && hour < 24 && minute < 60 && second < 61;
    time = std::chrono::hours(hour) + std::chrono::minutes(minute) + std::chrono::seconds(second);
    if (parts.rest.starts_with('.')) {
      parts.rest.remove_prefix(
          std::min(parts.rest.find_first_not_of("0123456789", 1), parts.rest.size()));
    }
    time -= zone_of(parts);
  }
  const std::chrono::year_month_day date{year, month, day};
  if (!parts.fits || !parts.rest.empty() || !date.ok()) {
    return invalid_argument("expected a date or a time such as 2026-11-21 or 2026-11-21T09:00:00Z");
  }
  const std::chrono::sys_seconds utc = std::chrono::sys_days(date) + time;
  const auto midnight = std::chrono::floor<std::chrono::days>(utc);
  const std::chrono::year_month_day utc_day(midnight);
  const std::chrono::hh_mm_ss clock(utc - midnight);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", int(utc_day.year()),
                     unsigned(utc_day.month()), unsigned(utc_day.day()), clock.hours().count(),
                     clock.minutes().count(), clock.seconds().count());
}

}  // namespace mgtune
