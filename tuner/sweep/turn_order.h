// TurnOrder: decides which problem of a sweep has the next turn if the time is limited, and how
// many variants it evaluates in this turn.
//
// First the default of every problem is measured, beginning with the problems that move the fewest
// bytes. If there are more than 10 s for each problem, this is left out, and the first turn of a
// problem is a search. After that, the turn goes to the problem whose expected gain per second is
// the largest. The expected gain is a mean of what problems of the same operator gained, in which
// the nearest problems count most, minus what the problem has gained itself. It shrinks with every
// turn, and less so if the last turn brought a gain. It is at most the distance to the time of a
// copy of as many bytes, so a problem that is as fast as a copy waits until all others are done. A
// problem with a larger weight comes earlier.
//
// It does not read a clock: the caller says how many seconds are left. One thread; the problems
// must outlive the object.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "family/problem.h"

namespace mgtune {

class TurnOrder {
 public:
  struct Entry {
    const Problem* problem = nullptr;
    double weight = 1;
    double bytes = 0;  // that it moves
  };

  // Where a problem stands after a turn.
  struct Standing {
    double default_ns = 0, best_ns = 0;  // 0: not known
    double copy_ns = 0;                  // of a copy of as many bytes; 0: not known
    bool is_over = false;                // it has no further variants to try
    std::int64_t evaluated = 0;          // in this turn
    double seconds = 0;                  // how long the turn took
  };

  struct Turn {
    std::size_t problem = 0;
    bool is_default = false;                  // only the default
    std::optional<std::int64_t> evaluations;  // at most; nullopt: as many as there is time for
    double seconds = 0;                       // at most, once the default has its result
  };

  explicit TurnOrder(const std::vector<Entry>& entries);

  // The next turn. nullopt: no problem can have one, or the time that is left is too short for
  // any. The problem gets no other turn until finish() is called.
  std::optional<Turn> next(double seconds_left);
  void finish(std::size_t problem, const Standing& standing);
  void cancel(std::size_t problem);  // the turn is not taken

  // How much faster the problem is expected to become by more turns: the logarithm of the ratio of
  // the times. 0 if the problem is over.
  double expected_gain(std::size_t problem) const;

  bool has_begun(std::size_t problem) const { return places_[problem].has_begun; }
  bool is_over(std::size_t problem) const { return places_[problem].standing.is_over; }
  bool was_searched(std::size_t problem) const { return places_[problem].turns > 0; }
  const Standing& standing(std::size_t problem) const { return places_[problem].standing; }

 private:
  struct Place {
    Entry entry;
    Standing standing;
    bool has_begun = false, has_turn = false;
    std::int64_t turns = 0;      // after the default's turn
    double last_gain = 0;        // of the last turn
    double default_seconds = 0;  // the first turn, with all that a problem needs once
    double variant_seconds = 0;  // of one variant, in the last turn
  };

  double gain_of(const Place& place) const;
  double predicted_gain(std::size_t problem) const;
  std::int64_t least_evaluations(const Place& place) const;
  double seconds_each(const Place& place) const;
  double cost(const Place& place, std::int64_t evaluations) const;
  Place* most_promising(double seconds_left);

  std::vector<Place> places_;
};

}  // namespace mgtune
