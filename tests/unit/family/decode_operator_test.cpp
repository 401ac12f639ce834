#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/helpers/operators/golden_operators.h"

namespace mgtune {
namespace {

std::vector<std::string> texts(const std::vector<Expression>& expressions) {
  std::vector<std::string> all;
  for (const Expression& expression : expressions) all.push_back(expression.text());
  return all;
}

TEST(DecodeOperatorTest, NamesDimsAndTensors) {
  const Operator op = golden_operator("rmsnorm.forward");
  EXPECT_EQ(op.full_name(), "rmsnorm.forward");
  EXPECT_EQ(op.file, "kernels/rmsnorm/forward.json");
  ASSERT_EQ(op.dims.size(), 3U);
  EXPECT_EQ(op.dims[0].kind, DimKind::dynamic);
  EXPECT_EQ(op.dims[1].kind, DimKind::fixed);
  EXPECT_EQ(op.dims[2].name, "x_stride");
  EXPECT_EQ(op.dims[2].fallback->text(), "hidden");
  ASSERT_EQ(op.dtypes.size(), 1U);
  EXPECT_EQ(op.dtypes[0].values, (std::vector<DType>{DType::f32, DType::f16, DType::bf16}));
  ASSERT_EQ(op.tensors.size(), 4U);
  EXPECT_EQ(op.tensors[0].role, Role::in);
  EXPECT_EQ(op.tensors[0].fill.kind, Fill::Kind::normal);
  EXPECT_EQ(texts(op.tensors[0].strides), (std::vector<std::string>{"x_stride", "1"}));
  EXPECT_EQ(op.tensors[2].fill.kind, Fill::Kind::none);
  EXPECT_EQ(op.tensors[3].dtype.slot, -1);
  EXPECT_EQ(op.tensors[3].dtype.fixed, DType::f32);
  EXPECT_TRUE(op.tensors[3].optional);
  EXPECT_EQ(op.scope.find("has(rstd)")->slot, op.tensors[3].has_slot);
  EXPECT_EQ(op.scope.find("device.cc")->slot, kSlotDeviceCc);
  EXPECT_EQ(op.scope.find("device.l2_bytes")->slot, kSlotDeviceL2Bytes);
  EXPECT_EQ(op.scope.find("build.max_clusters")->slot, kSlotBuildMaxClusters);
}

TEST(DecodeOperatorTest, CheckAndScalars) {
  const Operator op = golden_operator("rmsnorm.forward");
  EXPECT_EQ(op.check.source, "reference.cu");
  EXPECT_EQ(op.check.reference, "rmsnorm_forward_reference");
  EXPECT_EQ(op.check.measure, Measure::relative_l2);
  EXPECT_DOUBLE_EQ(op.check.tolerance.at(DType::bf16), 8e-3);
  ASSERT_EQ(op.scalars.size(), 1U);
  EXPECT_EQ(op.scalars[0].dtype, DType::f32);
  EXPECT_EQ(op.scalars[0].check_value, 1);

  const Result<Operator> with_value = decode_replaced(
      "rmsnorm.forward", R"("eps": "f32")", R"("eps": { "dtype": "f32", "check": 1e-5 })");
  ASSERT_TRUE(with_value.ok()) << with_value.status().message();
  EXPECT_EQ(with_value->scalars[0].check_value, 1e-5);

  const Operator decode = golden_operator("attention.decode");
  EXPECT_EQ(decode.check.source, "reference.cu");
  EXPECT_EQ(decode.check.reference, "attention_decode_reference");
  EXPECT_EQ(decode.check.measure, Measure::twice_low_precision);
  EXPECT_EQ(decode.check.baseline, "attention_low_precision");
  EXPECT_DOUBLE_EQ(decode.check.slack.at(DType::f16), 1e-5);
  EXPECT_EQ(golden_operator("swiglu.gate_up").check.sample_rows, 512);
}

TEST(DecodeOperatorTest, Fills) {
  const Operator decode = golden_operator("attention.decode");
  EXPECT_EQ(decode.tensors[1].fill.kind, Fill::Kind::normal_poisoned_tail);
  EXPECT_EQ(decode.tensors[3].fill.kind, Fill::Kind::kernel);
  EXPECT_EQ(decode.tensors[3].fill.kernel, "fill_kv_lens");
  EXPECT_EQ(decode.tensors[4].when->text(), "paged");
  const Operator backward = golden_operator("rmsnorm.backward");
  EXPECT_EQ(backward.tensors[3].fill.kind, Fill::Kind::output);
  EXPECT_EQ(backward.tensors[3].fill.source_operator, "rmsnorm.forward");
  EXPECT_EQ(backward.tensors[3].fill.source_output, "rstd");
  const Result<Operator> uniform = decode_replaced("rmsnorm.forward", R"("fill": "normal")",
                                                   R"j("fill": "uniform( -1.5, 2e1 )")j");
  ASSERT_TRUE(uniform.ok()) << uniform.status().message();
  EXPECT_EQ(uniform->tensors[0].fill.kind, Fill::Kind::uniform);
  EXPECT_EQ(uniform->tensors[0].fill.low, -1.5);
  EXPECT_EQ(uniform->tensors[0].fill.high, 20);
}

TEST(DecodeOperatorTest, LetsTakeTheStageOfWhatTheyName) {
  const Operator op = golden_operator("rmsnorm.backward");
  const Design& design = op.designs[0];
  const auto stage = [&design](const char* name) { return design.scope.find(name)->stage; };
  EXPECT_EQ(stage("shared"), Stage::compile);
  EXPECT_EQ(stage("resident"), Stage::load);
  EXPECT_EQ(stage("groups"), Stage::launch);
  EXPECT_EQ(design.constraints[5].stage(), Stage::launch);
  EXPECT_EQ(op.scope.find("threads"), nullptr);  // a design's names stay its own
  EXPECT_EQ(op.designs[1].scope.find("groups"), nullptr);
}

TEST(DecodeOperatorTest, LaunchesAndWorkspace) {
  const Operator op = golden_operator("attention.decode");
  const Design& design = op.designs[0];
  ASSERT_EQ(design.workspace.size(), 3U);
  EXPECT_EQ(design.workspace[0].zero, Zero::never);
  EXPECT_EQ(design.workspace[2].zero, Zero::once);
  EXPECT_EQ(design.workspace[2].when->text(), "COMBINE == last_block");
  ASSERT_EQ(design.launches.size(), 2U);
  const Launch& first = design.launches[0];
  EXPECT_EQ(first.kernel.name, "attention_decode");
  EXPECT_EQ(first.kernel.arguments.size(), 11U);
  EXPECT_EQ(first.kernel.arguments[10].text(), "COMBINE == last_block");
  EXPECT_EQ(first.args[0].kind, Argument::Kind::tensor);
  EXPECT_EQ(first.args[7].kind, Argument::Kind::workspace);
  EXPECT_EQ(first.args[10].kind, Argument::Kind::scalar);
  EXPECT_EQ(first.args[10].dtype, DType::f32);
  EXPECT_EQ(first.args[11].kind, Argument::Kind::value);
  EXPECT_EQ(first.args[11].dtype, DType::i32);
  EXPECT_EQ(first.args[11].value->text(), "q_len");
  EXPECT_EQ(design.launches[1].pdl.text(), "COMBINE == kernel_pdl");
  EXPECT_EQ(design.launches[1].when->stage(), Stage::launch);
  EXPECT_EQ(design.defaults.size(), 1U);
}

TEST(DecodeOperatorTest, TensorMaps) {
  const Operator op = golden_operator("attention.prefill");
  const Launch& launch = op.designs[0].launches[0];
  EXPECT_EQ(op.designs[0].arch, "sm_90a");
  ASSERT_EQ(launch.tensor_maps.size(), 4U);
  const TensorMap& map = launch.tensor_maps[1];
  EXPECT_EQ(op.tensors[static_cast<std::size_t>(map.tensor)].name, "k");
  EXPECT_EQ(texts(map.stride), (std::vector<std::string>{"k_ss", "64", "k_sh", "k_sb"}));
  EXPECT_EQ(map.box[1].text(), "BN / CLUSTER_M");
  EXPECT_EQ(map.swizzle, TensorMap::Swizzle::bytes_128);
  EXPECT_EQ(map.l2, TensorMap::L2::none);
  EXPECT_EQ(launch.args[1].kind, Argument::Kind::tensor_map);
  EXPECT_EQ(launch.args[1].index, 1);
  EXPECT_EQ(texts(launch.cluster), (std::vector<std::string>{"CLUSTER_M"}));
}

TEST(DecodeOperatorTest, NumbersStandInPlaceOfExpressions) {
  const Result<Operator> op =
      decode_replaced("rmsnorm.forward", R"j("grid": ["ceil_div(rows, ROWS_PER_BLOCK)"])j",
                      R"("pdl": true, "shared": 1024, "cluster": [2], "grid": ["rows", 3])");
  ASSERT_TRUE(op.ok()) << op.status().message();
  const Launch& launch = op->designs[0].launches[0];
  EXPECT_EQ(*launch.shared.evaluate({}), 1024);
  EXPECT_EQ(*launch.pdl.evaluate({}), 1);
  EXPECT_EQ(*launch.grid[1].evaluate({}), 3);
  EXPECT_EQ(*launch.cluster[0].evaluate({}), 2);
}

TEST(DecodeOperatorTest, ProblemsOfSweeps) {
  const std::string problems = R"("format": 1, "problems": {
    "default": [{ "rows": 4096, "hidden": 4096 }, { "rows": 1, "hidden": 64, "T": "f32" }],
    "emulation": [{ "rows": 16, "hidden": 256, "rstd": true }],
    "model": [{ "rows": "tokens", "hidden": "hidden_size", "T": "bf16" }] })";
  const Result<Operator> op = decode_replaced("rmsnorm.forward", R"("format": 1)", problems);
  ASSERT_TRUE(op.ok()) << op.status().message();
  ASSERT_EQ(op->problems.size(), 2U);
  EXPECT_EQ(op->problems[0].at("rows"), "4096");
  EXPECT_EQ(op->problems[1].at("T"), "f32");
  EXPECT_EQ(op->emulation_problems[0].at("rstd"), "true");
  EXPECT_EQ(op->model_problems[0].at("hidden"), "hidden_size");
}

