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

Result<std::unique_ptr<Timer>> make_gpu_timer(Device& device, const std::string& method) {
  MGTUNE_TRY(cuda_driver().status());
  return make_gpu_timer(device, method, *cuda_driver(), LibraryLoader::real());
}

Result<std::unique_ptr<Timer>> make_gpu_timer(Device& device, const std::string& method,
                                              const CudaDriver& driver, LibraryLoader& loader) {
  if (device.info().kind == DeviceKind::cpu) {
    return unsupported("the cpu device has no timer of method '" + method + "'");
  }
  if (method != "rotating" && method != "rotating_events" && method != "graph") {
    return invalid_argument("no method '" + method +
                            "' times a GPU; there are rotating, rotating_events and graph");
  }
  MGTUNE_ASSIGN(std::unique_ptr<HeldStream> stream, HeldStream::make(driver, device));
  if (method == "graph") return make_graph_timer(driver, std::move(stream));
  if (method == "rotating_events") {
    return make_event_timer(driver, std::move(stream), "as asked for");
  }
  Result<std::unique_ptr<ActivityRecorder>> recorder = start_recording(loader);
  if (recorder.ok()) return make_cupti_timer(std::move(*recorder), std::move(stream));
  return make_event_timer(driver, std::move(stream), recorder.status().message());
}

}  // namespace mgtune
