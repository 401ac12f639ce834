// BuilderPool: builders for threads that plan at the same time. A builder keeps its compilers,
// which take long to start, so the pool keeps the builders.
//
// Thread-safe; a borrowed builder is for one thread. The pool outlives what is borrowed.

#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "build/builder.h"

namespace mgtune {

class BuilderPool {
 public:
  explicit BuilderPool(std::function<Builder()> make) : make_(std::move(make)) {}

  // A builder until the end of the scope.
  class Borrowed {
   public:
    Borrowed(BuilderPool& pool, std::unique_ptr<Builder> builder)
        : pool_(pool), builder_(std::move(builder)) {}
    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;
    ~Borrowed() { pool_.take_back(std::move(builder_)); }

    Builder& operator*() const { return *builder_; }
    Builder* operator->() const { return builder_.get(); }

   private:
    BuilderPool& pool_;
    std::unique_ptr<Builder> builder_;
  };
  Borrowed borrow();

 private:
  void take_back(std::unique_ptr<Builder> builder);

  std::function<Builder()> make_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Builder>> idle_;
};

}  // namespace mgtune
