#include "cli/output/watch_page.h"

#include <chrono>
#include <utility>
#include <vector>

namespace mgtune {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::seconds kToStart{10};
constexpr std::chrono::seconds kToFinish{10};

}  // namespace

Result<WatchPage> WatchPage::start(const std::string& program, const std::string& database,
                                   const std::string& kernel) {
  std::vector<std::string> command = {program, "watch", "--db", database};
  if (!kernel.empty()) command.insert(command.end(), {"--kernel", kernel});
  MGTUNE_ASSIGN(ChildProcess process, ChildProcess::start(command));
  Result<std::string> url = process.read_line(SteadyClock::now() + kToStart);
  if (url.ok()) return WatchPage(std::move(process), *std::move(url));
  const std::string why = process.read_error_output();
  return environment_error("the page for --watch does not start: " +
                           (why.empty() ? url.status().message() : why));
}

void WatchPage::finish() {
  if (!process_.write_line("end").ok()) return;
  // The process writes nothing more, so this returns when it ends.
  static_cast<void>(process_.read_line(SteadyClock::now() + kToFinish));
}

}  // namespace mgtune
