// Exhaustive: every variant in the order of the space. A cursor instead of a list, because a space
// of a million variants would cost 100 MB.

#include "search/strategies.h"

namespace mgtune {
namespace {

class ExhaustiveSearch final : public Search {
 public:
  explicit ExhaustiveSearch(const Space& space) : space_(space) {}

  std::optional<Variant> next() override {
    while (index_ < space_.size()) {
      Variant variant = space_.point(index_++);
      if (space_.admits(variant)) return variant;
    }
    return std::nullopt;
  }

  void report(const Evaluation&) override {}

 private:
  const Space& space_;
  std::uint64_t index_ = 0;
};

}  // namespace

std::unique_ptr<Search> make_exhaustive_search(const Space& space, std::uint64_t) {
  return std::make_unique<ExhaustiveSearch>(space);
}

}  // namespace mgtune
