#include "pack/pack_skew.h"

#include <charconv>
#include <memory>
#include <string_view>

#include "compiler/compiler.h"

namespace mgtune {
namespace {

// "13.0..." and "13" give 13000; 0 if the text does not start with a version.
std::int64_t version_at(std::string_view text) {
  std::int64_t major = 0;
  std::int64_t minor = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, major);
  if (read.ec != std::errc() || major < 1 || major > 999) return 0;
  if (read.ptr != end && *read.ptr == '.') std::from_chars(read.ptr + 1, end, minor);
  return major * 1000 + (minor < 0 || minor > 99 ? 0 : minor * 10);
}

std::int64_t version_after(std::string_view text, std::string_view word) {
  const std::size_t place = text.find(word);
  return place == std::string_view::npos ? 0 : version_at(text.substr(place + word.size()));
}

std::string version_text(std::int64_t version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

Status check_host_toolchain(const Pack& pack) {
  const Result<std::unique_ptr<Compiler>> compiler = make_compiler("cpu");
  if (!compiler.ok()) return incompatible(compiler.status().message());
  if ((*compiler)->identity() == pack.compiler) return {};
  return incompatible("its host libraries are of another toolchain than this machine's");
}

}  // namespace

std::int64_t cuda_version_of(const std::string& compiler_identity) {
  return version_after(compiler_identity, "libnvrtc.so.");
}

Status check_builds_run(const Pack& pack, const DeviceInfo& device) {
  if (pack.builds.empty()) return {};
  const bool is_host = pack.builds.front().build.arch.starts_with("cpu");
  if (is_host != (device.kind == DeviceKind::cpu)) {
    return incompatible("its builds are for " + pack.builds.front().build.arch + ", not for " +
                        device.arch);
  }
  if (is_host) return check_host_toolchain(pack);
  // Drivers run cubins of newer toolkits within the same major version, but not of the next one.
  const std::int64_t driver = version_after(device.driver, "CUDA ");
  if (driver == 0 || pack.cuda_version / 1000 <= driver / 1000) return {};
  return incompatible("its builds are of CUDA " + version_text(pack.cuda_version) +
                      ", and the driver is of CUDA " + version_text(driver));
}

}  // namespace mgtune
