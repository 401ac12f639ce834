#include "device/plugin.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "system/user_folders.h"

namespace mgtune {
namespace {

namespace fs = std::filesystem;

constexpr char kCpuPluginFile[] = "libmgruntime-cpu.so";

}  // namespace

std::vector<std::string> cpu_plugin_places() {
  if (const std::string file = environment_variable("MGTUNE_CPU_PLUGIN"); !file.empty()) {
    return {file};
  }
  std::vector<std::string> places;
  const auto add = [&](const fs::path& folder) {
    const std::string place = (folder / kCpuPluginFile).lexically_normal().string();
    if (std::ranges::find(places, place) == places.end()) places.push_back(place);
  };
  for (const fs::path& folder : {folder_of_this_code(), folder_of_this_program()}) {
    if (folder.empty()) continue;
    add(folder);
    add(folder / "../lib");
  }
  return places;
}

Result<const DevicePlugin*> load_device_plugin(const std::vector<std::string>& places) {
  std::error_code ignored;
  const auto place = std::ranges::find_if(
      places, [&](const std::string& file) { return fs::is_regular_file(file, ignored); });
  if (place == places.end()) {
    std::string looked;
    for (const std::string& file : places) looked += "\n  " + file;
    return environment_error("the cpu device's library is not there; looked for" + looked);
  }
  // Absolute, because a name without a slash would be searched for elsewhere.
  const std::string path = fs::absolute(*place, ignored).string();
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return environment_error("cannot load " + *place + ": " + ::dlerror());
  }
  const auto entry = reinterpret_cast<DevicePluginFunction>(::dlsym(library, kDevicePluginSymbol));
  if (entry == nullptr) {
    return environment_error(*place + " is not a device plugin of mgtune: it has no function " +
                             kDevicePluginSymbol);
  }
  const DevicePlugin* plugin = entry();
  if (std::string_view(plugin->build_id) != MGTUNE_BUILD_ID) {
    return environment_error(*place + " was built from other sources than this program (" +
                             plugin->build_id +
                             ", not " MGTUNE_BUILD_ID "); install both together");
  }
  // The plugin is accepted. Only now its symbols become visible for kernels.
  ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
  return plugin;
}

}  // namespace mgtune
