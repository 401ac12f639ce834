#include "cupti/cupti_library.h"

#include <algorithm>
#include <array>
#include <vector>

#include "compiler/cuda_toolkit.h"
#include "system/user_folders.h"

namespace mgtune {
namespace {

constexpr std::uint32_t kBuiltWith = CUPTI_API_VERSION;
// From CUDA 13.0 on versions read 130001: release 13.0, update 1. Before, they were consecutive
// numbers.
constexpr std::uint32_t kFirstDated = 130000;
// Disabling the records of kernels can hang in this version; update 1 does not.
constexpr std::uint32_t kHangs = 130000;

std::vector<std::string> candidates() {
  if (std::string path = environment_variable("MGTUNE_CUPTI_PATH"); !path.empty()) return {path};
  const std::string file = "libcupti.so." + std::to_string(CUDA_VERSION / 1000);
  constexpr std::array<const char*, 3> kFolders = {"/extras/CUPTI/lib64/", "/lib64/", "/lib/"};
  std::vector<std::string> paths;
  std::vector<std::string> toolkits = cuda_toolkit_folders();
  const auto add_toolkit = [&](const std::string& toolkit) {
    for (const char* folder : kFolders) {
      paths.push_back(std::string(toolkit).append(folder).append(file));
    }
  };
  const bool has_home = !environment_variable("CUDA_HOME").empty();
  if (has_home) add_toolkit(toolkits.front());
  paths.push_back(file);  // LD_LIBRARY_PATH and the system's folders
  std::for_each(toolkits.begin() + (has_home ? 1 : 0), toolkits.end(), add_toolkit);
  return paths;
}

bool is_of_our_release(std::uint32_t version) {
  if (version == kBuiltWith) return true;
  return version >= kFirstDated && kBuiltWith >= kFirstDated && version / 100 == kBuiltWith / 100;
}

Status check_version(const CuptiLibrary& cupti) {
  const std::string which =
      "CUPTI at " + cupti.path + " has API version " + std::to_string(cupti.version);
  if (!is_of_our_release(cupti.version)) {
    return environment_error(which + "; this mgtune reads the records of version " +
                             std::to_string(kBuiltWith) + ": set MGTUNE_CUPTI_PATH to that one");
  }
  if (cupti.version == kHangs) {
    return environment_error(which + ", which can hang; install CUDA 13.0 Update 1 or newer");
  }
  return {};
}

}  // namespace

Status CuptiLibrary::status(CUptiResult result, const char* what) const {
  if (result == CUPTI_SUCCESS) return {};
  const char* name = nullptr;
  if (cuptiGetResultString(result, &name) != CUPTI_SUCCESS || name == nullptr) name = "no text";
  std::string message = std::string(what) + ": " + name;
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
    message = "another tool holds CUPTI (a debugger, Nsight or a framework's profiler): " + message;
  }
  return environment_error(message);
}

Result<CuptiLibrary> open_cupti(LibraryLoader& loader) {
  const Result<SharedLibrary> library = SharedLibrary::open(candidates(), loader);
  if (!library.ok()) {
    return environment_error("no CUPTI: " + library.status().message() +
                             "; install it (package cuda-cupti), or set CUDA_HOME or "
                             "MGTUNE_CUPTI_PATH");
  }
  CuptiLibrary cupti;
  cupti.path = library->path();
#define MGTUNE_BIND(function) MGTUNE_TRY(library->bind(#function, &cupti.function));
  MGTUNE_CUPTI_FUNCTIONS(MGTUNE_BIND)
#undef MGTUNE_BIND
  MGTUNE_TRY(cupti.status(cupti.cuptiGetVersion(&cupti.version), "reading CUPTI's version"));
  MGTUNE_TRY(check_version(cupti));
  return cupti;
}

Result<CuptiSubscriber> subscribe_to_cupti(const CuptiLibrary& cupti) {
  // No callback is enabled, but CUPTI requires a function.
  const auto ignore = [](void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {};
  CUpti_SubscriberHandle subscriber = nullptr;
  MGTUNE_TRY(
      cupti.status(cupti.cuptiSubscribe(&subscriber, ignore, nullptr), "subscribing to CUPTI"));
  return CuptiSubscriber(subscriber, {cupti.cuptiUnsubscribe});
}

}  // namespace mgtune
