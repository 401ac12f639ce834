#include "cli/output/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "cli/output/terminal.h"
#include "text/units.h"

namespace mgtune {
namespace {

constexpr std::chrono::milliseconds kRedraw{100};
constexpr std::chrono::seconds kLineEvery{30};
constexpr std::size_t kBarCells = 20;

std::string best_text(const SweepProgress& progress) {
  return progress.best_ns.has_value() ? "best " + time_text(*progress.best_ns) : "no best yet";
}

std::string eta_text(const SweepProgress& progress) {
  return progress.eta_seconds.has_value() ? "ETA " + duration_text(*progress.eta_seconds) : "ETA -";
}

std::string count_text(const SweepProgress& progress) {
  return progress.total > 0 ? fmt::format("{}/{}", progress.done, progress.total)
                            : fmt::format("{}", progress.done);
}

// The percentage of the whole sweep that is done. It stops at 99 %; 100 % would mean that the sweep
// has ended.
std::string percent(const SweepProgress& progress) {
  return fmt::format("{:.0f} %", std::floor(99 * progress.fraction));
}

std::string line(const SweepProgress& progress) {
  const std::string variant =
      progress.best_variant.empty() ? "" : " (" + progress.best_variant + ")";
  return fmt::format("{}, problem {}/{} {}: {} variants, {}{}, {} elapsed, {}\n", percent(progress),
                     progress.problem_index + 1, progress.problems, progress.problem,
                     count_text(progress), best_text(progress), variant,
                     duration_text(progress.elapsed_seconds), eta_text(progress));
}

}  // namespace

void ProgressPrinter::update(const SweepProgress& progress, Time now) {
  const bool lines = style_ == Style::lines;
  const auto interval = lines ? std::chrono::milliseconds(kLineEvery) : kRedraw;
  const bool first_bar = !lines && !drawn_;
  if (!first_bar && now - last_ < interval) return;
  last_ = now;
  if (lines) {
    out_ << line(progress) << std::flush;
  } else {
    out_ << '\r' << bar(progress) << "\x1b[K" << std::flush;
    drawn_ = true;
  }
}

void ProgressPrinter::clear() {
  if (drawn_) out_ << "\r\x1b[K" << std::flush;
  drawn_ = false;
}

std::string ProgressPrinter::bar(const SweepProgress& progress) const {
  const auto filled = static_cast<std::size_t>(std::floor(progress.fraction * double(kBarCells)));
  const std::string done(filled, '#');
  const std::string rest(kBarCells - filled, '.');
  std::string text = fmt::format("] {}  problem {}/{}  {}  {}  {}: {} variants", percent(progress),
                                 progress.problem_index + 1, progress.problems, eta_text(progress),
                                 best_text(progress), progress.problem, count_text(progress));
  // The last column stays free, because a terminal may begin a new line when it is written.
  const std::size_t room = columns_ > kBarCells + 2 ? columns_ - kBarCells - 2 : 0;
  if (text.size() > room) text.resize(room);
  const bool color = style_ == Style::color_bar;
  return "[" + (color ? "\x1b[32m" + done + "\x1b[0m" : done) + rest + text;
}

ProgressPrinter::Style progress_style() {
  if (!is_terminal(STDERR_FILENO)) return ProgressPrinter::Style::lines;
  return shows_color(STDERR_FILENO) ? ProgressPrinter::Style::color_bar
                                    : ProgressPrinter::Style::bar;
}

}  // namespace mgtune
