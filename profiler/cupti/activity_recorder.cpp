#include "cupti/activity_recorder.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <utility>

namespace mgtune {
namespace {

#if CUPTI_API_VERSION >= 130200
using KernelRecord = CUpti_ActivityKernel11;
#elif CUPTI_API_VERSION >= 130000
using KernelRecord = CUpti_ActivityKernel10;
#else
using KernelRecord = CUpti_ActivityKernel9;
#endif
using MemsetRecord = CUpti_ActivityMemset4;

constexpr std::array kKinds = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMSET};

constexpr std::size_t kBufferBytes = 1 << 20;  // about 4000 records
constexpr std::size_t kBufferAlignment = 8;    // what CUPTI asks for

// The data of the callbacks. CUPTI passes them no pointer and may call them until the process ends,
// so this is never destroyed.
struct Collector {
  std::mutex mutex;
  std::optional<CuptiLibrary> cupti;  // none while nobody records
  std::vector<std::uint8_t*> pool;
  Activity activity;
};

Collector& collector() {
  static auto* const instance = new Collector;
  return *instance;
}

void add(const CUpti_Activity& record, Activity& activity) {
  DeviceOperation operation{};
  if (record.kind == CUPTI_ACTIVITY_KIND_MEMSET) {
    const auto& memset = reinterpret_cast<const MemsetRecord&>(record);
    operation = {memset.start, memset.end};
  } else if (record.kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
    const auto& kernel = reinterpret_cast<const KernelRecord&>(record);
    operation = {kernel.start, kernel.end};
  } else {
    return;
  }
  if (operation.start_ns == 0 || operation.end_ns == 0) {
    ++activity.without_time;
  } else {
    activity.operations.push_back(operation);
  }
}

void CUPTIAPI request_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
  Collector& to = collector();
  const std::lock_guard lock(to.mutex);
  *max_records = 0;  // as many as fit
  *size = kBufferBytes;
  if (to.pool.empty()) {
    // Null if there is no memory. CUPTI then drops records and counts them.
    *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(kBufferAlignment, kBufferBytes));
    return;
  }
  *buffer = to.pool.back();
  to.pool.pop_back();
}

void CUPTIAPI complete_buffer(CUcontext context, std::uint32_t stream, std::uint8_t* buffer,
                              std::size_t, std::size_t valid_bytes) {
  if (buffer == nullptr) return;
  Collector& to = collector();
  const std::lock_guard lock(to.mutex);
  if (to.cupti.has_value()) {
    CUpti_Activity* record = nullptr;
    while (valid_bytes > 0 &&
           to.cupti->cuptiActivityGetNextRecord(buffer, valid_bytes, &record) == CUPTI_SUCCESS) {
      add(*record, to.activity);
    }
    std::size_t dropped = 0;
    if (to.cupti->cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_SUCCESS) {
      to.activity.dropped += static_cast<std::int64_t>(dropped);
    }
  }
  to.pool.push_back(buffer);
}

// environment if another recorder of this process is active.
Status claim_collector(const CuptiLibrary& cupti) {
  Collector& to = collector();
  const std::lock_guard lock(to.mutex);
  if (to.cupti.has_value()) {
    return environment_error("another timer of this process holds CUPTI already");
  }
  to.cupti = cupti;
  to.activity = {};
  return {};
}

void release_collector() {
  Collector& to = collector();
  const std::lock_guard lock(to.mutex);
  to.cupti.reset();
}

}  // namespace

ActivityRecorder::ActivityRecorder(const CuptiLibrary& cupti, CuptiSubscriber subscriber)
    : cupti_(cupti), subscriber_(std::move(subscriber)) {}

Result<std::unique_ptr<ActivityRecorder>> ActivityRecorder::make(const CuptiLibrary& cupti) {
  MGTUNE_ASSIGN(CuptiSubscriber subscriber, subscribe_to_cupti(cupti));
  MGTUNE_TRY(claim_collector(cupti));
  std::unique_ptr<ActivityRecorder> recorder(new ActivityRecorder(cupti, std::move(subscriber)));
  MGTUNE_TRY(cupti.status(cupti.cuptiActivityRegisterCallbacks(request_buffer, complete_buffer),
                          "registering with CUPTI"));
  for (const CUpti_ActivityKind kind : kKinds) {
    MGTUNE_TRY(cupti.status(cupti.cuptiActivityEnable(kind), "recording kernels with CUPTI"));
  }
  return recorder;
}

// The results are ignored: nobody wants the records of a recorder that is being destroyed.
ActivityRecorder::~ActivityRecorder() {
  for (const CUpti_ActivityKind kind : kKinds) cupti_.cuptiActivityDisable(kind);
  cupti_.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  release_collector();
}

Status ActivityRecorder::flush() {
  return cupti_.status(cupti_.cuptiActivityFlushAll(0), "collecting CUPTI's records");
}

Status ActivityRecorder::begin() {
  MGTUNE_TRY(flush());
  Collector& from = collector();
  const std::lock_guard lock(from.mutex);
  from.activity = {};
  return {};
}

Result<Activity> ActivityRecorder::end() {
  MGTUNE_TRY(flush());
  Collector& from = collector();
  const std::lock_guard lock(from.mutex);
  Activity activity = std::exchange(from.activity, {});
  std::ranges::stable_sort(activity.operations, {}, &DeviceOperation::start_ns);
  return activity;
}

}  // namespace mgtune
