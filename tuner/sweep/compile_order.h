// CompileOrder: in which order variants compile that will all be compiled.
//
// Only the end of such a sweep depends on the order: if a variant of 6 s is the last to begin, 15
// of 16 compile processes have nothing to do meanwhile. So as soon as one variant could take more
// than a tenth of the time that is left, those go first that are likely to take longest. Before
// that the variants keep their order.
//
// How long a variant takes is predicted from those that have compiled. The logarithm of the time is
// a sum: one number for the design, and one for each value of a parameter. So that it is soon known
// for every value, the first variants are spread over all of them.
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
  // What shares the work.
  explicit CompileOrder(std::size_t processes) : processes_(processes) {}

  void add(Variant variant);

  // How long a variant took. It may be one that was not added.
  void report(const Variant& variant, double seconds);

  // How long the variant is likely to take; nullopt as long as nothing was reported.
  std::optional<double> likely_seconds(const Variant& variant);

  // Which one compiles next; nullopt if none is left. If all do not fit into `seconds_left`, the
  // order is that of add(), so that long variants do not take the time of many short ones.
  std::optional<Variant> next(std::optional<double> seconds_left);

 private:
  // The numbers whose sum is predicted for a variant: places in effects_.
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
  std::size_t fitted_ = 0;  // how many of them the numbers know
  double mean_ = 0;         // of their logarithms
  std::map<Value, std::size_t> places_;
  std::vector<double> effects_;
};

}  // namespace mgtune
