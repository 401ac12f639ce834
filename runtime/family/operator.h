// Operator: the content of an operator file (kernels/<family>/<operator>.json), decoded and
// checked: every expression is parsed against its scope, and every name is resolved. Plain data.
// Immutable once decoded, so any number of threads may read it. kernels/README.md describes the
// format.

#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "core/status.h"
#include "expression/expression.h"
#include "expression/metric_formula.h"
#include "expression/scope.h"
#include "family/operator_text.h"
#include "family/source_tree.h"

namespace mgtune {

enum class DimKind : std::uint8_t {
  fixed,    // "static" in JSON: compiled in
  dynamic,  // passed on every launch
  hint,     // an upper bound of lengths in device memory; never changes the result
};

struct Dim {
  std::string name;
  DimKind kind;
  std::optional<Expression> fallback;  // "default": its value if a problem does not name it
  int slot;
};

struct DTypeVariable {
  std::string name;
  std::vector<DType> values;
  int slot;
  std::optional<int> default_slot;  // default: the dtype of the variable with this slot
};

struct Flag {
  std::string name;
  int slot;
};

struct Scalar {
  std::string name;
  DType dtype;
  double check_value = 1;  // "check": the value that checks and measurements pass
};

// A dtype that is written out (f32) or the value of a dtype variable (T).
struct DTypeRef {
  DType fixed = DType::f32;
  int slot = -1;  // of the variable; -1: `fixed`

