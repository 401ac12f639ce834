// BuilderPool: builders for threads that plan at the same time. A builder keeps its compilers,
// which take long to start, so the pool keeps the builders.
//
// Thread-safe. A borrowed builder is for one thread. The pool must outlive what is borrowed.

#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "build/builder.h"

namespace mgtune {

class BuilderPool {
 public:
  explicit BuilderPool(std::function<Builder()> make) : make_(std::move(make)) {}

  // The builder goes back to the pool at the end of the scope.
  using Borrowed = std::unique_ptr<Builder, std::function<void(Builder*)>>;
  Borrowed borrow() {
    const std::scoped_lock lock(mutex_);
    if (idle_.empty()) idle_.push_back(std::make_unique<Builder>(make_()));
    Builder* const builder = idle_.back().release();
    idle_.pop_back();
    return {builder, [this](Builder* returned) {
              const std::scoped_lock lock_again(mutex_);
              idle_.emplace_back(returned);
            }};
  }

 private:
  std::function<Builder()> make_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Builder>> idle_;
};

}  // namespace mgtune
