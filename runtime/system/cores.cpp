#include "system/cores.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <optional>
#include <thread>

#include "core/text.h"

namespace mgtune {
namespace {

constexpr int kMostCores = 1 << 16;  // Linux has 8,192 at most

// A set of bits for so many cores, as the system takes it.
std::vector<cpu_set_t> empty_mask(int cores) {
  return std::vector<cpu_set_t>(CPU_ALLOC_SIZE(cores) / sizeof(cpu_set_t) + 1);
}

}  // namespace

Cores own_cores() {
  // The call fails while the mask is smaller than the one of the system.
  for (int size = CPU_SETSIZE; size <= kMostCores; size *= 2) {
    std::vector<cpu_set_t> mask = empty_mask(size);
    const std::size_t bytes = mask.size() * sizeof(cpu_set_t);
    if (::sched_getaffinity(0, bytes, mask.data()) != 0) {
      if (errno == EINVAL) continue;
      return {};
    }
    Cores cores;
    for (int core = 0; core < static_cast<int>(8 * bytes); ++core) {
      if (CPU_ISSET_S(static_cast<std::size_t>(core), bytes, mask.data())) cores.push_back(core);
    }
    return cores;
  }
  return {};
}

std::size_t own_core_count() {
  const Cores cores = own_cores();
  if (!cores.empty()) return cores.size();
  return std::max<std::size_t>(1, std::thread::hardware_concurrency());
}

Result<Cores> parse_cores(std::string_view text) {
  const Status refused = corrupt("not a list of cores: " + std::string(text.substr(0, 80)));
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  Cores cores;
  while (!text.empty()) {
    const std::string_view range = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), range.size() + 1));
    const std::size_t dash = range.find('-');
    const auto first = parse_number<int>(range.substr(0, dash));
    const auto last = dash == range.npos ? first : parse_number<int>(range.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last >= kMostCores) return refused;
    for (int core = *first; core <= *last; ++core) cores.push_back(core);
  }
  std::ranges::sort(cores);
  cores.erase(std::unique(cores.begin(), cores.end()), cores.end());
  return cores;
}

std::string cores_text(const Cores& cores) {
  std::string text;
  for (std::size_t i = 0; i < cores.size();) {
    std::size_t end = i + 1;
    while (end < cores.size() && cores[end] == cores[end - 1] + 1) ++end;
    text += (text.empty() ? "" : ",") + std::to_string(cores[i]);
    if (end - i > 1) text += "-" + std::to_string(cores[end - 1]);
    i = end;
  }
  return text;
}

}  // namespace mgtune
