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

// The inverse of variant_text(). invalid_argument for an unknown design or parameter, or a value
// that is not in its list.
Result<Variant> parse_variant(const Operator& op, std::string_view text);

// Whether the text is a variant that another version of the operator wrote. The text counts as one
// if it has only words (letters, digits, "_.=-:+*<>&", spaces) and names an unknown design, or too
// many or too few parameters, whatever their values. If only a value is unknown, it does not count.
bool is_of_another_version(const Operator& op, std::string_view text);

struct DeviceLimits {
  std::int64_t compute_capability = 0;
  std::int64_t sm_count = 0;
  std::int64_t max_shared_bytes = 0;
  std::int64_t l2_bytes = 0;
};

// Writes the slots of device.*.
void set_device_slots(const DeviceLimits& device, Slots& slots);

// The slots of the variant's design scope. The binding, device.* and the parameters are filled in,
// and the lets of stage compile are evaluated. Everything later is 0. invalid_argument if such a
// let fails (a division by zero); the variant is then not admissible.
//
// The code that loads the build writes kSlotBuild*. The code that launches writes the dynamic and
// hint dims. Each then calls evaluate_lets() for its stage.
Result<Slots> compile_slots(const Binding& binding, const Variant& variant,
                            const DeviceLimits& device);

// Evaluates the design's lets of the stages after compile, up to and including `up_to`, into their
// slots. The values that they read must be there. Allocates only if a let fails.
Status evaluate_lets(const Design& design, Stage up_to, std::span<std::int64_t> slots);

// Whether the requirements and all constraints of stage compile are true. Also false if evaluating
// one fails (a division by zero excludes the point).
bool is_admissible(const Operator& op, const Variant& variant, const Slots& slots);

// Whether the remaining constraints are true when `slots` has the build.* and dim values. Evaluates
// the lets of the later stages itself, in a copy. Also false if one fails.
bool serves(const Operator& op, const Variant& variant, const Slots& slots);

// The kernel of each launch as C++ writes it: "rmsnorm_forward<__nv_bfloat16, 4096, 128, 1, 8,
// false>". Identifiers are written as "LOAD::cp_async", floating numbers as "0.5f". If the file
// names a kernel with its parameters, the text is "static_cast<void (&)(const float*, int)>(add)".
Result<std::vector<std::string>> kernel_names(const Operator& op, const Variant& variant,
                                              const Slots& slots);

// A macro with the text that replaces it.
struct MacroDefinition {
  std::string name, text;

  bool operator==(const MacroDefinition&) const = default;
};

// Which slots of the design's scope depend on build.*, directly or through lets; and whether an
// expression reads one of them.
std::vector<bool> slots_that_need_build(const Design& design);
bool needs_build(const Expression& expression, const std::vector<bool>& slots_that_need_build);

// The design's macros as the compiler gets them, in the file's order: an integer in decimal, a
// boolean as 1 or 0, a dtype as the C++ type ("__nv_bfloat16"), another identifier as it is.
Result<std::vector<MacroDefinition>> macro_definitions(const Operator& op, const Variant& variant,
                                                       const Slots& slots);

// The design's compile options as NVRTC takes them, in the file's order: "--use_fast_math",
// "--fmad=false", "--maxrregcount=64". invalid_argument for a number that no GPU has registers for.
Result<std::vector<std::string>> compile_options(const Operator& op, const Variant& variant,
                                                 const Slots& slots);

// The default ladder: the variants that the defaults of all designs give for the binding, in the
// file's order, each once. Variants whose condition (`when`) is false for the binding on the device
// come last. is_admissible() and serves() say which of them run there and serve a problem.
std::vector<Variant> default_ladder(const Binding& binding, const DeviceLimits& device);

}  // namespace mgtune
