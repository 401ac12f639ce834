// Variant: a design with one value for each of its parameters.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
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

// Whether the text is a variant that was written under another version of the operator: of words
// alone (letters, digits, "_.=-", spaces), with another design, or with parameters too many or too
// few, whatever their values. Not so where the parameters are the operator's and a value is one
// that it does not offer.
bool is_of_another_version(const Operator& op, std::string_view text);

struct DeviceLimits {
  std::int64_t compute_capability = 0;
  std::int64_t sm_count = 0;
  std::int64_t max_shared_bytes = 0;
  std::int64_t l2_bytes = 0;
};

// The slots of the variant's design scope: the binding's, device.* and params filled, the lets of
// stage compile evaluated, everything later 0. invalid_argument where such a let fails (a division
// by zero), which makes the variant inadmissible.
//
// Who fills the rest: whoever loads the build writes kSlotBuild*, whoever launches writes the
// dynamic and hint dims; each then calls evaluate_lets() for its stage.
Result<Slots> compile_slots(const Binding& binding, const Variant& variant,
                            const DeviceLimits& device);

// Evaluates the design's lets of the stages after compile, up to and including `up_to`, into their
// slots. The values they read must be there. Does not allocate unless a let fails.
Status evaluate_lets(const Design& design, Stage up_to, std::span<std::int64_t> slots);

// Whether the requirements and all constraints of stage compile hold; false also where evaluating
// one fails (a division by zero prunes the point).
bool is_admissible(const Operator& op, const Variant& variant, const Slots& slots);

// Whether the remaining constraints hold once `slots` has the build.* and dim values. Evaluates the
// lets of the later stages itself, in a copy; false also where one fails.
bool serves(const Operator& op, const Variant& variant, const Slots& slots);

// The kernel of each launch as C++ writes it:
// "rmsnorm_forward<__nv_bfloat16, 4096, 128, 1, 8, false>"; identifiers as "LOAD::cp_async".
Result<std::vector<std::string>> kernel_names(const Operator& op, const Variant& variant,
                                              const Slots& slots);

// The defaults of all designs, in the file's order.
std::vector<Variant> all_defaults(const Operator& op);

// The ladder: all defaults, those last whose condition (`when`) does not hold for the binding on
// the device. Which of them run there and serve a problem is for is_admissible() and serves() to
// say.
std::vector<Variant> default_ladder(const Binding& binding, const DeviceLimits& device);

}  // namespace mgtune
