// CopyTimes: how long a copy of some number of bytes takes on a GPU, by the copies that were
// measured there with one timing method. A problem's time is compared with that of a copy of
// equally many bytes, and problems have so many sizes that measuring each would take longer than to
// tune.
//
// A copy of at most 0.6 % more or less has the same bandwidth. Otherwise the time lies between
// those of the next smaller and the next larger copy, if they are at most a factor of 2 apart: it
// is taken as a linear function of the bytes. Beyond 1 GiB the bandwidth of the largest copy
// counts.
//
// The error is expected to be below 1 %. Of the copies of 1 MiB to 512 MiB on an H200, each is
// found from its two neighbors, a factor of 4 apart, to within 0.8 %, except those of 8 and 16 MiB
// (3.0 and 2.2 %). At half the distance a smooth curve is met four times as well.
//
// One thread.

#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace mgtune {

class CopyTimes {
 public:
  // The newest of several copies of one size is added last. A rate of 0 is none.
  void add(std::int64_t bytes, double bytes_per_second);

  double ns(std::int64_t bytes) const;  // 0: not known

  // Which copies to measure so that ns(bytes) is known: those of the powers of two beside it.
  static std::vector<std::int64_t> sizes_for(std::int64_t bytes);

 private:
  std::map<std::int64_t, double> ns_;  // by bytes
};

}  // namespace mgtune
