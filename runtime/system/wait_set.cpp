#include "system/wait_set.h"

#include <algorithm>
#include <cstdint>

namespace mgtune {

void WaitSet::add(int descriptor) { descriptors_.push_back({descriptor, POLLIN, 0}); }

void WaitSet::add(Clock::time_point deadline) { first_ = std::min(first_, deadline); }

void WaitSet::wait() {
  if (descriptors_.empty() && first_ == Clock::time_point::max()) return;
  constexpr std::int64_t kLongest = 1'000'000'000;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(first_ - Clock::now()).count();
  ::poll(descriptors_.data(), descriptors_.size(),
         static_cast<int>(std::clamp<std::int64_t>(left, 0, kLongest)));
}

}  // namespace mgtune
