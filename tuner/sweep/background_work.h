// BackgroundWork: does one piece of work at a time on a separate thread, while the caller drives
// workers. A file descriptor becomes readable when the work is done, so that the caller can wait
// for the work and for workers at the same time. One thread uses an object.

#pragma once

#include <functional>
#include <thread>

#include "system/file_descriptor.h"
#include "system/wait_set.h"

namespace mgtune {

class BackgroundWork {
 public:
  BackgroundWork();
  BackgroundWork(const BackgroundWork&) = delete;
  BackgroundWork& operator=(const BackgroundWork&) = delete;
  ~BackgroundWork() = default;  // waits for the work

  // Begins the work, which must not throw. No other work may be running. If no thread can be
  // started, the work is done before start() returns.
  void start(const std::function<void()>& work);

  bool is_at_work() const { return is_at_work_; }  // until take() says that it is done
  // Whether the work has been done since the last call.
  bool take();

  void join(WaitSet& waiting) const;  // adds what take() waits for; adds nothing without work

 private:
  FileDescriptor done_;  // can be read once the work is done
  bool is_at_work_ = false;
  std::jthread thread_;  // the last member: it uses the descriptor
};

}  // namespace mgtune
