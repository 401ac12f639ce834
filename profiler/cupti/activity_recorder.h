// ActivityRecorder: start and end of every kernel and memset that this process runs on a GPU, from
// CUPTI's activity records (kinds CONCURRENT_KERNEL and MEMSET, 1 ns ticks).
//
// It records from make() until it is destroyed. begin() and end() select a part. Recording costs
// about 0.8 us of host time per launch. At most one per process, because CUPTI's callbacks do not
// say which object they are for. begin() and end() must be called by one thread. CUPTI may return
// buffers on threads of its own.

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
  // environment, with CUPTI's reason, if it cannot record here.
  static Result<std::unique_ptr<ActivityRecorder>> make(const CuptiLibrary& cupti);
  ~ActivityRecorder();
  ActivityRecorder(const ActivityRecorder&) = delete;
  ActivityRecorder& operator=(const ActivityRecorder&) = delete;

  // begin() drops all earlier records. Before both calls the caller must wait until the GPU has
  // finished, because a record is delivered after its operation has ended.
  Status begin();
  Result<Activity> end();

 private:
  ActivityRecorder(const CuptiLibrary& cupti, CuptiSubscriber subscriber);
  Status flush();

  CuptiLibrary cupti_;
  CuptiSubscriber subscriber_;
};

}  // namespace mgtune
