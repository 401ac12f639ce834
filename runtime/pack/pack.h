// Pack: a tuned table, rules and builds in one file with checksums. README.md specifies its bytes.
// Plain data and pure functions, except that check_builds_run() asks the compiler of the cpu
// device. PackedBuilds is immutable: any number of threads may call find().

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "build/build.h"
#include "build/build_supply.h"
#include "core/status.h"
#include "device/device.h"

namespace mgtune {

struct PackedBuild {
  std::string request;  // build_key() of the request, with an empty identity
  Build build;          // without its log and the length of its PTX
};

struct PackedRules {
  std::string op;    // "rmsnorm.forward"
  std::string text;  // of a rules file, as selection/rules reads it
};

struct Pack {
  std::string compiler;           // identity
  std::int64_t cuda_version = 0;  // of the compiler, 13000 for CUDA 13.0; 0 for the cpu device
  std::string table;              // JSON, as runtime/tables reads it
  std::vector<PackedRules> rules;
  std::vector<PackedBuild> builds;
};

// Writes the builds in the order of their requests, each once. unsupported beyond 4 GiB.
Result<std::string> encode_pack(Pack pack);

// The bytes of a pack with these fields, packed with gzip behind their checksum.
Result<std::string> seal_pack(std::string_view fields);

// Whether a file that starts like this is a pack of any format.
bool is_pack(std::string_view start);

// corrupt if even one bit differs from what encode_pack() writes. incompatible for another format.
// The texts of the table and of the rules are not examined.
Result<Pack> decode_pack(std::string_view bytes);

// 13000 for the identity of NVRTC 13.0; 0 if the identity does not have a version.
std::int64_t cuda_version_of(const std::string& compiler_identity);

// Whether the builds of the pack run on the device. incompatible, with the reason, if the driver is
// older than the compiler of the builds, or if host libraries were made by another toolchain than
// that of this machine. ok for a pack without builds.
Status check_builds_run(const Pack& pack, const DeviceInfo& device);

// The builds of a pack as a Builder's supply.
class PackedBuilds final : public BuildSupply {
 public:
  explicit PackedBuilds(std::vector<PackedBuild> builds);

  std::optional<Build> find(const BuildRequest& request) const override;

 private:
  std::map<std::string, Build> builds_;  // by request
};

}  // namespace mgtune
