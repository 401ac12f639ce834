// CompileOrder: decides in which order variants compile, if all of them will be compiled anyway.
//
// The order matters only at the end of such a sweep: if a variant that takes 6 s begins last, 15 of
// 16 compile processes have nothing to do meanwhile. So as soon as one variant will probably take
// more than a tenth of the time that is left, the slowest variants go first. Before that, the
// variants keep their order.
//
// How long a variant takes is predicted from the variants that have compiled. The predicted
// logarithm of the time is a sum: one number for the design, and one for each value of a parameter.
// The first variants are spread over the whole list, so that the numbers of all values are soon
// known.
//
// One thread.

#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "family/variant.h"

namespace mgtune {

class CompileOrder {
 public:
  // `processes` is the number of compile processes that share the work.
  explicit CompileOrder(std::size_t processes) : processes_(processes) {}

  void add(Variant variant);

  // Reports how long a variant took. The variant need not have been added.
  void report(const Variant& variant, double seconds);

  // How long the variant will probably take; nullopt until a time is reported.
  std::optional<double> likely_seconds(const Variant& variant);

  // The variant to compile next; nullopt if none is left. If the variants do not all fit into
  // `seconds_left`, they keep the order of add(), so that long variants do not take the time of
  // many short ones.
  std::optional<Variant> next(std::optional<double> seconds_left);

 private:
  // The indices in effects_ of the numbers that are added up for a variant.
  using Terms = std::vector<std::size_t>;
  using Value = std::tuple<int, std::size_t, std::int64_t>;  // of a parameter of a design

  struct Waiting {
    Variant variant;
    Terms terms = {};
    double seconds = 0;  // predicted
  };
  struct Compiled {
    Terms terms;
    double log_seconds = 0;
  };

  Terms terms_of(const Variant& variant);
  double predicted(const Terms& terms) const;
  void fit();
  std::size_t chosen(std::optional<double> seconds_left) const;

  std::size_t processes_;
  std::vector<Waiting> waiting_;
  std::size_t given_ = 0;
  std::vector<Compiled> compiled_;
  std::size_t fitted_ = 0;  // how many of compiled_ the last fit used
  double mean_ = 0;         // of their logarithms
  std::map<Value, std::size_t> places_;
  std::vector<double> effects_;
};

}  // namespace mgtune
