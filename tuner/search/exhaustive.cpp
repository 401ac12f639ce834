// The strategy `exhaustive` visits every variant in the order of the set. It keeps an index instead
// of a list, because a list of a million variants would need 100 MB.

#include <utility>

#include "search/search.h"

namespace mgtune {
namespace {

class ExhaustiveSearch final : public Search {
 public:
  ExhaustiveSearch(const VariantSet& set, std::shared_ptr<WalkLimit> limit)
      : set_(set), limit_(std::move(limit)) {}

  std::optional<Variant> next() override {
    const std::optional<std::uint64_t> index = set_.next_admissible(index_, *limit_);
    if (!index.has_value() && limit_->end() != WalkLimit::End::none) return std::nullopt;
    index_ = index.has_value() ? *index + 1 : set_.size();
    return index.has_value() ? std::optional(set_.point(*index)) : std::nullopt;
  }

  void report(const Evaluation&) override {}

 private:
  const VariantSet& set_;
  std::shared_ptr<WalkLimit> limit_;
  std::uint64_t index_ = 0;
};

std::unique_ptr<Search> make_exhaustive(const VariantSet& set, std::uint64_t,
                                        const std::shared_ptr<WalkLimit>& limit) {
  return std::make_unique<ExhaustiveSearch>(set, limit);
}

}  // namespace

Strategy exhaustive_strategy() { return {"exhaustive", make_exhaustive}; }

}  // namespace mgtune
