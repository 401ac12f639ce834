// The noise rule: whether the times of two runs differ, for all rows of a table at once. Pure.
//
// For each run the median and its 95 % interval are known. The interval says how precisely this
// process knows its median. It says nothing about the next process: allocations are on other pages,
// clocks and neighbors differ. The medians of identical code vary by 0.5 to 1 % from process to
// process, although each interval is only 0.1 to 0.5 % wide. So two intervals that do not overlap
// are not yet a difference. The rule uses l = log(B / A) of each row:
//
// 1. s is the standard deviation of l that is expected for identical code. Its square is the sum of
//    the squares of both half-widths divided by 1.96, and of the variation of both processes. That
//    variation is 0.25 % per run on a GPU (so pairs differ by 0.35 %, and hardly ever by 1 %), and
//    2 % on a host that also does other things.
// 2. A table of 20 rows or more shows by itself if that is too little. `widening` is the standard
//    deviation of (l - c) / s over the rows that are close together. c is the change that most rows
//    share. Rows that changed are set aside (up to half of the rows, if they changed alike).
//    `widening` is at most 4, so that a table in which every row changed by another amount is still
//    judged. s is multiplied by it.
// 3. SLOWER and FASTER need two things: the ratio of the medians reaches the smallest difference
// that
//    counts, and l is at least z * s away from 0. z leaves 0.1 % for all rows of the table together
//    (0.1 % / rows for each, two-sided: z = 3.3 for one row, 4.6 for 200). A plain 95 % interval
//    per row would give five false alarms per hundred rows.
// 4. The smallest difference that counts is 2 % on a GPU and 10 % on a host. If twice the larger
// noise
//    floor is more, that counts instead (a noise floor is the difference that a sweep measured
//    between one build and itself). It is doubled for a time that racing cut short, because such a
//    time has few samples.
// 5. SAME: the 95 % interval of the difference is within 2 %, or 10 %. UNSURE: everything else.
//
// Swapping the runs swaps FASTER and SLOWER. At 2 % both error rates are small: it is five times s
// for two runs of identical code with intervals of 0.5 %, and a kernel that is 3 % slower is 2.5
// times s above it. noise_rule_test.cpp simulates 100 tables of each kind (200 rows from 2 to 500
// us; variation of each row and of the whole process, drift, heavy tails, ticks of 32 ns). There
// was no false alarm in 20,000 rows, and every kernel slowed by 3 % is SLOWER in at least 98 of 100
// tables. If processes vary 2.4 times as much, there was 1 false alarm in 20,000 rows, and 3 % is
// UNSURE more often than SLOWER.
//
// Hosts: on two cores with a load of 5 to 8, 270 pairs of rows of identical benchmarks gave no
// false alarm, but the constants were chosen with these pairs at hand. With a load of 15 whole
// processes ran 50 % slower than others, which no interval shows. So benchmark_rows.cpp gives such
// files a noise floor.

#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace mgtune {

// The clock that took the times. It says how much they vary.
enum class Clock : std::uint8_t {
  gpu,   // a device's own time stamps
  host,  // emulation, benchmarks of host code
};

struct TimeEstimate {
  double median_ns = 0;
  // The 95 % interval of the median. Both are 0 if it is not known. Then it counts as half a
  // percent to each side on a GPU (where measurements stop), and as 10 % on a host.
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

// The value without a noise floor and without racing.
double smallest_that_counts(Clock clock);

struct Judgement {
  std::vector<Difference> differences;  // one per pair, in their order
  double widening = 1;
};

Judgement judge(std::span<const TimedPair> pairs);

// The estimate for a median of which only quartiles are known, as in rows of older stores. The
// half-width of the interval is 1.57 * (q3 - q1) / sqrt(n), and it reaches at most from q1 to q3.
TimeEstimate estimate_from_quartiles(double median_ns, double q1_ns, double q3_ns,
                                     std::int64_t samples);

}  // namespace mgtune
