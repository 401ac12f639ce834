// The parts of decode_operator(), one file each. Each function reads one key of the operator file
// into an Operator whose earlier parts are decoded already. They are called in the order of this
// file. Functions with a parameter `mistakes` add what is wrong to it, and go on. Internal to this
// folder.

#pragma once

#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "family/mistakes.h"
#include "family/operator.h"
#include "json/json_cursor.h"

namespace mgtune {

// The names of an operator file. Each name has only one meaning, so no reader has to ask which one
// is meant.
class NameTable {
 public:
  // Fails if the cursor's key is not a C identifier, or if something else already has this name.
  // `kind` is what the name means: "a dim".
  Status claim(const JsonCursor& named, std::string_view kind);

 private:
  std::map<std::string, std::string, std::less<>> taken_;
};

// The latest stage at which a value may be known, and whether it may differ between devices.
enum class Known : std::uint8_t {
  binding,        // static dims, dtypes, flags, has(...)
  problem,        // dynamic and hint dims as well
  compiling,      // in a design: also params and device.*, but no dynamic or hint dim
  before_launch,  // in a design: everything
};

struct ExpressionRule {
  const Scope& scope;  // the names that it may use
  ValueType type;
  Known known;
};

// An expression, or a plain integer or boolean in its place.
Result<Expression> decode_expression(const JsonCursor& cursor, const ExpressionRule& rule);

// Reads the member `key` of an object into `out`, an Expression or an optional one. If the object
// does not have the key, `out` keeps its value.
template <typename Out>
Status read_expression(const JsonCursor& object, std::string_view key, const ExpressionRule& rule,
                       Out& out) {
  if (const auto member = object.find(key)) {
    MGTUNE_ASSIGN(out, decode_expression(*member, rule));
  }
  return {};
}
// The same for a list, which has at least `min` and at most `max` expressions.
Status read_expressions(const JsonCursor& object, std::string_view key, const ExpressionRule& rule,
                        std::vector<Expression>& out, std::size_t min = 0,
                        std::size_t max = std::numeric_limits<std::size_t>::max());

// The same, but each entry is judged by itself.
void collect_expressions(const JsonCursor& object, std::string_view key, const ExpressionRule& rule,
                         std::vector<Expression>& out, Mistakes& mistakes);

// Fails, naming the value, if `expression` needs a value that is not known at the stage `known`.
Status check_known(const JsonCursor& cursor, const Expression& expression, const Scope& scope,
                   Known known);

// A dtype that is written out, or the name of a dtype variable.
Result<DTypeRef> decode_dtype(const JsonCursor& cursor, const Operator& op);
std::vector<DType> possible_dtypes(const Tensor& tensor, const Operator& op);

// The index of the tensor `name`.
Result<int> find_tensor(const JsonCursor& cursor, const Operator& op, const std::string& name);

// A path of a file in the family's folder that ends in ".cu".
Result<std::string> decode_source_path(const JsonCursor& cursor);

// Fails if a path leads out of the family's folder.
Status check_inside_family(const JsonCursor& cursor, std::string_view path);

// "image.npy" or {"file": "weights.safetensors", "tensor": "filter"}.
Result<ArraySource> decode_array_source(const JsonCursor& cursor);

void decode_names(const JsonCursor& root, Operator& op, NameTable& names, Mistakes& mistakes);
// A tensor with a mistake is in the operator too, so that designs can name it.
void decode_tensors(const JsonCursor& tensors, Operator& op, Mistakes& mistakes);
Design decode_design(const JsonCursor& cursor, const Operator& op, NameTable names,
                     Mistakes& mistakes);
Status decode_defines(const JsonCursor& defines, Design& design);
Status decode_options(const JsonCursor& options, Design& design);
Launch decode_launch(const JsonCursor& cursor, const Operator& op, const Design& design,
                     NameTable names, Mistakes& mistakes);
// The canonical JSON of the parts of a design that determine how a build is launched. It has the
// lets that launches, workspace, constants and alignments need, and no others. So results stay
// valid if only the estimate or a constraint changes.
std::string launch_text(const JsonCursor& design);
void decode_metrics(const JsonCursor& metrics, Operator& op, Mistakes& mistakes);
Status decode_problems(const JsonCursor& problems, Operator& op);

}  // namespace mgtune
