#include "timing/gpu_timer.h"

#include <algorithm>
#include <utility>

#include "clocks/clock_watch.h"
#include "cupti/activity_recorder.h"
#include "cupti/cupti_library.h"
#include "cupti/cupti_timer.h"
#include "timing/event_timer.h"
#include "timing/held_stream.h"

namespace mgtune {
namespace {

constexpr char kRotating[] = "rotating";
constexpr char kCold[] = "cold";
constexpr char kHot[] = "hot";
constexpr char kGraph[] = "graph";
constexpr char kEvents[] = "rotating_events";

Result<std::unique_ptr<ActivityRecorder>> start_recording(LibraryLoader& loader) {
  MGTUNE_ASSIGN(const CuptiLibrary cupti, open_cupti(loader));
  return ActivityRecorder::make(cupti);
}

}  // namespace

TimingMethod default_gpu_method(LibraryLoader& loader) {
  const Status cupti = start_recording(loader).status();
  if (cupti.ok()) return {kRotating, ""};
  return {kEvents, cupti.message()};
}

Result<std::unique_ptr<Timer>> make_gpu_timer(Device& device, Builder& builder,
                                              const TimingMethod& method) {
  MGTUNE_TRY(cuda_driver().status());
  return make_gpu_timer(device, builder, method, *cuda_driver(), LibraryLoader::real());
}

Result<std::unique_ptr<Timer>> make_gpu_timer(Device& device, Builder& builder,
                                              const TimingMethod& method, const CudaDriver& driver,
                                              LibraryLoader& loader) {
  const std::string& name = method.name;
  if (device.info().kind == DeviceKind::cpu) {
    return unsupported("the cpu device has no timer of method '" + name + "'");
  }
  if (name != kEvents && std::ranges::find(gpu_methods(), name) == gpu_methods().end()) {
    return invalid_argument("no method '" + name + "' times a GPU");
  }
  MGTUNE_ASSIGN(std::unique_ptr<HeldStream> stream, HeldStream::make(driver, device));
  // Without NVML the clocks are not known, and `mgtune doctor` says so. The times are as good.
  Result<std::unique_ptr<ClockWatch>> opened = open_clock_watch(device.info().id, loader);
  std::unique_ptr<ClockWatch> watch = opened.ok() ? *std::move(opened) : nullptr;
  if (!needs_cupti(name)) {
    return make_event_timer(driver, method, std::move(stream), std::move(watch));
  }
  MGTUNE_ASSIGN(std::unique_ptr<ActivityRecorder> recorder, start_recording(loader));
  std::unique_ptr<CacheEviction> eviction;
  if (name == kCold) {
    MGTUNE_ASSIGN(eviction, CacheEviction::make(device, builder));
  }
  return make_cupti_timer(name, std::move(recorder), std::move(stream), std::move(watch),
                          std::move(eviction));
}

const std::vector<std::string>& gpu_methods() {
  static const std::vector<std::string> kMethods = {kRotating, kCold, kHot, kGraph};
  return kMethods;
}

bool turns_through_sets(const std::string& method) { return method != kCold && method != kHot; }

bool needs_cupti(const std::string& method) {
  return method == kRotating || method == kCold || method == kHot;
}

}  // namespace mgtune
