#include "timing/gpu_timer.h"

#include <utility>

#include "timing/activity_recorder.h"
#include "timing/cupti_library.h"
#include "timing/cupti_timer.h"
#include "timing/event_timer.h"
#include "timing/graph_timer.h"
#include "timing/held_stream.h"

namespace mgtune {
namespace {

Result<std::unique_ptr<ActivityRecorder>> start_recording(LibraryLoader& loader) {
  MGTUNE_ASSIGN(const CuptiLibrary cupti, open_cupti(loader));
  return ActivityRecorder::make(cupti);
}

}  // namespace

TimingMethod default_gpu_method(LibraryLoader& loader) {
  const Status cupti = start_recording(loader).status();
  if (cupti.ok()) return {"rotating", ""};
  return {"rotating_events", cupti.message()};
}

Result<std::unique_ptr<Timer>> make_gpu_timer(Device& device, const TimingMethod& method) {
  MGTUNE_TRY(cuda_driver().status());
  return make_gpu_timer(device, method, *cuda_driver(), LibraryLoader::real());
}

Result<std::unique_ptr<Timer>> make_gpu_timer(Device& device, const TimingMethod& method,
                                              const CudaDriver& driver, LibraryLoader& loader) {
  const std::string& name = method.name;
  if (device.info().kind == DeviceKind::cpu) {
    return unsupported("the cpu device has no timer of method '" + name + "'");
  }
  if (name != "rotating" && name != "rotating_events" && name != "graph") {
    return invalid_argument("no method '" + name +
                            "' times a GPU; there are rotating, rotating_events and graph");
  }
  MGTUNE_ASSIGN(std::unique_ptr<HeldStream> stream, HeldStream::make(driver, device));
  // Without NVML the clocks are not known, which `mgtune doctor` says; times are as good.
  Result<std::unique_ptr<ClockWatch>> opened = open_clock_watch(device.info().id, loader);
  std::unique_ptr<ClockWatch> watch = opened.ok() ? *std::move(opened) : nullptr;
  if (name == "graph") return make_graph_timer(driver, std::move(stream), std::move(watch));
  if (name == "rotating_events") {
    return make_event_timer(driver, std::move(stream), method.reason, std::move(watch));
  }
  MGTUNE_ASSIGN(std::unique_ptr<ActivityRecorder> recorder, start_recording(loader));
  return make_cupti_timer(std::move(recorder), std::move(stream), std::move(watch));
}

}  // namespace mgtune