struct Mutation {
  const char* name;
  const char* from;  // in rmsnorm.forward.json
  const char* to;
  const char* message;  // behind "kernels/rmsnorm/forward.json: "
};

void PrintTo(const Mutation& mutation, std::ostream* out) { *out << mutation.name; }

class MalformedOperatorTest : public testing::TestWithParam<Mutation> {};

TEST_P(MalformedOperatorTest, SaysWhatAndWhere) {
  const Status status = decode_replaced("rmsnorm.forward", GetParam().from, GetParam().to).status();
  EXPECT_EQ(status.code(), StatusCode::invalid_argument);
  EXPECT_EQ(status.message(), std::string("kernels/rmsnorm/forward.json: ") + GetParam().message);
}

const Mutation kMutations[] = {
    {"DuplicateKey", R"("scalars": {)", R"("dims": {}, "scalars": {)", "duplicate key 'dims'"},
    {"DuplicateParameter", R"("VEC": [1, 2, 4, 8])", R"("VEC": [1], "VEC": [2])",
     "/designs/row/params: duplicate key 'VEC'"},
    {"HugeInteger", "[8, 16, 32", "[8, 99999999999999999999",
     "/designs/row/params/THREADS_PER_ROW/1: the number 99999999999999999999 does not fit into 64 "
     "bits"},
    {"HugeUnsigned", "[8, 16, 32", "[8, 9223372036854775808",
     "/designs/row/params/THREADS_PER_ROW/1: the number 9223372036854775808 does not fit into 64 "
     "bits"},
    {"WrongFormat", R"("format": 1)", R"("format": 2)",
     "/format: format 2; this mgtune reads format 1"},
    {"FormatAsText", R"("format": 1)", R"("format": "1")", R"(/format: expected integer, got "1")"},
    {"MissingKey", R"("cost")", R"("scalar")", "unknown key 'scalar'; did you mean 'scalars'?"},
    {"MissingFormat", R"("format": 1,)", "", "missing key 'format'"},
    {"UnknownKeyOfDesign", R"("params")", R"("parms")",
     "/designs/row: unknown key 'parms'; did you mean 'params'?"},
    {"UnknownKeyOfLaunch", R"("grid")", R"("gird")",
     "/designs/row/launches/0: unknown key 'gird'; did you mean 'grid'?"},
    {"MissingSource", R"("source": "forward.cu",)", "", "/designs/row: missing key 'source'"},
    {"WordAmongIntegers", R"("VEC": [1, 2)", R"("VEC": [1, "x")",
     R"(/designs/row/params/VEC/1: expected integer, got "x")"},
    {"IntegerAmongWords", R"("VEC": [1, 2)", R"("VEC": ["x", 2)",
     "/designs/row/params/VEC/1: expected a C identifier, got 2"},
    {"BooleanAmongIntegers", R"("VEC": [1, 2)", R"("VEC": [1, true)",
     "/designs/row/params/VEC/1: expected integer, got true"},
    {"FractionalParameter", R"("VEC": [1, 2)", R"("VEC": [1, 2.5)",
     "/designs/row/params/VEC/1: expected integer, got 2.5"},
    {"EmptyParameter", R"("VEC": [1, 2, 4, 8])", R"("VEC": [])",
     "/designs/row/params/VEC: an empty list of values"},
    {"RepeatedValue", R"("VEC": [1, 2, 4, 8])", R"("VEC": [1, 2, 4, 2])",
     "/designs/row/params/VEC/3: 2 stands here twice"},
    {"NotAValue", R"("VEC": [1, 2, 4, 8])", R"("VEC": ["a b"])",
     "/designs/row/params/VEC/0: 'a b' cannot be a value: a string has 1 to 64 letters, digits and "
     "_.:+-*<>&, and is no number"},

    {"NumberAsText", R"("VEC": [1, 2, 4, 8])", R"("VEC": ["1", "2"])",
     "/designs/row/params/VEC/0: '1' cannot be a value: a string has 1 to 64 letters, digits and "
     "_.:+-*<>&, and is no number"},
    {"DTypesAmongIdentifiers", R"("VEC": [1, 2, 4, 8])", R"("VEC": ["f32", "wide"])",
     "/designs/row/params/VEC: either all values are dtypes or none is"},
    {"ParameterNameNotAnIdentifier", R"("VEC": [1, 2, 4, 8])", R"("2VEC": [1])",
     "/designs/row/params/2VEC: the name '2VEC' is not a C identifier"},
    {"ParameterNamedAsADim", R"("VEC": [1, 2, 4, 8])", R"("rows": [1])",
     "/designs/row/params/rows: 'rows' is already a dim"},
    {"ReservedWord", R"("VEC": [1, 2, 4, 8])", R"("max": [1])",
     "/designs/row/params/max: 'max' is a word of the expression language"},
    {"NameTakenTwice", R"("eps": "f32")", R"("x": "f32")", "/tensors/x: 'x' is already a scalar"},
    {"UnknownDimKind", R"("rows": "dynamic")", R"("rows": "dynmic")",
     R"(/dims/rows: expected one of static, dynamic, hint, got "dynmic")"},
    {"DimDefaultNamesALaterDim", R"("rows": "dynamic")",
     R"("rows": { "kind": "dynamic", "default": "2 * hidden" })",
     "/dims/rows/default: the dim 'hidden' is declared further down\n  2 * hidden\n      ^~~~~~"},
    {"StaticDefaultNamesADynamicDim", R"("hidden": "static")",
     R"("hidden": { "kind": "static", "default": "rows" })",
     "/dims/hidden/default: 'rows' is known only at launch; this is fixed before compiling"},
    {"UnknownDType", R"("f16", "bf16"])", R"("f16", "f17"])",
     "/dtypes/T/2: expected a dtype (f64 f32 f16 bf16 i64 u64 i32 u32 i8 u8), got \"f17\""},
    {"DefaultOfNoDType", R"("T": ["f32", "f16", "bf16"])",
     R"("T": {"values": ["f32"], "default": "U"})",
     "/dtypes/T/default: 'U' is no dtype variable declared before this one"},
    {"UnknownTensorDType", R"("role": "out", "dtype": "T")", R"("role": "out", "dtype": "U")",
     "/tensors/y/dtype: 'U' is neither a dtype nor a name of /dtypes; did you mean 'T'?"},
    {"MissingFill", R"("shape": ["hidden"], "fill": "normal")", R"("shape": ["hidden"])",
     "/tensors/weight: missing key 'fill'"},
    {"OutputWithFill", R"("shape": ["rows"], "optional")",
     R"("shape": ["rows"], "fill": "normal", "optional")",
     "/tensors/rstd/fill: an output takes no fill: the check poisons it"},
    {"UnknownFill", R"("fill": "normal")", R"j("fill": "uniform(2, 1)")j",
     "/tensors/x/fill: expected normal, normal_poisoned_tail, uniform(low, high), {\"kernel\": "
     "...}, {\"file\": ...} or {\"op\": ..., \"output\": ...}, got \"uniform(2, 1)\""},
    {"MacroIsNoIdentifier", R"("params": {)", R"("defines": {"A-B": 1}, "params": {)",
     "/designs/row/defines/A-B: a macro cannot be called 'A-B': it is not a C identifier"},
    {"MacroOfTheCompiler", R"("params": {)", R"("defines": {"_Big": 1}, "params": {)",
     "/designs/row/defines/_Big: a macro cannot be called '_Big': names with '__', and with '_' "
     "before a capital, belong to the compiler"},
    {"MacroOfTheLanguage", R"("params": {)", R"("defines": {"float": 1}, "params": {)",
     "/designs/row/defines/float: a macro cannot be called 'float': it is a word of C++"},
    {"MacroOfTheHeaders", R"("params": {)", R"("defines": {"MG_SHARED": 1}, "params": {)",
     "/designs/row/defines/MG_SHARED: a macro cannot be called 'MG_SHARED': CUDA's headers or "
     "mgtune's use this name"},
    {"MacroOfADynamicDim", R"("params": {)", R"("defines": {"N": "rows"}, "params": {)",
     "/designs/row/defines/N: 'rows' is known only at launch; this is fixed before compiling"},
    {"OptionThatIsNotAllowed", R"("params": {)", R"("options": ["--fmadd=true"], "params": {)",
     "/designs/row/options/0: '--fmadd' is not an option that a design may have: "
     "--extra-device-vectorization --fmad --ftz --generate-line-info --maxrregcount --prec-div "
     "--prec-sqrt --restrict --use_fast_math; did you mean '--fmad'?"},
    {"OptionWithoutValue", R"("params": {)", R"("options": ["-maxrregcount"], "params": {)",
     "/designs/row/options/0: '--maxrregcount' needs a value, such as --maxrregcount=64"},
    {"OptionWithWrongValue", R"("params": {)", R"("options": ["--fmad=3"], "params": {)",
     "/designs/row/options/0: expected boolean, got integer\n  3\n  ^"},
    {"OptionTwice", R"("params": {)", R"("options": ["-lineinfo", "--lineinfo"], "params": {)",
     "/designs/row/options/1: the option --generate-line-info stands here twice"},
    {"ConstantOfNoTensor", R"("params": {)", R"("constants": {"weigth": "d"}, "params": {)",
     "/designs/row/constants/weigth: 'weigth' is not a tensor; did you mean 'weight'?"},
    {"ConstantOutput", R"("params": {)", R"("constants": {"y": "d"}, "params": {)",
     "/designs/row/constants/y: 'y' cannot be in constant memory: only a tensor with the role in "
     "and without strides is copied there"},
    {"ConstantWithStrides", R"("params": {)", R"("constants": {"x": "d"}, "params": {)",
     "/designs/row/constants/x: 'x' cannot be in constant memory: only a tensor with the role in "
     "and without strides is copied there"},
    {"ConstantWithoutCppName", R"("params": {)", R"("constants": {"weight": "a::"}, "params": {)",
     "/designs/row/constants/weight: 'a::' is not the C++ name of a __constant__ variable"},
    {"FillOfNoArrayFile", R"("fill": "normal")", R"("fill": {"file": "image.png"})",
     "/tensors/x/fill/file: 'image.png' is not the name of a .npy or .safetensors file"},
    {"FillOutsideOfTheFamily", R"("fill": "normal")", R"("fill": {"file": "../image.npy"})",
     "/tensors/x/fill/file: '../image.npy' does not stay inside the family's folder"},
    {"FillWithoutItsTensor", R"("fill": "normal")", R"("fill": {"file": "a.safetensors"})",
     "/tensors/x/fill: 'tensor' has to say which tensor of the .safetensors file"},
    {"ReferenceFileOfAnInput", R"("reference": "rmsnorm_forward_reference")",
     R"("reference": {"files": {"x": "x.npy"}})", "/check/reference/files/x: 'x' is not an output"},
    {"ReferenceFileMissing", R"("reference": "rmsnorm_forward_reference")",
     R"("reference": {"files": {"y": "y.npy"}})",
     "/check/reference/files: missing key 'rstd': each output needs a file"},
    {"ReferenceCommandEmpty", R"("reference": "rmsnorm_forward_reference")",
     R"("reference": {"command": []})", "/check/reference/command: an empty list names no program"},
    {"ReferenceCommandForEver", R"("reference": "rmsnorm_forward_reference")",
     R"("reference": {"command": ["python3", "a.py"], "seconds": 0})",
     "/check/reference/seconds: expected 1 to 3600 seconds"},
    {"KernelWithOpenParameters", R"("kernel": "rmsnorm_forward<)",
     R"("kernel": "rmsnorm_forward(const float*, <)",
     "/designs/row/launches/0/kernel: 'rmsnorm_forward(const float*, <T, hidden, THREADS_PER_ROW, "
     "ROWS_PER_BLOCK, VEC, has(rstd)>' does not end with ')'"},
    {"StridesOfOtherRank", R"(["x_stride", "1"])", R"(["1"])",
     "/tensors/x/strides: expected 2 entries, got 1"},
    {"ShapeOnTheDevice", R"("shape": ["rows"])", R"("shape": ["device.sm_count"])",
     "/tensors/rstd/shape/0: 'device.sm_count' belongs to a device; this is the same on every "
     "device"},
    {"UnknownName", "hidden % VEC", "hiden % VEC",
     "/designs/row/constraints/0: unknown name 'hiden'; did you mean 'hidden'?\n  hiden % VEC == "
     "0\n  ^~~~~"},
    {"TensorInExpression", "hidden % VEC", "x % VEC",
     "/designs/row/constraints/0: 'x' is a tensor; an expression can only ask has(x) of an "
     "optional one\n  x % VEC == 0\n  ^"},
    {"HasOfWhatIsThere", "hidden % VEC == 0", "has(y)",
     "/designs/row/constraints/0: 'y' is not optional, so has(y) says nothing\n  has(y)\n      ^"},
    {"ConstraintNotBoolean", "hidden % VEC == 0", "hidden % VEC",
     "/designs/row/constraints/0: expected boolean, got integer\n  hidden % VEC\n  ^~~~~~~~~~~~"},
    {"LetUsedBeforeItsLine", R"("source": "forward.cu")",
     R"("source": "forward.cu", "let": { "a": "b + 1", "b": "VEC" })",
     "/designs/row/let/a: 'b' is defined further down; a let may use only those before it\n  b + "
     "1\n  ^"},
    {"ParentFolder", R"("forward.cu")", R"("../forward.cu")",
     "/designs/row/source: '../forward.cu' does not stay inside the family's folder"},
    {"AbsolutePath", R"("forward.cu")", R"("/tmp/forward.cu")",
     "/designs/row/source: '/tmp/forward.cu' does not stay inside the family's folder"},
    {"ReferenceOutside", R"("rmsnorm_forward_reference")", R"("a/../../x.cu")",
     "/check/reference: 'a/../../x.cu' does not stay inside the family's folder"},
    {"ToleranceMissing", R"("tolerance": { "f32": 2e-06, )", R"("tolerance": { )",
     "/check/tolerance: missing key 'f32', which 'y' may be"},
    {"KernelNotAnIdentifier", "rmsnorm_forward<T", "rmsnorm-forward<T",
     "/designs/row/launches/0/kernel: 'rmsnorm-forward<T, hidden, THREADS_PER_ROW, "
     "ROWS_PER_BLOCK, VEC, has(rstd)>' does not start with a C identifier, the kernel's name"},
    {"KernelNotClosed", "has(rstd)>", "has(rstd)",
     "/designs/row/launches/0/kernel: 'rmsnorm_forward<T, hidden, THREADS_PER_ROW, "
     "ROWS_PER_BLOCK, VEC, has(rstd)' does not end with '>'"},
    {"LateKernelArgument", "rmsnorm_forward<T, hidden", "rmsnorm_forward<T, rows",
     "/designs/row/launches/0/kernel: 'rows' is known only at launch; this is fixed before "
     "compiling"},
    {"LateBlock", R"("block": ["THREADS_PER_ROW * ROWS_PER_BLOCK"])", R"("block": ["rows"])",
     "/designs/row/launches/0/block/0: 'rows' is known only at launch; this is fixed before "
     "compiling"},
    {"RequirementOfADim", R"("source": "forward.cu")",
     R"("source": "forward.cu", "requires": ["build.blocks_per_sm > 1"])",
     "/designs/row/requires/0: 'build.blocks_per_sm' is known only after loading; this is fixed "
     "before compiling"},
    {"FourDimensionalGrid", R"j("grid": ["ceil_div(rows, ROWS_PER_BLOCK)"])j",
     R"("grid": [1, 1, 1, 1])", "/designs/row/launches/0/grid: expected 1 to 3 entries, got 4"},
    {"BareValue", "rows:i64", "rows",
     "/designs/row/launches/0/args/4: 'rows' has no C type; write \"rows:i64\" (or i32, u32, f32, "
     "...)"},
    {"UnknownArgument", R"("weight", "y")", R"("weigth", "y")",
     "/designs/row/launches/0/args/1: 'weigth' is not a tensor, workspace, tensor map or scalar (a "
     "value is written \"expression:i64\"); did you mean 'weight'?"},
    {"UnknownCType", "rows:i64", "rows:i65",
     "/designs/row/launches/0/args/4: 'i65' is not a C type of an argument; it can be i8 u8 i32 "
     "u32 i64 u64 f32 f64"},
    {"DefaultOutsideTheList", R"("VEC": 8 })", R"("VEC": 16 })",
     "/designs/row/defaults/0/VEC: 16 is not a value of 'VEC'"},
    {"DefaultMisspelt", R"("VEC": 8 })", R"("VEK": 8 })",
     "/designs/row/defaults/0: 'VEK' is not a parameter of 'row'; did you mean 'VEC'?"},
    {"DefaultIncomplete", R"(, "VEC": 8 })", "}",
     "/designs/row/defaults/0: missing parameter 'VEC'"},
    {"DefaultWhenNotACondition", R"("VEC": 8 })", R"("VEC": 8, "when": "hidden" })",
     "/designs/row/defaults/0/when: expected boolean, got integer\n  hidden\n  ^~~~~~"},
    {"DefaultWhenTooLate", R"("VEC": 8 })", R"("VEC": 8, "when": "rows > 4" })",
     "/designs/row/defaults/0/when: 'rows' is known only at launch; this is fixed before "
     "compiling"},
    {"ParameterCalledWhen", R"("VEC": [1, 2, 4, 8])", R"("VEC": [1, 2, 4, 8], "when": [1])",
     "/designs/row/params/when: 'when' is the condition of a default"},
    {"UnknownArch", R"("source": "forward.cu")", R"("source": "forward.cu", "arch": "sm90")",
     "/designs/row/arch: 'sm90' is not an architecture such as sm_90a"},
    {"AlignOfNoTensor", R"("source": "forward.cu")",
     R"("source": "forward.cu", "align": { "xx": "16" })",
     "/designs/row/align/xx: 'xx' is not a tensor; did you mean 'x'?"},
    {"ProblemWithUnknownName", R"("format": 1)",
     R"("format": 1, "problems": { "default": [{ "row": 4 }] })",
     "/problems/default/0: unknown name 'row'; did you mean 'rows'?"},
    {"ProblemWithoutADim", R"("format": 1)",
     R"("format": 1, "problems": { "emulation": [{ "rows": 4 }] })",
     "/problems/emulation/0: rmsnorm.forward needs `hidden`: add it to the problem, for example "
     "hidden=4096"},
    {"NegativeProblem", R"("format": 1)",
     R"("format": 1, "problems": { "default": [{ "rows": 4, "hidden": -1 }] })",
     "/problems/default/0: hidden: -1 is negative"},
    {"NestedTooDeeply", R"("f32": 2e-06)",
     R"("f32": [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[0]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]])",
     "/check/tolerance/f32/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0: nested too "
     "deeply"},
    {"SlashInAKey", R"("f32": 2e-06)", R"("a/b~": 2e-06)",
     "/check/tolerance/a~1b~0: 'a/b~' is not a dtype"},
};

