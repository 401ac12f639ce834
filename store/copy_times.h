// CopyTimes: how long a copy of some number of bytes takes on a GPU, computed from the copies that
// were measured there with one timing method. A problem's time is compared with the time of a copy
// of the same number of bytes. Problems have so many sizes that measuring a copy of each size would
// take longer than tuning.
//
// If a measured copy differs in size by at most 0.6 %, its bandwidth is used. Otherwise the time is
// interpolated between the next smaller and the next larger copy, as a linear function of the
// bytes, if they are at most a factor of 2 apart. Beyond 1 GiB the bandwidth of the largest copy is
// used.
//
// The error is expected to be below 1 %. Copies of 1 MiB to 512 MiB were measured on an H200, and
// each was also interpolated from its two neighbors, which are a factor of 4 apart. The two times
// differ by at most 0.8 %, except for 8 and 16 MiB (3.0 and 2.2 %). At half the distance, the error
// on a smooth curve is four times smaller.
//
// One thread.

#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace mgtune {

class CopyTimes {
 public:
  // If there are several copies of one size, add the newest one last. A rate of 0 is ignored.
  void add(std::int64_t bytes, double bytes_per_second);

  double ns(std::int64_t bytes) const;  // 0: not known

  // The sizes of the copies to measure so that ns(bytes) is known: usually the powers of two below
  // and above.
  static std::vector<std::int64_t> sizes_for(std::int64_t bytes);

 private:
  std::map<std::int64_t, double> ns_;  // by bytes
};

}  // namespace mgtune
