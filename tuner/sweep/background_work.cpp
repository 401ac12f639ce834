#include "sweep/background_work.h"

#include <sys/eventfd.h>

#include <system_error>

namespace mgtune {

BackgroundWork::BackgroundWork() : done_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void BackgroundWork::start(const std::function<void()>& work) {
  is_at_work_ = true;
  if (done_.is_open()) {
    try {
      thread_ = std::jthread([this, work] {
        work();
        ::eventfd_write(done_.get(), 1);
      });
      return;
    } catch (const std::system_error&) {  // the machine has no thread left
    }
  }
  work();
  if (done_.is_open()) ::eventfd_write(done_.get(), 1);
}

bool BackgroundWork::take() {
  eventfd_t value = 0;
  if (!is_at_work_ || (done_.is_open() && ::eventfd_read(done_.get(), &value) != 0)) return false;
  if (thread_.joinable()) thread_.join();
  is_at_work_ = false;
  return true;
}

void BackgroundWork::join(WaitSet& waiting) const {
  if (!is_at_work_) return;
  if (done_.is_open()) return waiting.add(done_.get());
  waiting.add(WaitSet::Clock::now());
}

}  // namespace mgtune