INSTANTIATE_TEST_SUITE_P(Mutations, MalformedOperatorTest, testing::ValuesIn(kMutations),
                         [](const testing::TestParamInfo<Mutation>& mutation) {
                           return mutation.param.name;
                         });

TEST(DecodeOperatorTest, AllMistakesAreNamed) {
  std::string text = golden_text("rmsnorm.forward");
  text = replaced(text, "ceil_div(rows, ROWS", "ceil_div(rws, ROWS");
  text = replaced(text, R"("rows:i64", "x_stride:i64")", R"("rows:i16", "x_strid")");
  text = replaced(text, R"("tolerance")", R"("tolerances")");
  text = replaced(text, R"("fill": "normal")", R"("fill": "norml")");
  const std::string message = decode_text("rmsnorm.forward", text).status().message();
  std::vector<std::string> places;
  const std::string file = "kernels/rmsnorm/forward.json: ";
  for (std::size_t at = 0; (at = message.find(file, at)) != std::string::npos;) {
    at += file.size();
    places.push_back(message.substr(at, message.find(':', at) - at));
  }
  // The check is left out: it is judged by the tensors, one of which is not known.
  EXPECT_EQ(places, (std::vector<std::string>{"/tensors/x/fill", "/designs/row/launches/0/grid/0",
                                              "/designs/row/launches/0/args/4",
                                              "/designs/row/launches/0/args/5"}))
      << message;
}

