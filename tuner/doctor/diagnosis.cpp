#include "doctor/diagnosis.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "build/build_cache.h"
#include "clocks/clock_watch.h"
#include "compiler/compiler.h"
#include "compiler/cuda_toolkit.h"
#include "compiler/nvrtc.h"
#include "device/cuda/cuda_driver.h"
#include "device/registry.h"
#include "measure/timing_method_probe.h"
#include "plan/worker_cores.h"
#include "results/stored_results.h"
#include "store/store.h"
#include "system/file_system.h"

namespace mgtune {
namespace {

// Completes the finding: whether `result` is ok, and the text that `describe` makes from its value,
// or the failure's message.
template <typename Value, typename Describe>
Finding finding_of(Finding finding, const Result<Value>& result, const Describe& describe) {
  finding.ok = result.ok();
  finding.found = result.ok() ? std::string(describe(*result)) : result.status().message();
  return finding;
}

Finding find_compiler() {
  return finding_of({"host compiler", false, "", "install g++, or set CXX"}, make_compiler("cpu"),
                    [](const std::unique_ptr<Compiler>& compiler) {
                      // The identity continues with flags and hashes, which are of no use to a
                      // reader.
                      const std::string identity = compiler->identity();
                      return identity.substr(0, identity.find(", -"));
                    });
}

Finding find_cpu_device() {
  return finding_of(
      {"cpu device", false, "", "keep libmgruntime-cpu.so of the same build beside mgtune"},
      open_device("cpu"), [](const auto&) { return "loads"; });
}

Finding find_driver() {
  return finding_of(
      {"NVIDIA driver", false, "", "to use GPUs, install a driver for CUDA 12.4 or newer", true},
      cuda_driver(), [](const CudaDriver& driver) {
        return "for CUDA " + cuda_version_text(driver.version) + ", " + driver.path;
      });
}

// Loads the library and compiles nothing.
Finding find_nvrtc_library() {
  Result<std::string> path = find_nvrtc();
  return finding_of(
      {"NVRTC", false, "", "install the package cuda-nvrtc, or set CUDA_HOME or MGTUNE_NVRTC_PATH",
       !cuda_driver().ok()},
      path.ok() ? open_nvrtc(*path) : Result<Nvrtc>(std::move(path).take_status()),
      [](const Nvrtc& nvrtc) {
        return std::to_string(nvrtc.major) + "." + std::to_string(nvrtc.minor) + ", " + nvrtc.path;
      });
}

Finding find_headers() {
  return finding_of({"CUDA headers", false, "",
                     "install the package cuda-cudart-dev, or set CUDA_HOME", !cuda_driver().ok()},
                    find_cuda_include(FileSystem::real()),
                    [](const std::string& folder) { return folder; });
}

Finding find_cupti(const std::string& program) {
  Finding finding{"CUPTI", false, "not tried, because it needs the driver",
                  "install the package cuda-cupti; without it kernels are timed with CUDA events",
                  true};
  if (!cuda_driver().ok()) return finding;
  const Result<TimingMethod> method = probe_timing_method(program);
  finding = finding_of(finding, method, [](const TimingMethod& found) {
    return found.name == "rotating" ? "times kernels" : found.reason;
  });
  finding.ok = method.ok() && method->name == "rotating";
  return finding;
}

std::string clocks_text(const ClockSample& sample) {
  const auto number = [](double value, const char* unit) {
    return value > 0 ? std::to_string(std::lround(value)) + unit : std::string("unknown");
  };
  const std::string throttled = throttle_text(sample.reasons);
  return "SM " + number(sample.sm_mhz, " MHz") + ", memory " + number(sample.memory_mhz, " MHz") +
         ", " + number(sample.power_w, " W") + ", " + number(sample.temperature_c, " C") +
         (throttled.empty() ? "" : ", held down by " + throttled);
}

// Reads the clocks of every GPU once.
Finding find_nvml() {
  Finding finding{"NVML", false, "not tried, because it needs the driver",
                  "it comes with the driver; without it mgtune cannot watch the clocks", true};
  if (!cuda_driver().ok()) return finding;
  finding.ok = true;
  finding.found.clear();
  for (const DeviceInfo& device : list_devices()) {
    if (device.kind == DeviceKind::cpu) continue;
    const Result<std::unique_ptr<ClockWatch>> watch = open_clock_watch(device.id);
    finding.ok = finding.ok && watch.ok();
    if (!finding.found.empty()) finding.found += "; ";
    finding.found += "GPU " + std::to_string(device.index) + ": " +
                     (watch.ok() ? clocks_text((*watch)->read()) : watch.status().message());
  }
  return finding;
}

// Says which cores are near the GPU, if this matters to a sweep, or that it is not known.
std::string near_text(const DeviceInfo& device) {
  const std::optional<Cores> near = cores_near("", device.pci_address);
  if (!near) return ", the system does not say which cores are near it";
  const WorkerCores workers = worker_cores("", own_cores(), {device});
  const Cores& cores = workers.measure.front();
  return cores.empty() ? "" : ", measured from the cores near it: " + cores_text(cores);
}

std::vector<Finding> find_gpus() {
  std::vector<Finding> findings;
  for (const DeviceInfo& device : list_devices()) {
    if (device.kind == DeviceKind::cpu) continue;
    findings.push_back(
        {"GPU " + std::to_string(device.index), true,
         device.name + ", " + device.arch + ", driver " + device.driver + near_text(device), ""});
  }
  for (const std::string& failure : failing_gpus()) {
    const std::size_t colon = failure.find(": ");
    findings.push_back(
        {failure.substr(0, colon), false, failure.substr(colon + 2),
         "the other GPUs can be used; nvidia-smi may say what is wrong with this one", true});
  }
  return findings;
}

// Writes a file into the folder and removes it again.
Status try_writing(const std::string& folder) {
  FileSystem& files = FileSystem::real();
  MGTUNE_TRY(files.create_directories(folder, 0700));
  const std::string probe = folder + "/.mgtune-doctor";
  MGTUNE_TRY(files.write_file(probe, "probe"));
  return files.remove(probe);
}

Finding find_build_cache() {
  Finding finding{"build cache", false, "",
                  "set MGTUNE_CACHE_DIR to a folder that only you can write to"};
  const std::string folder = BuildCache::default_directory();
  const Status status = BuildCache::check(folder);
  finding.ok = status.ok();
  finding.found = status.ok() ? folder : status.message();
  return finding;
}

Finding find_database() {
  Finding finding{"database", false, "", "name another file with --db or MGTUNE_DB"};
  const Result<std::string> place = database_path("");
  if (!place.ok()) {
    finding.found = place.status().message();
    return finding;
  }
  const std::string& path = *place;
  const Result<Store> store = Store::open(path, Store::Mode::read_only);
  finding.ok = store.ok();
  finding.found = store.ok() ? path : store.status().message();
  if (store.ok() || store.status().code() != StatusCode::not_found) return finding;
  const std::size_t slash = path.rfind('/');
  const Status status = try_writing(slash == std::string::npos ? "." : path.substr(0, slash));
  finding.ok = status.ok();
  finding.found = status.ok() ? path + " (the first sweep creates it)" : status.message();
  return finding;
}

}  // namespace

Diagnosis diagnose(const std::string& program) {
  const Finding compiler = find_compiler();
  const Finding cpu = find_cpu_device();
  const Finding database = find_database();
  const Finding nvrtc = find_nvrtc_library();
  const Finding headers = find_headers();
  const std::vector<Finding> gpus = find_gpus();
  Diagnosis diagnosis;
  diagnosis.findings = {
      compiler,           cpu,     find_driver(), nvrtc, headers, find_cupti(program), find_nvml(),
      find_build_cache(), database};
  diagnosis.findings.insert(diagnosis.findings.end(), gpus.begin(), gpus.end());
  // Without a cache sweeps compile longer; without CUPTI they are less precise.
  const bool can_use_cpu = compiler.ok && cpu.ok;
  const bool can_use_gpu = !gpus.empty() && nvrtc.ok && headers.ok;
  diagnosis.can_sweep = database.ok && (can_use_cpu || can_use_gpu);
  return diagnosis;
}

}  // namespace mgtune
