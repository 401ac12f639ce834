// EventRow: CUDA events that are recorded one after the other, and the times between neighbours. A
// tick is 32 ns on Hopper and up to 0.5 us on older GPUs. An event between two kernels costs about
// 2 us. One thread, in the context that is current when it is used.

#pragma once

#include <cstddef>
#include <vector>

#include "core/status.h"
#include "device/cuda/cuda_driver.h"
#include "device/device.h"

namespace mgtune {

class EventRow {
 public:
  explicit EventRow(const CudaDriver& driver) : driver_(driver) {}  // `driver` outlives it
  ~EventRow();
  EventRow(const EventRow&) = delete;
  EventRow& operator=(const EventRow&) = delete;

  void clear() { recorded_ = 0; }  // keeps the events for the next row
  Status record(Stream stream);

  // There is one time fewer than events. Wait for the stream first.
  Result<std::vector<double>> times_ns() const;

 private:
  const CudaDriver& driver_;
  std::vector<CUevent> events_;
  std::size_t recorded_ = 0;
};

}  // namespace mgtune