TEST(DecodeOperatorTest, TwentyMistakesAreWrittenOut) {
  std::string text = golden_text("rmsnorm.forward");
  std::string wrong = "\"x\"";
  for (int i = 0; i < 22; ++i) wrong += ", \"no" + std::to_string(i) + "\"";
  text = replaced(text, R"("args": ["x")", "\"args\": [" + wrong);
  const std::string message = decode_text("rmsnorm.forward", text).status().message();
  EXPECT_NE(message.find("'no19'"), std::string::npos) << message;
  EXPECT_EQ(message.find("'no20'"), std::string::npos) << message;
  EXPECT_NE(message.find("\nand 2 more mistakes in this file"), std::string::npos) << message;
}

// What follows the place is the JSON library's wording.
TEST(DecodeOperatorTest, MalformedJsonNamesLineAndColumn) {
  const std::string text = golden_text("rmsnorm.forward");
  const auto expect = [](const std::string& malformed, const std::string& start) {
    const std::string message = decode_text("rmsnorm.forward", malformed).status().message();
    EXPECT_EQ(message.substr(0, start.size()), start) << message;
  };
  const std::string file = "kernels/rmsnorm/forward.json: ";
  expect("", file + "line 1, column 1: ");
  expect("{ \"format\": 1", file + "line 1, column 14: syntax error");
  expect(replaced(text, R"("format": 1,)", R"("format": 1,,)"),
         file + "line 2, column 15: syntax error");
  expect(text + "[]", file + "line 57, column 1: syntax error");
  expect(replaced(text, "\"designs\"", "\"designs"), file + "line 28, column 14: syntax error");
  expect(replaced(text, "2e-06", "2e999"), file + "line 26, column 31: number overflow");
  expect(replaced(text, "rmsnorm", "\xff"), file + "line 24, column 19: syntax error");
  expect("[]", file + "expected object, got an array");
}

