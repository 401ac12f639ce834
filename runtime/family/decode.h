// The parts of decode_operator(), one file each. Each function reads one key of the operator file
// into an Operator whose earlier parts are decoded already. They are called in the order of this
// file. Internal to this folder.

#pragma once

#include <cstddef>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "family/operator.h"
#include "json/json_cursor.h"

namespace mgtune {

// The names of an operator file. Each name means one thing only, so that no reader has to ask
// which.
class NameTable {
 public:
  // Fails if the cursor's key is not a C identifier, or if something else already has this name.
  Status claim(const JsonCursor& named, std::string_view what);  // "a dim"

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

// An expression, or a plain integer or boolean in its place.
Result<Expression> decode_expression(const JsonCursor& cursor, const Scope& scope, ValueType type,
                                     Known known);
Result<std::vector<Expression>> decode_expressions(
    const JsonCursor& cursor, const Scope& scope, ValueType type, Known known,
    std::size_t fewest = 0, std::size_t most = std::numeric_limits<std::size_t>::max());

// Fails, naming the value, if `expression` needs a value that is not known then.
Status check_known(const JsonCursor& cursor, const Expression& expression, const Scope& scope,
                   Known known);

// A dtype that is written out, or the name of a dtype variable.
Result<DTypeRef> decode_dtype(const JsonCursor& cursor, const Operator& op);

// A path of a file in the family's folder that ends in ".cu".
Result<std::string> decode_source_path(const JsonCursor& cursor);

Status decode_names(const JsonCursor& root, Operator& op, NameTable& names);
Status decode_tensors(const JsonCursor& tensors, Operator& op);
Status decode_cost(const JsonCursor& cost, Operator& op);
Status decode_check(const JsonCursor& check, Operator& op);
Result<Design> decode_design(const JsonCursor& cursor, const Operator& op, NameTable names);
Result<Parameter> decode_parameter(const JsonCursor& cursor, Scope& scope);
Status decode_defaults(const JsonCursor& defaults, Design& design);
Result<Launch> decode_launch(const JsonCursor& cursor, const Operator& op, const Design& design,
                             NameTable names);
Result<KernelTemplate> decode_kernel(const JsonCursor& cursor, const Design& design);
Status decode_problems(const JsonCursor& problems, Operator& op);

}  // namespace mgtune
