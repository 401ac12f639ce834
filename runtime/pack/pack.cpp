#include "pack/pack.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <utility>

#include "build/cache_entry.h"
#include "compiler/compiler.h"
#include "core/field_text.h"
#include "core/gzip.h"
#include "core/sha256.h"

namespace mgtune {
namespace {

constexpr std::string_view kMagic = "mgtune pack ";
constexpr std::string_view kPackFormat = "2";

// The most bytes of all fields together. A small file can stand for any number of zeros.
constexpr std::size_t kMaxFieldBytes = std::size_t{1} << 30U;

std::string_view next_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return "";
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

Status check_format(std::string_view line) {
  const std::string_view format = line.substr(std::min(kMagic.size(), line.size()));
  if (line.starts_with(kMagic) && format == kPackFormat) return {};
  const bool is_number = !format.empty() && format.size() < 10 && format.front() != '0' &&
                         format.find_first_not_of("0123456789") == std::string_view::npos;
  if (!line.starts_with(kMagic) || !is_number) return corrupt("its first line is damaged");
  return incompatible("it is a pack of format " + std::string(format) +
                      "; this mgtune reads format " + std::string(kPackFormat));
}

Result<PackedBuild> decode_build(FieldReader& fields) {
  PackedBuild packed;
  packed.request = fields.text("request");
  const std::string_view entry = fields.text("entry");
  MGTUNE_ASSIGN(packed.build, decode_cache_entry(cache_entry_key(entry), entry));
  return packed;
}

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

Result<std::string> encode_pack(Pack pack) {
  std::ranges::stable_sort(pack.builds, {}, &PackedBuild::request);
  const auto same = [](const PackedBuild& a, const PackedBuild& b) {
    return a.request == b.request;
  };
  pack.builds.erase(std::unique(pack.builds.begin(), pack.builds.end(), same), pack.builds.end());
  std::string rest;
  append_field(rest, "compiler", pack.compiler);
  append_field(rest, "cuda", std::to_string(pack.cuda_version));
  append_field(rest, "table", pack.table);
  append_field(rest, "rules", std::to_string(pack.rules.size()));
  for (const PackedRules& rules : pack.rules) {
    append_field(rest, "operator", rules.op);
    append_field(rest, "document", rules.text);
  }
  append_field(rest, "builds", std::to_string(pack.builds.size()));
  for (PackedBuild& packed : pack.builds) {
    packed.build.log.clear();
    packed.build.ptx_bytes = -1;
    append_field(rest, "request", packed.request);
    append_field(rest, "entry", encode_cache_entry(packed.build));
  }
  return seal_pack(rest);
}

Result<std::string> seal_pack(std::string_view fields) {
  MGTUNE_ASSIGN(const std::string packed, gzip(fields));
  return std::string(kMagic) + std::string(kPackFormat) + '\n' + sha256_hex(packed) + ' ' +
         std::to_string(packed.size()) + '\n' + packed;
}

bool is_pack(std::string_view start) { return start.starts_with(kMagic); }

Result<Pack> decode_pack(std::string_view bytes) {
  MGTUNE_TRY(check_format(next_line(bytes)));
  const std::string_view sum = next_line(bytes);
  if (sum != sha256_hex(bytes) + ' ' + std::to_string(bytes.size())) {
    return corrupt("its checksum does not match: the file is damaged or incomplete");
  }
  // From here on an error can only come from a foreign writer.
  MGTUNE_ASSIGN(const std::string text, gunzip(bytes, kMaxFieldBytes));
  FieldReader fields(text);
  Pack pack;
  pack.compiler = fields.text("compiler");
  pack.cuda_version = fields.integer("cuda");
  pack.table = fields.text("table");
  const std::int64_t rules = fields.integer("rules");
  for (std::int64_t i = 0; i < rules && fields.ok(); ++i) {
    PackedRules& packed = pack.rules.emplace_back();
    packed.op = fields.text("operator");
    packed.text = fields.text("document");
  }
  const std::int64_t builds = fields.integer("builds");
  for (std::int64_t i = 0; i < builds && fields.ok(); ++i) {
    Result<PackedBuild> packed = decode_build(fields);
    if (!packed.ok()) {
      return std::move(packed).take_status().with_context("its build " + std::to_string(i + 1));
    }
    const bool in_order = pack.builds.empty() || pack.builds.back().request < packed->request;
    if (!in_order || !is_sha256_hex(packed->request)) return corrupt("its builds are malformed");
    pack.builds.push_back(*std::move(packed));
  }
  if (!fields.ok() || !fields.at_end()) return corrupt("its fields are malformed");
  return pack;
}

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

PackedBuilds::PackedBuilds(std::vector<PackedBuild> builds) {
  for (PackedBuild& packed : builds) {
    builds_.emplace(std::move(packed.request), std::move(packed.build));
  }
}

std::optional<Build> PackedBuilds::find(const BuildRequest& request) const {
  const auto found = builds_.find(build_key(request, ""));
  if (found == builds_.end() || found->second.arch != request.arch) return std::nullopt;
  const std::vector<BuildKernel>& kernels = found->second.kernels;
  const bool has_all = std::ranges::all_of(request.kernels, [&](const std::string& name) {
    return std::ranges::find(kernels, name, &BuildKernel::name) != kernels.end();
  });
  if (!has_all) return std::nullopt;
  return found->second;
}

}  // namespace mgtune
