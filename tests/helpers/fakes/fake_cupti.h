// FakeCupti: a libcupti that records what a FakeCuda runs, into the buffers that the recorder gives
// it. One at a time.

#pragma once

#include <cupti.h>

#include <cstring>
#include <set>
#include <string>

#include "cupti/cupti_library.h"
#include "tests/helpers/fakes/fake_cuda.h"
#include "tests/helpers/fakes/fake_loader.h"

namespace mgtune {

class FakeCupti {
 public:
  // What tests set.
  std::uint32_t version = CUPTI_API_VERSION;
  CUptiResult subscribe_result = CUPTI_SUCCESS;
  CUptiResult enable_result = CUPTI_SUCCESS;
  std::size_t drop_next = 0;     // records that find no room
  std::size_t no_time_next = 0;  // records that get no time

  // What tests read.
  bool subscribed = false;
  std::set<CUpti_ActivityKind> enabled;
  std::size_t buffers_requested = 0, buffers_out = 0;

  explicit FakeCupti(FakeCuda& gpu) : gpu_(gpu) { self() = this; }
  ~FakeCupti() { self() = nullptr; }
  FakeCupti(const FakeCupti&) = delete;
  FakeCupti& operator=(const FakeCupti&) = delete;

  static std::string file_name() { return "libcupti.so." + std::to_string(CUDA_VERSION / 1000); }

  FakeLoader::Symbols symbols() const {
    FakeLoader::Symbols table;
    table["cuptiGetVersion"] =
        as_symbol(+[](std::uint32_t* out) { return *out = self()->version, CUPTI_SUCCESS; });
    table["cuptiGetResultString"] = as_symbol(+[](CUptiResult result, const char** name) {
      *name = result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
                  ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
                  : "CUPTI_ERROR_OTHER";
      return CUPTI_SUCCESS;
    });
    table["cuptiSubscribe"] =
        as_symbol(+[](CUpti_SubscriberHandle* out, CUpti_CallbackFunc, void*) {
          if (self()->subscribe_result != CUPTI_SUCCESS) return self()->subscribe_result;
          if (self()->subscribed) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
          self()->subscribed = true;
          *out = reinterpret_cast<CUpti_SubscriberHandle>(self());
          return CUPTI_SUCCESS;
        });
    table["cuptiUnsubscribe"] = as_symbol(
        +[](CUpti_SubscriberHandle) { return self()->subscribed = false, CUPTI_SUCCESS; });
    table["cuptiActivityRegisterCallbacks"] = as_symbol(
        +[](CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete) {
          self()->request_ = request;
          self()->complete_ = complete;
          return CUPTI_SUCCESS;
        });
    table["cuptiActivityEnable"] = as_symbol(+[](CUpti_ActivityKind kind) {
      if (self()->enable_result == CUPTI_SUCCESS) self()->enabled.insert(kind);
      return self()->enable_result;
    });
    table["cuptiActivityDisable"] = as_symbol(
        +[](CUpti_ActivityKind kind) { return self()->enabled.erase(kind), CUPTI_SUCCESS; });
    table["cuptiActivityFlushAll"] =
        as_symbol(+[](std::uint32_t) { return self()->deliver(), CUPTI_SUCCESS; });
    table["cuptiActivityGetNextRecord"] = as_symbol(next_record);
    table["cuptiActivityGetNumDroppedRecords"] =
        as_symbol(+[](CUcontext, std::uint32_t, std::size_t* dropped) {
          return *dropped = std::exchange(self()->dropped_, 0), CUPTI_SUCCESS;
        });
    return table;
  }

 private:
  static FakeCupti*& self() {
    static FakeCupti* instance = nullptr;
    return instance;
  }

  static std::size_t size_of(const CUpti_Activity& record) {
    return record.kind == CUPTI_ACTIVITY_KIND_MEMSET ? sizeof(CUpti_ActivityMemset4)
                                                     : sizeof(CUpti_ActivityKernel10);
  }

  static CUptiResult next_record(std::uint8_t* buffer, std::size_t valid, CUpti_Activity** record) {
    std::uint8_t* next = buffer;
    if (*record != nullptr) next = reinterpret_cast<std::uint8_t*>(*record) + size_of(**record);
    if (next >= buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = reinterpret_cast<CUpti_Activity*>(next);
    return CUPTI_SUCCESS;
  }

  template <typename Record>
  void append(CUpti_ActivityKind kind, const FakeCuda::Ran& ran) {
    if (buffer_ == nullptr || used_ + sizeof(Record) > size_) new_buffer();
    Record record{};
    record.kind = kind;
    const bool timed = no_time_next == 0 || no_time_next-- == 0;
    record.start = timed ? static_cast<std::uint64_t>(ran.start_ns) : 0;
    record.end = timed ? static_cast<std::uint64_t>(ran.end_ns) : 0;
    std::memcpy(buffer_ + used_, &record, sizeof(Record));
    used_ += sizeof(Record);
  }

  void new_buffer() {
    return_buffer();
    std::size_t max_records = 0;
    request_(&buffer_, &size_, &max_records);
    ++buffers_requested;
    ++buffers_out;
  }

  void return_buffer() {
    if (buffer_ == nullptr) return;
    complete_(nullptr, 0, buffer_, size_, used_);
    --buffers_out;
    buffer_ = nullptr;
    used_ = 0;
  }

  void deliver() {
    for (; delivered_ < gpu_.ran.size(); ++delivered_) {
      const FakeCuda::Ran& ran = gpu_.ran[delivered_];
      const auto kind =
          ran.is_memset ? CUPTI_ACTIVITY_KIND_MEMSET : CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
      if (!enabled.contains(kind)) continue;
      if (drop_next > 0) {
        --drop_next;
        ++dropped_;
      } else if (ran.is_memset) {
        append<CUpti_ActivityMemset4>(kind, ran);
      } else {
        append<CUpti_ActivityKernel10>(kind, ran);
      }
    }
    if (dropped_ > 0 && buffer_ == nullptr) new_buffer();
    return_buffer();
  }

  FakeCuda& gpu_;
  CUpti_BuffersCallbackRequestFunc request_ = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete_ = nullptr;
  std::size_t delivered_ = 0, dropped_ = 0;
  std::uint8_t* buffer_ = nullptr;
  std::size_t size_ = 0, used_ = 0;
};

}  // namespace mgtune
