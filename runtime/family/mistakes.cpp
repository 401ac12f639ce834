#include "family/mistakes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace mgtune {
namespace {

constexpr std::size_t kWrittenOut = 20;

}  // namespace

bool Mistakes::add(const Status& status) {
  if (status.ok()) return true;
  if (++count_ <= kWrittenOut) messages_.push_back(status.message());
  return false;
}

Status Mistakes::status() const {
  if (count_ == 0) return {};
  std::string text = fmt::format("{}", fmt::join(messages_, "\n"));
  if (count_ > kWrittenOut) {
    text += fmt::format("\nand {} more mistake{} in this file", count_ - kWrittenOut,
                        count_ == kWrittenOut + 1 ? "" : "s");
  }
  return invalid_argument(text);
}

}  // namespace mgtune