TEST(DecodeOperatorTest, NamesHaveToBeIdentifiers) {
  EXPECT_EQ(decode_text("my-family.forward", "{}").status().message(),
            "kernels/my-family/forward.json: 'my-family' has to be a C identifier: kernels are "
            "named after it");
}

TEST(DecodeOperatorTest, SharedMemoryOfTheFirstLaunchIsKnownWhenBuildNamesAre) {
  const Status status =
      decode_replaced("rmsnorm.backward", R"("shared": "shared")", R"("shared": "4 * rows")")
          .status();
  EXPECT_EQ(status.message(),
            "kernels/rmsnorm/backward.json: /designs/partials/launches/0/shared: 'rows' is known "
            "only at launch; this is fixed before compiling");
}

TEST(DecodeOperatorTest, IdentifiersReachAKernelOnlyAsTheirParameter) {
  const Result<Operator> op = decode_replaced("rmsnorm.backward", "CLUSTER, LOAD, RELOAD>",
                                              "CLUSTER, PDL ? LOAD : LOAD, RELOAD>");
  EXPECT_EQ(op.status().message(),
            "kernels/rmsnorm/backward.json: /designs/partials/launches/0/kernel: 'PDL ? LOAD : "
            "LOAD': an identifier is passed to a kernel as its parameter alone");
}

}  // namespace
}  // namespace mgtune
