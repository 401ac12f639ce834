// SweepJournal: the sweep's own row in the store, begun with the first thing that is recorded under
// it: a sweep that finds everything known leaves no row. One thread; the store outlives it.

#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "core/status.h"
#include "device/device.h"
#include "store/store.h"
#include "sweep/sweep.h"

namespace mgtune {

class SweepJournal {
 public:
  SweepJournal(Store& store, const SweepOptions& options, const DeviceInfo& device,
               std::int64_t gpu_id)
      : store_(store), options_(options), device_(device), gpu_id_(gpu_id) {}

  Result<std::int64_t> begin();                  // the sweep, begun when it has not; its id
  Status finish();                               // nothing when it never began
  std::int64_t id() const { return sweep_id_; }  // 0: not begun

 private:
  Store& store_;
  const SweepOptions& options_;
  const DeviceInfo& device_;
  std::int64_t gpu_id_;
  std::int64_t sweep_id_ = 0;
};

}  // namespace mgtune
