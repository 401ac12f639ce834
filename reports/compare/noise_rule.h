// The noise rule: whether the times of two runs differ, for all rows of a table at once. Pure.
//
// A row has two times, A of the old run and B of the new run. Each is a median with its 95 %
// interval. The interval says how precisely the median of this one process is known. It does not
// say what the next process will measure: its memory is on other pages, and the clocks and the
// other programs differ. The medians of identical code vary by 0.5 to 1 % from process to process,
// although each interval is only 0.1 to 0.5 % wide. So two intervals that do not overlap do not
// prove a difference. The rule uses l = log(B / A) of each row:
//
// 1. s is the standard deviation of l that we expect for identical code:
//      s^2 = (wA / 1.96)^2 + (wB / 1.96)^2 + 2 v^2
//    wA and wB are the half-widths of the two intervals, relative to their medians. v is the
//    variation from process to process. On a GPU it is 0.25 %: two runs of identical code then
//    differ by 0.35 % (standard deviation), and hardly ever by 1 %. On a host that also does other
//    things v is 2 %.
// 2. In a table of 20 rows or more, the rows themselves show if s is too small. The factor
//    `widening` is the standard deviation of (l - c) / s, where c is the change that most rows
//    share. Rows that are far from the others are left out, because their kernels have changed: up
//    to half of the rows, if these changed by the same factor. `widening` is at least 1. It is at
//    most 4, so that the rule still decides if every row changed by a different factor. From here
//    on, s is multiplied by `widening`.
// 3. SLOWER and FASTER need two things: the change is at least the smallest change that counts (see
//    4), and l is at least z * s away from 0. z is so large that, if nothing changed, the chance of
//    any false alarm in the whole table is 0.1 %. Each row gets an equal share of this 0.1 %,
//    two-sided, so z = 3.3 for one row and 4.6 for 200. A plain 95 % interval per row would give
//    five false alarms per hundred rows.
// 4. The smallest change that counts is 2 % on a GPU and 10 % on a host. A noise floor is the
//    difference that a sweep measured between one build and itself. If twice the larger noise floor
//    of the two runs is above 2 % (or 10 %), it is used instead. If racing cut one of the two times
//    short, the smallest change that counts is tripled, and on a GPU it is at least 1 us: such a
//    time has few samples, most often single calls of a GPU that has not warmed up, whose data may
//    lie in the L2 cache or not. In 6 runs of identical code, 1,068 pairs of such times differed by
//    up to 0.64 us (28 %) for kernels of 2 us and by up to 4.2 % for kernels of 20 us. On a
//    GPU it is at least 40 ns, which is above 2 % for kernels below 2 us. A GPU's time stamps step
//    by 32 ns (seen on an H200), and all calls of one process can start at the same phase of these
//    steps. Two runs of identical code can then differ by a whole step, although each run repeats
//    its own time exactly: 1.397 and 1.429 us were seen.
//    `threshold` replaces the 2 % and the 10 %, here and in 5. The noise floor, the cut-short times
//    and the 40 ns keep their say, and so does step 3: a small threshold gives more UNSURE rows,
//    not more false alarms.
// 5. SAME: the 95 % interval of the change is within 2 % (on a host 10 %). UNSURE: everything else.
//
// A row whose two times are of the same samples is SAME: its change is exactly 0, with nothing to
// doubt. Such a row says nothing about other processes, so steps 2 and 3 do not count it.
//
// Swapping the runs swaps FASTER and SLOWER. A limit of 2 % makes both kinds of error rare: for two
// runs of identical code with intervals of 0.5 %, 2 % is five times s. A kernel that is 3 % slower
// is 2.5 times s above the limit. noise_rule_test.cpp simulates 100 tables of each kind: 200 rows
// from 2 to 500 us, with variation of each row and of the whole process, drift, heavy tails and
// ticks of 32 ns. There was no false alarm in 20,000 rows, and every kernel that was slowed by 3 %
// is SLOWER in at least 98 of 100 tables. If processes vary 2.4 times as much, there was 1 false
// alarm in 20,000 rows, and a kernel that is 3 % slower is UNSURE more often than SLOWER.
//
// Hosts: on two cores with a load of 5 to 8, 270 pairs of rows of identical benchmarks gave no
// false alarm, but the constants above were chosen to fit these same pairs. With a load of 15 some
// processes ran 50 % slower than others from start to end. No interval shows this, so
// benchmark_rows.cpp gives files of such hosts a noise floor.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace mgtune {

// The clock that took the times. How much times vary depends on it.
enum class Clock : std::uint8_t {
  gpu,   // a device's own time stamps
  host,  // emulation, benchmarks of host code
};

struct TimeEstimate {
  double median_ns = 0;
  // The 95 % interval of the median. If the interval is not known, both are 0, and the rule assumes
  // 0.5 % to each side on a GPU and 10 % on a host. On a GPU, 0.5 % is the width at which
  // measuring ends.
  double low_ns = 0, high_ns = 0;
  double noise_floor = 0;  // of the run: 0.004 is 0.4 %; 0 if the run has none
  bool cut_short = false;  // by racing
};

struct TimedPair {
  TimeEstimate a, b;  // old and new; medians above 0
  Clock clock = Clock::gpu;
  bool same_samples = false;  // both times are one and the same measurement
};

enum class Verdict : std::uint8_t { slower, faster, unsure, same };
std::string_view to_string(Verdict verdict);  // "SLOWER", ...

struct Difference {
  double change = 0;         // b / a - 1
  double low = 0, high = 0;  // its 95 % interval
  double smallest_that_counts = 0;
  Verdict verdict = Verdict::unsure;
};

// The smallest change that counts if there is no noise floor and racing cut neither time short.
double smallest_that_counts(Clock clock);

struct Judgement {
  std::vector<Difference> differences;  // one per pair, in their order
  double widening = 1;
};

Judgement judge(std::span<const TimedPair> pairs, std::optional<double> threshold = std::nullopt);

// An estimate of the interval for rows that have quartiles but no interval, as in older stores. Its
// half-width is 1.57 * (q3 - q1) / sqrt(samples). It is cut off at q1 and at q3.
TimeEstimate estimate_from_quartiles(double median_ns, double q1_ns, double q3_ns,
                                     std::int64_t samples);

}  // namespace mgtune
