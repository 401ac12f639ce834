// GpuRecord and EnvironmentRecord: the machine on which a result was measured. Plain data and pure
// functions.

#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>

#include "database/field.h"

namespace mgtune {

// The properties of a GPU that results depend on. The cpu device has a record too, with `emulation`
// set. There is no operator==: is_same_gpu() says whether results of one GPU count for another.
struct GpuRecord {
  std::string model;  // "NVIDIA H200"; "cpu"
  std::string arch;   // "sm_90"; "cpu"
  std::int64_t sm_count = 0, l2_bytes = 0, memory_bytes = 0, max_shared_bytes = 0;
  std::string mig_profile;
  bool emulation = false;  // the times are emulated and are never compared with times of a GPU

  static constexpr auto fields() {
    using R = GpuRecord;
    return std::tuple(Field{"model", &R::model}, Field{"arch", &R::arch},
                      Field{"sm_count", &R::sm_count},
                      Field{"l2_bytes", &R::l2_bytes, {.unit = "bytes"}},
                      Field{"memory_bytes", &R::memory_bytes, {.unit = "bytes"}},
                      Field{"max_shared_bytes", &R::max_shared_bytes, {.unit = "bytes"}},
                      Field{"mig_profile", &R::mig_profile}, Field{"emulation", &R::emulation});
  }
};

// Whether results of `a` count as results of `b`. All fields but the memory must be equal. Drivers
// report different sizes of the memory: up to 1 % between the branches of the driver, and about 6 %
// if ECC is switched on. So the sizes may differ by a tenth of the larger one. Two products of one
// name with different memories differ by more: 10 and 12 GB, 40 and 80 GB.
bool is_same_gpu(const GpuRecord& a, const GpuRecord& b);

// The place of the first of `gpus` that is the same as `gpu`; gpus.size() if there is none.
std::size_t find_same_gpu(std::span<const GpuRecord> gpus, const GpuRecord& gpu);

// The properties of a machine that may change between two sweeps on the same GPU.
struct EnvironmentRecord {
  std::string mgtune_version, compiler, driver;
  std::string system;  // "Debian GNU/Linux 12, Linux 6.1, x86_64"

  static constexpr auto fields() {
    using R = EnvironmentRecord;
    return std::tuple(Field{"mgtune_version", &R::mgtune_version}, Field{"compiler", &R::compiler},
                      Field{"driver", &R::driver}, Field{"system", &R::system});
  }
  auto operator<=>(const EnvironmentRecord&) const = default;  // NOLINT(modernize-use-nullptr)
};

}  // namespace mgtune
