#include <array>
#include <memory>
#include <string>
#include <utility>

#include "counters/launch_counting.h"
#include "counters/range_counter.h"
#include "device/cuda/cuda_driver.h"
#include "device/registry.h"
#include "measure/variant_bench.h"
#include "worker/worker.h"
#include "worker/worker_channel.h"

namespace mgtune {
namespace {

class CountWorker {
 public:
  CountWorker(std::unique_ptr<Device> device, WorkerChannel& channel)
      : bench_(std::move(device), channel) {}

  Status handle(const CountRequest& request, WorkReply& reply) {
    // Opens the counter first: the machine may refuse it, and the check before would have cost
    // seconds.
    MGTUNE_TRY(open_counter());
    MGTUNE_ASSIGN(const std::unique_ptr<LoadedVariant> variant, bench_.prepare(request, reply));
    if (variant == nullptr) return {};
    MGTUNE_ASSIGN(const VariantBench::Launches launches,
                  bench_.launches(std::array<const LoadedVariant*, 1>{variant.get()}));
    MGTUNE_ASSIGN(reply.counters, count_launches(*counter_, bench_.device(), launches.works.front(),
                                                 launches.buffer_sets, request.tier));
    reply.counters->note = launches.note;
    return {};
  }

 private:
  Status open_counter() {
    if (counter_ != nullptr) return {};
    Device& device = bench_.device();
    if (device.info().kind == DeviceKind::cpu) {
      return environment_error("the cpu device has no hardware counters");
    }
    MGTUNE_TRY(cuda_driver().status());
    MGTUNE_TRY(device.synchronize(nullptr));  // makes its context current on this thread
    CUcontext context = nullptr;
    MGTUNE_TRY(cuda_driver()->status(cuda_driver()->cuCtxGetCurrent(&context),
                                     "asking for the GPU's context"));
    MGTUNE_ASSIGN(const CounterLibrary library, open_counter_library());
    MGTUNE_ASSIGN(counter_, RangeCounter::make(library, context, device.info().index));
    return {};
  }

  VariantBench bench_;
  std::unique_ptr<RangeCounter> counter_;  // must be destroyed before the device
};

}  // namespace

Status run_count_worker(const std::string& device_id) {
  MGTUNE_ASSIGN(WorkerChannel channel, WorkerChannel::open());
  MGTUNE_ASSIGN(std::unique_ptr<Device> device, open_device(device_id));
  CountWorker worker(std::move(device), channel);
  return channel.serve(worker);
}

}  // namespace mgtune
