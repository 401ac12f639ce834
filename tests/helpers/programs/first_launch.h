// What the two programs that measure the start of a process have in common: the problem, one
// launch of rmsnorm.forward on ones, and the line they print.

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <vector>

namespace mgtune {

struct FirstLaunch {
  static constexpr std::int64_t kRows = 512, kHidden = 1024;  // of rmsnorm_table()'s pick
  static constexpr std::size_t kBytes = 2 * kRows * kHidden;  // of a tensor
  static constexpr std::uint16_t kOne = 0x3f80;               // in bf16

  // The clock that all processes of a machine share.
  static std::int64_t now_ns() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  }

  const std::vector<std::uint16_t> ones = std::vector<std::uint16_t>(kRows * kHidden, kOne);
  std::vector<std::uint16_t> y = std::vector<std::uint16_t>(kRows * kHidden);

  // When the launch had ended and whether it was right; the exit code. A norm of ones is ones.
  int report(std::int64_t ended_ns) const {
    const bool is_right = std::ranges::count(y, kOne) == std::ssize(y);
    std::printf("%lld %s\n", static_cast<long long>(ended_ns), is_right ? "right" : "wrong");
    return is_right ? 0 : 1;
  }
};

}  // namespace mgtune
