#include "tables/identity_json.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <utility>

#include "json/json.h"

namespace mgtune {
namespace {

constexpr std::size_t kLongestText = 1000;
constexpr std::string_view kEmulation = "emulation";

// The members that are numbers, for both directions.
constexpr std::array<std::pair<const char*, std::int64_t GpuRecord::*>, 4> kGpuNumbers = {
    {{"sm_count", &GpuRecord::sm_count},
     {"l2_bytes", &GpuRecord::l2_bytes},
     {"memory_bytes", &GpuRecord::memory_bytes},
     {"max_shared_bytes", &GpuRecord::max_shared_bytes}}};

constexpr std::array<std::pair<const char*, std::string EnvironmentRecord::*>, 4> kEnvironment = {
    {{"mgtune_version", &EnvironmentRecord::mgtune_version},
     {"compiler", &EnvironmentRecord::compiler},
     {"driver", &EnvironmentRecord::driver},
     {"system", &EnvironmentRecord::system}}};

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f;
}

}  // namespace

Json gpu_json(const GpuRecord& gpu) {
  Json json = {{"model", gpu.model}, {"arch", gpu.arch}};
  for (const auto& [name, member] : kGpuNumbers) json[name] = gpu.*member;
  json["mig_profile"] = gpu.mig_profile;
  json["emulation"] = gpu.emulation;
  return json;
}

Result<GpuRecord> read_gpu(const JsonCursor& gpu) {
  MGTUNE_TRY(gpu.expect_keys({"model", "arch", "sm_count", "l2_bytes", "memory_bytes",
                              "max_shared_bytes", "mig_profile", "emulation"}));
  GpuRecord record;
  MGTUNE_ASSIGN(record.model, read_text(gpu.at("model")));
  MGTUNE_ASSIGN(record.arch, read_text(gpu.at("arch")));
  if (record.model.empty()) return gpu.at("model").unexpected("a GPU's model");
  if (record.arch.empty()) return gpu.at("arch").unexpected("an architecture");
  for (const auto& [name, member] : kGpuNumbers) {
    MGTUNE_ASSIGN(record.*member,
                  gpu.at(name).integer(0, std::numeric_limits<std::int64_t>::max()));
  }
  MGTUNE_ASSIGN(record.mig_profile, read_text(gpu.at("mig_profile")));
  MGTUNE_ASSIGN(record.emulation, gpu.at("emulation").boolean());
  return record;
}

Json environment_json(const EnvironmentRecord& environment) {
  Json json = Json::object();
  for (const auto& [name, member] : kEnvironment) json[name] = environment.*member;
  return json;
}

Result<EnvironmentRecord> read_environment(const JsonCursor& environment) {
  MGTUNE_TRY(environment.expect_keys({"mgtune_version", "compiler", "driver", "system"}));
  EnvironmentRecord record;
  for (const auto& [name, member] : kEnvironment) {
    MGTUNE_ASSIGN(record.*member, read_text(environment.at(name)));
  }
  return record;
}

Result<std::string> read_text(const JsonCursor& text) {
  MGTUNE_ASSIGN(std::string word, text.string());
  if (word.size() > kLongestText) return text.unexpected("a text of at most 1,000 bytes");
  if (std::ranges::any_of(word, is_control)) return text.unexpected("printable text");
  return word;
}

Result<double> read_positive(const JsonCursor& number) {
  MGTUNE_ASSIGN(const double value, number.number());
  if (!(value > 0)) return number.unexpected("a number above 0");
  return value;
}

Result<std::string> read_time_stamp(const JsonCursor& text) {
  constexpr std::string_view kPattern = "0000-00-00T00:00:00Z";
  MGTUNE_ASSIGN(std::string word, text.string());
  bool matches = word.size() == kPattern.size();
  for (std::size_t i = 0; matches && i < kPattern.size(); ++i) {
    const bool is_digit = word[i] >= '0' && word[i] <= '9';
    matches = kPattern[i] == '0' ? is_digit : word[i] == kPattern[i];
  }
  if (!matches) return text.unexpected("a time in UTC such as \"2026-11-21T09:00:00Z\"");
  return word;
}

Result<std::string> read_method(const JsonCursor& method, const GpuRecord& gpu) {
  MGTUNE_ASSIGN(std::string word, method.identifier());
  if ((word == kEmulation) == gpu.emulation) return word;
  return method.unexpected(gpu.emulation ? "\"emulation\", as the cpu device has no other method"
                                         : "a method of timing on a GPU");
}

}  // namespace mgtune
