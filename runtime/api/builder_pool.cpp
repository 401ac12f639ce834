#include "api/builder_pool.h"

#include <utility>

namespace mgtune {

BuilderPool::Borrowed BuilderPool::borrow() {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) return {*this, std::make_unique<Builder>(make_())};
  std::unique_ptr<Builder> builder = std::move(idle_.back());
  idle_.pop_back();
  return {*this, std::move(builder)};
}

void BuilderPool::take_back(std::unique_ptr<Builder> builder) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(builder));
}

}  // namespace mgtune
