// GroupSize: how many variants a compile process gets at a time, to compile their kernels as one
// program.
//
// A program costs 0.03 to 0.04 s of processor time in addition to its kernels, no matter how many
// kernels it has. If a variant takes 0.1 s by itself, a group saves a third of the time. If a
// variant takes a second, a group saves almost nothing and delays results, because no variant of a
// group is ready before all are. So a group should take about a second. How long a variant takes is
// learned for each operator from its compiled variants. Until one has been compiled, each variant
// is compiled by itself.
//
// One thread.

#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace mgtune {

inline constexpr std::size_t kMostTogether = 8;
inline constexpr double kSecondsTogether = 1;

class GroupSize {
 public:
  // A group has at most `most` variants; with 1 there are no groups.
  explicit GroupSize(std::size_t most) : most_(most) {}

  // How long a compiler took for one variant of the operator.
  void report(const std::string& op, double seconds);

  // How many variants of the operator take about a second.
  std::size_t wanted(const std::string& op) const;

  // The same if `processes` processes share `waiting` variants. The result is at most an equal
  // part, so that no process gets all of the last variants while others have nothing to do.
  std::size_t of(const std::string& op, std::size_t waiting, std::size_t processes) const;

 private:
  struct Mean {
    double seconds = 0;
    int reports = 0;
  };

  std::size_t most_;
  std::map<std::string, Mean> means_;  // by operator
};

}  // namespace mgtune
