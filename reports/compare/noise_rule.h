// The noise rule: whether the times of two runs differ, for all rows of a table at once. Pure.
//
// What is known of a run's time is its median and the median's 95 % interval. That interval says
// how well this process knew its median. It says nothing of the next process: allocations land on
// other pages, clocks and neighbors differ, and medians of identical code wander by 0.5 to 1 %
// from process to process although each interval is only 0.1 to 0.5 % wide. Two intervals that do
// not touch are therefore no difference yet. The rule, on l = log(B / A) of each row:
//
// 1. s is the standard deviation to expect of l for identical code: the half-widths of both
//    intervals over 1.96, and the wander of both processes, squared and added. The wander is
//    0.25 % a run on a GPU (pairs then differ by 0.35 %, hardly ever by 1 %) and 2 % on a host that
//    does other things as well.
// 2. A table of 20 rows or more says itself when that is too little. `widening` is the standard
//    deviation of l / s over the rows that lie together, those set aside that changed (up to half
//    of them alike); at most 4, so that a table in which every row changed by another amount is
//    still judged. s is multiplied by it.
// 3. SLOWER and FASTER need both: the ratio of the medians reaches the smallest difference that
//    counts, and l lies z * s from 0, where z leaves 0.1 % for all rows of the table together
//    (0.1 % / rows for each, two-sided: z = 3.3 for one row, 4.6 for 200). A plain 95 % interval a
//    row would give five false alarms in every hundred rows.
// 4. The smallest difference that counts is 2 % on a GPU and 10 % on a host; twice the larger
//    noise floor (how far apart a sweep measured one build and itself) where that is more; and
//    twice as much again for a time that racing cut short, which has few samples.
// 5. SAME: the 95 % interval of the difference lies within 2 %, or 10 %. UNSURE: all else.
//
// Swapping the runs swaps FASTER and SLOWER. 2 % is where both error rates are small at once: it is
// five times s for two runs of identical code with intervals of 0.5 %, and a kernel that is 3 %
// slower lies 2.5 times s above it. Simulated in noise_rule_test.cpp, 100 tables of each kind (200
// rows from 2 to 500 us; wander of each row and of the whole process, drift, heavy tails, ticks of
// 32 ns): no false alarm in 20,000 rows, and every kernel slowed by 3 % is called SLOWER in 98 or
// more of 100. Where processes wander 2.4 times as much there was 1 false alarm in 20,000 rows, and
// 3 % is UNSURE more often than SLOWER.
//
// Hosts: on two cores with a load of 5 to 8, 270 pairs of rows of identical benchmarks gave no
// false alarm, but the constants were chosen with these at hand. With a load of 15 whole processes
// ran 50 % slower than others, which no interval shows; benchmark_rows.cpp gives such files a noise
// floor.

#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace mgtune {

// What took the times, which says how much they wander.
enum class Clock : std::uint8_t {
  gpu,   // a device's own time stamps
  host,  // emulation, benchmarks of host code
};

struct TimeEstimate {
  double median_ns = 0;
  // 95 % interval of the median; both 0 when nothing is known of it. Then it counts as half a
  // percent to each side on a GPU (where measurements stop) and as 10 % on a host.
  double low_ns = 0, high_ns = 0;
  double noise_floor = 0;  // relative, of the run; 0 when it has none
  bool cut_short = false;  // by racing
};

struct TimedPair {
  TimeEstimate a, b;  // old and new; medians above 0
  Clock clock = Clock::gpu;
};

enum class Verdict : std::uint8_t { slower, faster, unsure, same };
std::string_view to_string(Verdict verdict);  // "SLOWER", ...

struct Difference {
  double change = 0;         // b / a - 1
  double low = 0, high = 0;  // its 95 % interval
  double smallest_that_counts = 0;
  Verdict verdict = Verdict::unsure;
};

// Without a noise floor and racing.
double smallest_that_counts(Clock clock);

struct Judgement {
  std::vector<Difference> differences;  // one per pair, in their order
  double widening = 1;
};

Judgement judge(std::span<const TimedPair> pairs);

// The half-width of the 95 % interval of a median of which only quartiles are known, as rows of
// older stores: 1.57 * (q3 - q1) / sqrt(n), from q1 to q3 at most.
struct MedianInterval {
  double low_ns = 0, high_ns = 0;
};
MedianInterval interval_from_quartiles(double median_ns, double q1_ns, double q3_ns,
                                       std::int64_t samples);

}  // namespace mgtune
