// Picks: the tuned rows of one operator, decoded once, and found by the values that a plan fixes:
// the GPU, the dtypes, the flags and the static dims. So a plan looks only at the rows that may
// serve it, however many others there are. Copyable; const methods may run concurrently.

#pragma once

#include <cstddef>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "database/gpu_record.h"
#include "family/problem.h"
#include "family/variant.h"

namespace mgtune {

// A plan considers at most so many picks: those nearest to the middle of its ranges. More could not
// change much, because a plan has at most 4 of their variants and DispatchTable::kMaxRows rows. So
// making a plan takes the same time however many problems were tuned.
inline constexpr std::size_t kMaxPicks = 64;

// A tuned row decoded against its operator.
struct TunedEntry {
  Problem problem;
  Variant variant;
  GpuRecord gpu;
  double median_ns = 0;
  std::string build_sha256 = {};  // of the build that was measured
  bool emulation() const { return gpu.emulation; }
};

class Picks {
 public:
  Picks() = default;
  // NOLINTBEGIN(google-explicit-constructor): rows are picks
  Picks(std::vector<TunedEntry> entries) { add(std::move(entries)); }
  Picks(std::initializer_list<TunedEntry> entries) : Picks(std::vector(entries)) {}
  // NOLINTEND(google-explicit-constructor)

  // All must be of one operator. Pointers that usable() returned are then invalid.
  void add(std::vector<TunedEntry> more);

  std::span<const TunedEntry> all() const { return entries_; }

  // The rows that may serve problems of the binding on the GPU: rows of this GPU with the same
  // dtypes, flags and static dims. Rows with the same optional tensors come before the others.
  // Emulated results count on the cpu device alone.
  std::vector<const TunedEntry*> usable(const Binding& binding, const GpuRecord& gpu) const;

 private:
  struct Kind {
    std::size_t gpu;  // a place in gpus_
    Slots fixed;      // dtypes, flags and static dims
    bool operator<(const Kind& other) const {
      return std::tie(gpu, fixed) < std::tie(other.gpu, other.fixed);
    }
  };

  std::vector<TunedEntry> entries_;
  std::vector<GpuRecord> gpus_;
  std::map<Kind, std::vector<std::size_t>> places_;  // in entries_
};

// Whether two bindings or problems of an operator have the same dtypes and flags.
bool same_dtypes_and_flags(const Operator& op, const Slots& a, const Slots& b);

// Whether two problems of an operator have the same optional tensors.
bool same_presence(const Operator& op, const Slots& a, const Slots& b);

}  // namespace mgtune
