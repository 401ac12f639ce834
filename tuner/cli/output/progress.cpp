#include "cli/output/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>

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

std::string line(const SweepProgress& progress) {
  const std::string variant =
      progress.best_variant.empty() ? "" : " (" + progress.best_variant + ")";
  return fmt::format("problem {}/{} {}: {} variants, {}{}, {} elapsed, {}\n",
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
  const double fraction = progress.total > 0
                              ? std::clamp(double(progress.done) / double(progress.total), 0.0, 1.0)
                              : 0.0;
  const auto filled = static_cast<std::size_t>(std::floor(fraction * double(kBarCells)));
  const std::string done(filled, '#');
  const std::string rest(kBarCells - filled, '.');
  std::string text = fmt::format("] {}  problem {}/{}  {}  {}  {}", count_text(progress),
                                 progress.problem_index + 1, progress.problems, best_text(progress),
                                 eta_text(progress), progress.problem);
  // The last column stays free: a terminal may wrap when it is written.
  const std::size_t room = columns_ > kBarCells + 2 ? columns_ - kBarCells - 2 : 0;
  if (text.size() > room) text.resize(room);
  const bool color = style_ == Style::color_bar;
  return "[" + (color ? "\x1b[32m" + done + "\x1b[0m" : done) + rest + text;
}

ProgressPrinter::Style progress_style() {
  const char* term = std::getenv("TERM");
  const bool dumb = term == nullptr || std::string_view(term) == "dumb";
  if (isatty(STDERR_FILENO) == 0 || dumb) return ProgressPrinter::Style::lines;
  const char* no_color = std::getenv("NO_COLOR");
  const bool plain = no_color != nullptr && *no_color != '\0';
  return plain ? ProgressPrinter::Style::bar : ProgressPrinter::Style::color_bar;
}

std::size_t terminal_columns(int file, std::size_t otherwise) {
  winsize size{};
  return ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : otherwise;
}

}  // namespace mgtune
