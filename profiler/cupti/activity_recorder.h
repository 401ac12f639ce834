// ActivityRecorder: start and end of every kernel and memset that this process runs on a GPU, as
// CUPTI's activity records give them (kinds CONCURRENT_KERNEL and MEMSET, 1 ns ticks).
//
// Recording is on from make() until it goes; begin() and end() mark what is wanted of it. It costs
// about 0.8 us of host time a launch. At most one a process: CUPTI's callbacks know no owner.
// begin() and end() belong to one thread; buffers may come back on threads of CUPTI's own.

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/status.h"
#include "cupti/cupti_library.h"

namespace mgtune {

// One kernel or memset, in nanoseconds of CUPTI's clock.
struct DeviceOperation {
  std::uint64_t start_ns;
  std::uint64_t end_ns;

  bool operator==(const DeviceOperation&) const = default;
};

struct Activity {
  std::vector<DeviceOperation> operations;  // by start
  std::int64_t dropped = 0;                 // records that CUPTI had no room for
  std::int64_t without_time = 0;  // operations whose record has no time; not among the above
};

class ActivityRecorder {
 public:
  // environment, with CUPTI's reason, where it cannot record here.
  static Result<std::unique_ptr<ActivityRecorder>> make(const CuptiLibrary& cupti);
  ~ActivityRecorder();
  ActivityRecorder(const ActivityRecorder&) = delete;
  ActivityRecorder& operator=(const ActivityRecorder&) = delete;

  // Forgets what was recorded so far. Before both the caller lets the GPU finish: a record is
  // delivered once its operation has ended.
  Status begin();
  Result<Activity> end();

 private:
  ActivityRecorder(const CuptiLibrary& cupti, CuptiSubscriber subscriber);
  Status flush();

  CuptiLibrary cupti_;
  CuptiSubscriber subscriber_;
};

}  // namespace mgtune
