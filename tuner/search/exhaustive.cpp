// Exhaustive: every variant in the order of the set. A cursor instead of a list, because a space
// of a million variants would cost 100 MB.

#include "search/strategies.h"

namespace mgtune {
namespace {

class ExhaustiveSearch final : public Search {
 public:
  explicit ExhaustiveSearch(const VariantSet& set) : set_(set) {}

  std::optional<Variant> next() override {
    while (index_ < set_.size()) {
      Variant variant = set_.point(index_++);
      if (set_.admits(variant)) return variant;
    }
    return std::nullopt;
  }

  void report(const Evaluation&) override {}

 private:
  const VariantSet& set_;
  std::uint64_t index_ = 0;
};

}  // namespace

std::unique_ptr<Search> make_exhaustive_search(const VariantSet& set, std::uint64_t,
                                               const WarmStart&) {
  return std::make_unique<ExhaustiveSearch>(set);
}

}  // namespace mgtune
