// CuptiLibrary: the functions of CUPTI, NVIDIA's tracing library, opened at run time.
// CuptiSubscriber: a process can have one subscriber of CUPTI. This object is that subscriber while
// it records.
//
// Opening calls into CUPTI, which watches the process from then on. A program that does not want
// that must not open it.

#pragma once

#include <cupti.h>

#include <cstdint>
#include <memory>
#include <string>

#include "core/status.h"
#include "system/shared_library.h"

#define MGTUNE_CUPTI_FUNCTIONS(X)   \
  X(cuptiGetVersion)                \
  X(cuptiGetResultString)           \
  X(cuptiSubscribe)                 \
  X(cuptiUnsubscribe)               \
  X(cuptiActivityRegisterCallbacks) \
  X(cuptiActivityEnable)            \
  X(cuptiActivityDisable)           \
  X(cuptiActivityFlushAll)          \
  X(cuptiActivityGetNextRecord)     \
  X(cuptiActivityGetNumDroppedRecords)

namespace mgtune {

struct CuptiLibrary {
  std::string path;
  std::uint32_t version = 0;  // 130001 for CUDA 13.0 Update 1

  MGTUNE_CUPTI_FUNCTIONS(MGTUNE_DECLARE_FUNCTION)

  // ok for CUPTI_SUCCESS, otherwise environment: "what: CUPTI_ERROR_NAME". If another tool uses
  // CUPTI, the message says so in words.
  Status status(CUptiResult result, const char* what) const;
};

// Looked for in this order: only $MGTUNE_CUPTI_PATH (a file) if it is set; $CUDA_HOME; where the
// linker looks; /usr/local/cuda. environment if there is none, or if it is not of the release whose
// headers mgtune was built with: the layout of records changes between releases.
Result<CuptiLibrary> open_cupti(LibraryLoader& loader = LibraryLoader::real());

// Its destructor unsubscribes.
struct CuptiUnsubscribe {
  decltype(&::cuptiUnsubscribe) function;
  void operator()(CUpti_SubscriberHandle subscriber) const { function(subscriber); }
};
using CuptiSubscriber = std::unique_ptr<CUpti_Subscriber_st, CuptiUnsubscribe>;

// environment if another tool (a debugger, Nsight, PyTorch's profiler) is the subscriber.
Result<CuptiSubscriber> subscribe_to_cupti(const CuptiLibrary& cupti);

}  // namespace mgtune
