// Variant: a design with one value for each of its parameters.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"
#include "family/operator.h"
#include "family/problem.h"

namespace mgtune {

struct Variant {
  int design = 0;                    // index into Operator::designs
  std::vector<std::int64_t> values;  // one per parameter of the design, in order

  bool operator==(const Variant&) const = default;
};

// "row THREADS_PER_ROW=128 ROWS_PER_BLOCK=1 VEC=8": the identity of a variant in the store and CLI.
std::string variant_text(const Operator& op, const Variant& variant);

// The inverse; invalid_argument for an unknown design or parameter, or a value not in its list.
Result<Variant> parse_variant(const Operator& op, std::string_view text);

// The slots of the variant's design scope: the binding's or problem's slots, device.*, and params.
// Lets of stage compile are evaluated as well.
struct DeviceLimits {
  std::int64_t compute_capability = 0;
  std::int64_t sm_count = 0;
  std::int64_t max_shared_bytes = 0;
  std::int64_t l2_bytes = 0;
};
Result<Slots> compile_slots(const Binding& binding, const Variant& variant, const DeviceLimits& device);

// Whether the requirements and all constraints of stage compile hold; false also where evaluating
// one fails (a division by zero prunes the point).
bool is_admissible(const Operator& op, const Variant& variant, const Slots& slots);

// Whether the remaining constraints hold once `slots` has the build.* and dim values.
bool serves(const Operator& op, const Variant& variant, const Slots& slots);

// The kernel of each launch as C++ writes it:
// "rmsnorm_forward<__nv_bfloat16, 4096, 128, 1, 8, false>"; identifiers as "LOAD::cp_async".
Result<std::vector<std::string>> kernel_names(const Operator& op, const Variant& variant,
                                              const Slots& slots);

// The ladder: the defaults of all designs whose requirements hold, in the file's order.
std::vector<Variant> default_ladder(const Operator& op);

}  // namespace mgtune
