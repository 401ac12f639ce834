// VariantSet: the variants that a search may visit. They come from the file of an operator (Space),
// or from a recording, in which all of them were measured (exchange/recorded_space.h).
//
// It is a union of designs. Each design has parameters with lists of values. Points are numbered
// from 0 to size() - 1; the points of a design have consecutive numbers. Some points may not be
// admissible. There may be 10^15 of them, so every walk through a set has a WalkLimit. Immutable:
// const methods may run concurrently.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "family/variant.h"
#include "space/random_stream.h"
#include "space/walk_limit.h"

namespace mgtune {

struct ParameterAxis {
  std::string name;
  std::vector<std::int64_t> values;  // all values that a Variant can have, in the order of the list
  bool ordered = true;               // false: identifiers, which have no order
  std::vector<std::int64_t> numbers = {};  // that the values stand for, if all are whole numbers
};

class VariantSet {
 public:
  using Visit = std::function<bool(const Variant&)>;  // false: stop

  virtual ~VariantSet() = default;

  virtual std::size_t design_count() const = 0;
  virtual std::vector<ParameterAxis> axes(std::size_t design) const = 0;
  virtual std::uint64_t first_point(std::size_t design) const = 0;  // size() for design_count()

  virtual Variant point(std::uint64_t index) const = 0;           // index < size()
  virtual std::uint64_t index(const Variant& variant) const = 0;  // its values must be listed
  virtual bool admits(const Variant& variant) const = 0;

  // The first admissible point at `index` or after it; nullopt if there is none, or if the limit
  // was reached before. The default implementation tests the points one by one.
  virtual std::optional<std::uint64_t> next_admissible(std::uint64_t index,
                                                       WalkLimit& limit) const {
    for (; index < size() && limit.step(); ++index) {
      if (admits(point(index))) return index;
    }
    return std::nullopt;
  }

  // Visits every admissible variant of a design in order. Returns false if `visit` or the limit
  // stopped it.
  virtual bool for_each_of(std::size_t design, const Visit& visit, WalkLimit& limit) const = 0;

  // The same in another order, which may begin anywhere. The default implementation uses the order
  // of the list and starts at a random point.
  virtual bool wander_through(std::size_t design, RandomStream& random, const Visit& visit,
                              WalkLimit& limit) const {
    const std::uint64_t first = first_point(design), end = first_point(design + 1);
    const std::uint64_t start = first < end ? first + random.below(end - first) : end;
    const auto visit_between = [&](std::uint64_t from, std::uint64_t to) {
      std::optional<std::uint64_t> index = next_admissible(from, limit);
      while (index.has_value() && *index < to) {
        if (!visit(point(*index))) return false;
        index = next_admissible(*index + 1, limit);
      }
      return limit.end() == WalkLimit::End::none;
    };
    return visit_between(start, end) && visit_between(first, start);
  }

  // Admissible variants that every strategy visits first, none twice.
  virtual std::vector<Variant> ladder() const = 0;

  std::uint64_t size() const { return first_point(design_count()); }  // points, admissible or not

  // Without a limit: for sets that are known to be small.
  void for_each(const Visit& visit) const {
    WalkLimit none;
    for (std::size_t design = 0; design < design_count(); ++design) {
      if (!for_each_of(design, visit, none)) return;
    }
  }
};

}  // namespace mgtune
