// The strategy `exhaustive` visits every variant in the order of the set. It keeps an index instead
// of a list, because a list of a million variants would need 100 MB.

#include "search/search.h"

namespace mgtune {
namespace {

class ExhaustiveSearch final : public Search {
 public:
  explicit ExhaustiveSearch(const VariantSet& set) : set_(set) {}

  std::optional<Variant> next() override {
    const std::optional<std::uint64_t> index = set_.next_admissible(index_);
    index_ = index.has_value() ? *index + 1 : set_.size();
    return index.has_value() ? std::optional(set_.point(*index)) : std::nullopt;
  }

  void report(const Evaluation&) override {}

 private:
  const VariantSet& set_;
  std::uint64_t index_ = 0;
};

std::unique_ptr<Search> make_exhaustive(const VariantSet& set, std::uint64_t, const WarmStart&) {
  return std::make_unique<ExhaustiveSearch>(set);
}

}  // namespace

Strategy exhaustive_strategy() { return {"exhaustive", make_exhaustive}; }

}  // namespace mgtune