  DType resolve(std::span<const std::int64_t> values) const {
    return slot < 0 ? fixed : static_cast<DType>(values[std::size_t(slot)]);
  }
};

enum class Role : std::uint8_t { in, out, inout };

// An array in a .npy or .safetensors file.
struct ArraySource {
  std::string path;   // below the family's folder
  std::string array;  // the name in a .safetensors file; otherwise empty
};

struct Fill {
  enum class Kind : std::uint8_t {
    none,                  // outputs: the check fills them with NaN
    normal,                // mean 0, deviation 1
    uniform,               // in [low, high)
    normal_poisoned_tail,  // normal within the lengths, NaN beyond them
    kernel,                // a fill kernel of reference.cu
    output,                // an output of another operator, computed by its reference
    file,                  // an array in a file
  };
  Kind kind = Kind::none;
  double low = 0, high = 1;
  std::string kernel;
  std::string source_operator, source_output;
  ArraySource file;
};

struct Tensor {
  std::string name;
  Role role;
  DTypeRef dtype;
  std::vector<Expression> shape;
  std::vector<Expression> strides;  // in elements; empty: contiguous, last dim fastest
  std::int64_t align = 0;           // in bytes, guaranteed by every caller; 0: the element's size
  bool optional = false;            // may be absent; then null at launch
  std::optional<Expression> when;   // absent if false
  Fill fill;
  int has_slot = -1;  // of has(name); -1 unless optional
};

enum class Measure : std::uint8_t {
  relative_l2,          // ||y - ref|| / ||ref|| per tensor, at most the dtype's tolerance
  twice_low_precision,  // max error at most twice that of `baseline`, plus the dtype's slack
};

struct Check {
  std::string source;     // file of the reference kernels
  std::string reference;  // name of the kernel template, see kernels/README.md for its signature
  std::map<std::string, ArraySource> files;  // instead of a kernel: the array of each output
  std::vector<std::string> command;          // instead of a kernel: a program and its arguments
  std::int64_t command_seconds = 60;         // after which the program is ended
  DType reference_type = DType::f64;         // in which its kernel writes outputs: f64 or f32
  Measure measure = Measure::relative_l2;
  std::map<DType, double> tolerance;
  std::string baseline;
  std::map<DType, double> slack;
  std::int64_t sample_rows = 0;  // how many rows to compare, spread evenly; 0: all
};

struct Parameter {
  std::string name;
  ValueType type;
  std::vector<std::int64_t> values;  // in the file's order
  int slot;
  bool is_real = false;  // of type symbol: its values are floating numbers
};

// A macro that the source is compiled with: {"BLOCK_SIZE_X": "BLOCK_SIZE_X", "N": "count"}.
struct Define {
  std::string macro;
  Expression value;  // of stage compile
};

// An option of the compiler: "--fmad=FMA".
struct CompileOption {
  enum class Kind : std::uint8_t {
    flag,     // "--use_fast_math": there or not
    boolean,  // "--fmad=false"
    number,   // "--maxrregcount=64"; 0: no limit, which leaves the option out
  };
  std::string name;  // "--fmad"
  Kind kind;
  Expression value;  // of stage compile
};

struct Let {
  std::string name;
  Expression value;
  int slot;
};

enum class Zero : std::uint8_t {
  never,
  once,         // the owner zeroes it; every launch leaves it zeroed
  each_launch,  // a memset on the stream, inside the measured time
};

// The most tensors that a design may keep in constant memory.
inline constexpr std::size_t kMaxConstants = 8;

// A tensor that every launch copies into a __constant__ variable: {"filter": "d_filter"}.
struct Constant {
  int tensor;
  std::string symbol;  // of the source
};

struct Workspace {
  std::string name;
  std::optional<Expression> when;
  DTypeRef dtype;
  std::vector<Expression> shape;
  Zero zero = Zero::never;
};

struct KernelTemplate {
  std::string name;
  std::vector<Expression> arguments;
  std::string parameters;  // "const float*, int": which one of several overloads; else empty
};

struct TensorMap {
  enum class Swizzle : std::uint8_t { none, bytes_32, bytes_64, bytes_128 };
  enum class L2 : std::uint8_t { none, bytes_64, bytes_128, bytes_256 };
  std::string name;
  int tensor;  // index into Operator::tensors
  std::vector<Expression> extent, stride, box;
  Swizzle swizzle = Swizzle::none;
  L2 l2 = L2::none;
};

struct Argument {
  enum class Kind : std::uint8_t { tensor, workspace, scalar, tensor_map, value };
  Kind kind;
  int index = -1;                   // into the tensors, workspace, scalars or tensor maps
  DType dtype = DType::i64;         // of a value or scalar
  std::optional<Expression> value;  // of kind value: "rows:i64"
};

inline constexpr std::size_t kMaxArguments = 64;  // of a launch

struct Launch {
  std::optional<Expression> when;
  KernelTemplate kernel;
  std::vector<Expression> grid, block, cluster;  // 1 to 3 each; cluster may be empty
  Expression shared = Expression::integer(0);    // bytes of dynamic shared memory
  Expression cooperative = Expression::boolean(false);
  Expression pdl = Expression::boolean(false);
  std::vector<TensorMap> tensor_maps;
  std::vector<Argument> args;
};

// The alignment that this design needs for a pointer: {"x": "VEC * sizeof(T)"}.
struct Alignment {
  int tensor;
  Expression bytes;
};

// The value of a parameter in a pattern of variants (family/variant_pattern.h).
struct PatternValue {
  std::int64_t value = 0;                // of the parameter's list, if there is no expression
  std::optional<Expression> expression;  // of stage compile; a number gets the nearest listed value
};

// The unit of a parameter: {"THREADS_PER_ROW": "hidden / VEC", "PDL": "device.cc >= 90"}. The rules
// of `mgtune fit` can have the unit, times or divided by a power of two, in place of a number. So
// they also fit problems of other sizes and dtypes. In place of `true` they have the unit of a
// boolean, so that they also fit GPUs where `true` is not possible.
struct Unit {
  std::size_t parameter;  // index into Design::params
  Expression value;       // as PatternValue::expression
};

// One entry of the default ladder: a value for each parameter, and the condition for using it.
struct Default {
  std::vector<PatternValue> values;  // one per parameter of the design, in order
  std::optional<Expression> when;    // of stage compile; absent: everywhere
};

// In place of a value of Design::estimate: there is none, or it cannot be computed.
inline constexpr std::int64_t kNoEstimate = std::numeric_limits<std::int64_t>::max();

struct Design {
  std::string name;
  std::string source;
  std::string arch;  // e.g. "sm_90a"; empty: the device's own
  std::vector<Parameter> params;
  std::vector<Expression> requirements;  // of the device
  std::vector<Expression> constraints;
  std::vector<Let> lets;
  // The expected time of the variant at a problem, in a unit that all designs of the operator
  // share. It orders the ladder and bounds searches; it needs no build.*. Absent: unknown.
  std::optional<Expression> estimate;
  std::vector<Define> defines;
  std::vector<CompileOption> options;
  std::vector<Constant> constants;
  std::vector<Alignment> alignments;
  std::vector<Workspace> workspace;
  std::vector<Launch> launches;
  std::vector<Default> defaults;  // the default ladder, best first
  std::vector<Unit> units;        // in the file's order; a unit may use those before it
  bool order_dependent = false;   // results may differ in the last bits between runs (atomics)
  Scope scope;                    // the operator's names, then params, then lets
  std::string launch_text;  // canonical JSON of all that affects a launch; part of launch_hash()
};

// A figure that tables show beside the time of each variant: {"GFLOP/s": "flops / ns"}.
struct Metric {
  std::string name;
  MetricFormula formula;  // of dims, flags, sizeof, has, parameters, bytes, flops and ns
};

// Values by name, not yet bound: "rows" -> "4096", "T" -> "bf16", "rstd" -> "true".
using ProblemValues = std::map<std::string, std::string>;

struct Operator {
  std::string family, name;  // "rmsnorm", "forward"
  std::string file;          // as in messages
  std::vector<Dim> dims;
  std::vector<DTypeVariable> dtypes;
  std::vector<Flag> flags;
  std::vector<Scalar> scalars;
  std::vector<Expression> constraints;
  std::vector<Tensor> tensors;
  Expression bytes = Expression::integer(0);  // the bytes that must move
  Expression flops = Expression::integer(0);
  Check check;
  std::vector<Design> designs;
  std::vector<Metric> metrics;
  // For a sweep on a GPU without --problem, and the same for the cpu device. If a problem has no
  // dtype, all dtypes are used in turn.
  std::vector<ProblemValues> problems, emulation_problems;
  // How problems are made from a model of configs/shapes: each value of a dim is an expression over
  // the fields of the model.
  std::vector<ProblemValues> model_problems;
  Scope scope;  // dims, dtypes, flags, has(...), device.*, build.*
  std::shared_ptr<const SourceTree> sources;
  std::shared_ptr<const OperatorText> text;  // what was decoded

  // "kernels/rmsnorm/forward.json: /dims/rows" for a JSON pointer: where a message says that a
  // value stands. The file is the operator's own or one that it extends.
  std::string place(const std::string& pointer) const;
  std::string full_name() const { return family + "." + name; }
};

// Decodes one operator file. Every failure is invalid_argument and reads
// "kernels/rmsnorm/forward.json: /designs/row/params/VEC/1: expected integer, got \"x\"".
Result<Operator> decode_operator(const std::string& family, const std::string& name,
                                 std::shared_ptr<const SourceTree> sources);

// The slots of the names that the scope of every operator declares, in this order, from slot 0.
enum DeviceSlot : int {
  kSlotDeviceCc,          // device.cc: 90 for sm_90
  kSlotDeviceSmCount,     // device.sm_count
  kSlotDeviceMaxShared,   // device.max_shared: bytes a block may have with opt-in
  kSlotDeviceL2Bytes,     // device.l2_bytes
  kSlotBuildBlocksPerSm,  // build.blocks_per_sm: of the design's first launch
  kSlotBuildMaxClusters,  // build.max_clusters: likewise, resident at once on the device
  kFirstOperatorSlot,
};

}  // namespace mgtune
