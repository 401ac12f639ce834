// Mistakes: what is wrong in an operator file, in the order of its decoding. Decoding goes on after
// a mistake where the rest can still be judged, so that a person reads all mistakes at once. One
// thread.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/status.h"

namespace mgtune {

class Mistakes {
 public:
  // Remembers the status if it is a failure. True if it is ok.
  bool add(const Status& status);
  // The same; a value that is there goes to `out`.
  template <typename Value>
  bool add(Result<Value> result, Value& out) {
    if (!add(result.status())) return false;
    out = std::move(result).value();
    return true;
  }

  std::size_t count() const { return count_; }

  // Ok if there is none, otherwise invalid_argument with a line or more for each of them. Only the
  // first 20 are written out.
  Status status() const;

 private:
  std::vector<std::string> messages_;
  std::size_t count_ = 0;
};

}  // namespace mgtune
