#include "timing/event_row.h"

namespace mgtune {

EventRow::~EventRow() {
  for (CUevent event : events_) driver_.cuEventDestroy(event);
}

Status EventRow::record(Stream stream) {
  if (recorded_ == events_.size()) {
    CUevent event = nullptr;
    MGTUNE_TRY(driver_.status(driver_.cuEventCreate(&event, CU_EVENT_DEFAULT), "making an event"));
    events_.push_back(event);
  }
  return driver_.status(driver_.cuEventRecord(events_[recorded_++], static_cast<CUstream>(stream)),
                        "recording an event");
}

Result<std::vector<double>> EventRow::times_ns() const {
  std::vector<double> times;
  for (std::size_t i = 1; i < recorded_; ++i) {
    float milliseconds = 0;
    MGTUNE_TRY(driver_.status(driver_.cuEventElapsedTime(&milliseconds, events_[i - 1], events_[i]),
                              "reading an event"));
    times.push_back(static_cast<double>(milliseconds) * 1e6);
  }
  return times;
}

}  // namespace mgtune
