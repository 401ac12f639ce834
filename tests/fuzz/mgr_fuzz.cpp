// A file of strangers and a caller's mistakes through the C interface, on the cpu device: mgr_open
// of the file, plans with correct and with hostile options, explanations and launches. Every
// failure has a status that the header allows, a message, and leaves the outputs alone; a correct
// call succeeds whatever a table or a pack says.
//
// An input is the file and, as mgr_seeds.h has it, a few bytes that choose the arguments. A file
// that starts as the fields of a pack gets the lines with its checksum in front, behind which
// nothing would be reached.
//
// Only what the seeds need is compiled, before the first input; any other variant fails to build.
// So an input costs no compiler, and plans come to launch: make_compiler() and build_key() are the
// target's own.

#include <mgruntime/mgruntime.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/compiler.h"
#include "core/sha256.h"
#include "pack/pack.h"
#include "tests/fuzz/mgr_seeds.h"
#include "tests/helpers/test_folder.h"

namespace mgtune {
namespace {

bool compiling = true;  // until the first input

class KeptCompiler final : public Compiler {
 public:
  const std::string& identity() const override { return identity_; }

  Result<Build> compile(const BuildRequest& request) override {
    static std::map<std::string, Build> kept;
    const std::string key = build_key(request, identity_);
    if (const auto found = kept.find(key); found != kept.end()) return found->second;
    if (!compiling) return Status(StatusCode::compile_failed, "not among the builds of the target");
    static const std::unique_ptr<Compiler> host = *make_host_compiler("cpu");
    MGTUNE_ASSIGN(Build build, host->compile(request));
    return kept.emplace(key, std::move(build)).first->second;
  }

 private:
  const std::string identity_ = kMgrCompiler;
};

}  // namespace

// Instead of runtime/compiler/compiler.cpp and build_key.cpp, which the linker then leaves out. The
// sources do not change between inputs, and following their includes took two fifths of the time.
Result<std::unique_ptr<Compiler>> make_compiler(const std::string&) {
  return std::unique_ptr<Compiler>(std::make_unique<KeptCompiler>());
}

std::string build_key(const BuildRequest& request, const std::string& compiler_identity) {
  Sha256 hash;
  hash.update_field(request.source).update_field(request.arch).update_field(compiler_identity);
  for (const std::string& kernel : request.kernels) hash.update_field(kernel);
  return hash.hex();
}

namespace {

constexpr std::int64_t kHidden = 32;   // of the correct plan
constexpr std::int64_t kMaxRows = 64;  // likewise
constexpr std::int64_t kMaxStride = 2 * kHidden;
constexpr std::size_t kFloats = kMaxRows * kMaxStride;  // in each tensor

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s; the last error is '%s'\n", what, mgr_last_error());
  std::abort();
}

void require_one_of(mgr_status_t status, std::initializer_list<mgr_status_t> allowed,
                    const char* function) {
  if (status != MGR_OK) require(*mgr_last_error() != '\0', "a failure without a message");
  for (const mgr_status_t one : allowed) {
    if (status == one) return;
  }
  std::fprintf(stderr, "%s gave status %d\n", function, status);
  require(false, "not a status that the header allows there");
}

// What the arguments are made from; zeros when there is no more.
class Choices {
 public:
  explicit Choices(std::string_view bytes) : bytes_(bytes) {}

  std::uint8_t byte() {
    if (bytes_.empty()) return 0;
    const char first = bytes_.front();
    bytes_.remove_prefix(1);
    return static_cast<std::uint8_t>(first);
  }

  template <typename T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[byte() % values.size()];
  }

  std::int64_t extent(std::int64_t usual) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    const std::uint8_t kind = byte();
    if (kind >= 128) {
      std::uint64_t value = 0;
      for (int i = 0; i < 8; ++i) value = value << 8U | byte();
      return static_cast<std::int64_t>(value);
    }
    const std::array<std::int64_t, 12> wild = {
        usual,           0,         1,     -1,        -2,        kMost, -kMost - 1,
        kMost / kHidden, 1LL << 31, 65537, 1LL << 40, 1LL << 62,
    };
    return wild[kind % wild.size()];
  }

  std::string text() {
    std::string text;
    for (std::size_t left = byte() % 24U; left > 0; --left) text += static_cast<char>(byte());
    return text;
  }

 private:
  std::string_view bytes_;
};

// The bytes of an options struct of some version, with what a newer header might have behind it.
template <typename Options>
class Versions {
 public:
  Versions(const Options& options, Choices& choices) {
    const std::size_t size = choices.one_of<std::size_t>(
        {sizeof(Options), 0, 1, sizeof(Options) - 1, sizeof(Options) + 8, 2 * sizeof(Options)});
    all_.known = options;
    all_.known.struct_size = size;
    all_.newer[0] = choices.one_of<unsigned char>({0, 1});
  }
  const Options* get() const { return &all_.known; }
  bool has(std::size_t bytes) const { return all_.known.struct_size >= bytes; }

 private:
  struct {
    Options known;
    std::array<unsigned char, sizeof(Options)> newer{};
  } all_;
};

mgr_plan_options_t options_of(const char* op, const std::vector<mgr_assignment_t>& assignments,
                              const std::vector<mgr_range_t>& ranges) {
  return {sizeof(mgr_plan_options_t),
          op,
          assignments.data(),
          assignments.size(),
          ranges.data(),
          ranges.size(),
          nullptr};
}

mgr_status_t open_file(const std::string& path, mgr_context_t** context) {
  mgr_open_options_t options{};
  options.struct_size = sizeof(options);
  options.device = "cpu";
  options.database = path.c_str();
  return mgr_open(&options, context);
}

mgr_plan_t* correct_plan(mgr_context_t* context) {
  const std::vector<mgr_assignment_t> assignments = {{"hidden", "32"}, {"T", "f32"}};
  const std::vector<mgr_range_t> ranges = {{"rows", 1, kMaxRows}};
  const mgr_plan_options_t options = options_of("rmsnorm.forward", assignments, ranges);
  mgr_plan_t* plan = nullptr;
  const mgr_status_t status = mgr_plan(context, &options, &plan);
  require_one_of(status, {MGR_OK}, "mgr_plan with correct options");
  return plan;
}

void explain(const mgr_plan_t* plan, Choices& choices) {
  const std::vector<std::int64_t> dims = {choices.extent(16), choices.extent(-1), 1};
  const std::size_t count = choices.one_of<std::size_t>({2, 0, 1, 3});
  std::vector<char> text(choices.one_of<std::size_t>({4096, 0, 1, 7}), '?');
  std::size_t needed = 0;
  const mgr_status_t status =
      mgr_explain(plan, dims.data(), count, text.data(), text.size(), &needed);
  require_one_of(status, {MGR_OK, MGR_INVALID_ARGUMENT, MGR_UNSUPPORTED}, "mgr_explain");
  if (status != MGR_OK) {
    require(needed == 0 && (text.empty() || text[0] == '?'), "mgr_explain wrote and failed");
    return;
  }
  require(count == 2, "mgr_explain took a wrong count");
  if (text.empty()) return;
  const std::size_t length = std::string_view(text.data(), text.size()).find('\0');
  require(length != std::string_view::npos && length + 1 <= needed, "text without its end");
}

// Shapes that the tensors hold, and of the rest of the arguments what the library has to refuse.
void launch(mgr_context_t* context, const mgr_plan_t* plan, Choices& choices) {
  void* memory[3] = {};
  for (void*& one : memory) {
    require_one_of(mgr_allocate(context, kFloats * sizeof(float), &one), {MGR_OK}, "mgr_allocate");
    const std::vector<float> ones(kFloats, 1.0F);
    require_one_of(mgr_copy_to_device(context, one, ones.data(), kFloats * sizeof(float)), {MGR_OK},
                   "mgr_copy_to_device");
  }
  const std::int64_t dims[4] = {choices.one_of<std::int64_t>({4, 1, 17, 0, kMaxRows}),
                                choices.one_of<std::int64_t>({-1, 32, 33, 0, kMaxStride}), 1, 1};
  void* tensors[6] = {memory[0], memory[1], memory[2], nullptr, nullptr, nullptr};
  const std::size_t missing = choices.one_of<std::size_t>({3, 0, 1, 2});  // 3 may be
  tensors[missing] = nullptr;
  const std::size_t shifted = choices.one_of<std::size_t>({0, 1});  // elements off the alignment
  if (tensors[0] != nullptr && dims[1] != kMaxStride) {
    tensors[0] = static_cast<float*>(tensors[0]) + shifted;
  }
  const double scalars[4] = {
      choices.one_of<double>({1e-5, 0, -1, 1e300, std::numeric_limits<double>::quiet_NaN(),
                              std::numeric_limits<double>::infinity()}),
      1, 1, 1};
  const std::size_t dim_count = choices.one_of<std::size_t>({2, 0, 1, 3});
  const std::size_t tensor_count = choices.one_of<std::size_t>({4, 0, 3, 5});
  const std::size_t scalar_count = choices.one_of<std::size_t>({2, 0, 1, 3});
  const bool no_array = choices.one_of<bool>({false, false, false, true});
  const mgr_status_t status = mgr_launch(plan, nullptr, no_array ? nullptr : dims, dim_count,
                                         tensors, tensor_count, scalars, scalar_count, nullptr);
  require_one_of(status, {MGR_OK, MGR_INVALID_ARGUMENT, MGR_UNSUPPORTED}, "mgr_launch");
  const bool counts_are_right = dim_count == 2 && tensor_count == 4 && scalar_count == 2;
  const bool is_empty = dims[0] == 0 && missing != 1;  // without rows there still is a weight
  const bool nulls_are_right = missing == 3 || is_empty;
  const bool is_correct = counts_are_right && nulls_are_right && !no_array && scalars[0] != 1e300;
  require(is_correct || status != MGR_OK, "mgr_launch took what is wrong");
  require(!is_correct || status == MGR_OK, "mgr_launch refused what is right");
  for (void* one : memory) mgr_free(context, one);
}

// Shapes that are in no memory: nothing may reach a kernel.
void launch_wild(const mgr_plan_t* plan, Choices& choices) {
  const std::int64_t dims[2] = {choices.extent(-5), choices.extent(-1)};
  void* const nulls[4] = {};
  const double scalars[2] = {1e-5, 0};
  const mgr_status_t status = mgr_launch(plan, nullptr, dims, 2, nulls, 4, scalars, 2, nullptr);
  require_one_of(status, {MGR_OK, MGR_INVALID_ARGUMENT, MGR_UNSUPPORTED}, "mgr_launch");
  require(status != MGR_OK, "mgr_launch ran on null pointers");
}

void use(mgr_context_t* context, mgr_plan_t* plan, Choices& choices) {
  require(mgr_workspace_bytes(plan) == 0, "rmsnorm.forward needs no workspace");
  require_one_of(mgr_workspace_init(plan, nullptr, nullptr), {MGR_OK}, "mgr_workspace_init");
  explain(plan, choices);
  launch(context, plan, choices);
  launch_wild(plan, choices);
}

// Null where there is none.
mgr_plan_t* plan_hostile(mgr_context_t* context, Choices& choices) {
  const std::string word = choices.text();
  const std::vector<mgr_assignment_t> assignments = {
      {choices.one_of<const char*>({"hidden", nullptr, "", "rows", "T", "x_stride", word.c_str()}),
       choices.one_of<const char*>(
           {"32", nullptr, "", "-1", "0", "262144", "333", "9223372036854775808", word.c_str()})},
      {choices.one_of<const char*>({"T", "W", "rstd", "hidden", word.c_str()}),
       choices.one_of<const char*>({"f32", "bf16", "true", "F32", word.c_str()})}};
  const std::vector<mgr_range_t> ranges = {
      {choices.one_of<const char*>({"rows", nullptr, "", "hidden", "x_stride", word.c_str()}),
       choices.extent(1), choices.extent(kMaxRows)},
      {choices.one_of<const char*>({"x_stride", "rows"}), choices.extent(kHidden),
       choices.extent(kMaxStride)}};
  mgr_plan_options_t options =
      options_of(choices.one_of<const char*>({"rmsnorm.forward", nullptr, "", "rmsnorm",
                                              "rmsnorm.forwar", "swiglu.forward", word.c_str()}),
                 assignments, ranges);
  options.assignment_count = choices.one_of<std::size_t>({2, 0, 1});
  options.range_count = choices.one_of<std::size_t>({2, 0, 1});
  options.variant = choices.one_of<const char*>({nullptr, nullptr, nullptr, "", word.c_str()});
  if (choices.one_of<bool>({false, false, false, true})) options.ranges = nullptr;
  const Versions<mgr_plan_options_t> version(options, choices);
  mgr_plan_t* plan = nullptr;
  if (choices.one_of<bool>({false, true})) {
    const mgr_plan_options_t* const problems[] = {version.get(), nullptr};
    mgr_status_t statuses[2] = {MGR_INTERNAL, MGR_INTERNAL};
    mgr_plan_t* plans[2] = {};
    const mgr_status_t all = mgr_prepare(context, problems, 2, 1, plans, statuses);
    require(all == (statuses[0] != MGR_OK ? statuses[0] : statuses[1]), "the first failure");
    require(statuses[1] == MGR_INVALID_ARGUMENT && plans[1] == nullptr, "null options");
    require((statuses[0] == MGR_OK) == (plans[0] != nullptr), "a plan where one was made");
    return plans[0];
  }
  const mgr_status_t status = mgr_plan(context, version.get(), &plan);
  require_one_of(status,
                 {MGR_OK, MGR_NOT_FOUND, MGR_INVALID_ARGUMENT, MGR_UNSUPPORTED, MGR_COMPILE_FAILED},
                 "mgr_plan");
  require((status == MGR_OK) == (plan != nullptr), "a plan and a failure");
  require(status != MGR_OK || version.has(offsetof(mgr_plan_options_t, variant)),
          "a struct that is too small was read");
  if (plan != nullptr) {
    explain(plan, choices);
    launch_wild(plan, choices);
  }
  return plan;
}

// On a tmpfs where there is one.
std::string folder_path() {
  static const TestFolder folder;
  return folder.path();
}

void write(const std::string& path, std::string_view content) {
  std::ofstream(path, std::ios::binary) << content;
}

std::string file_of(std::string_view input) {
  if (!input.starts_with("compiler ")) return std::string(input);
  return seal_pack(input).value();
}

}  // namespace
}  // namespace mgtune

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  using namespace mgtune;
  const std::string folder = folder_path();
  for (const char* name : {"HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "TMPDIR"}) {
    setenv(name, folder.c_str(), 1);
  }
  for (const char* name : {"MGTUNE_DB", "MGTUNE_STRICT", "MGTUNE_RECORD"}) unsetenv(name);
  setenv("MGTUNE_CACHE_DIR", "/dev/null/none", 1);
  setenv("MGTUNE_QUIET", "1", 1);
  setenv("MGTUNE_CPU_PLUGIN", MGTUNE_CPU_PLUGIN_FILE, 1);
  setenv("CXX", MGTUNE_CXX, 1);  // whose sanitizers are in this program
  for (const char* table : {"{\"format\": 1, \"tables\": []}", kCpuTable}) {
    const std::string path = folder + "/seed";
    write(path, table);
    mgr_context_t* context = nullptr;
    require_one_of(open_file(path, &context), {MGR_OK}, "mgr_open of a correct table");
    mgr_plan_free(correct_plan(context));
    mgr_close(context);
  }
  compiling = false;
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  using namespace mgtune;
  const std::string_view input(reinterpret_cast<const char*>(data), bytes);
  const std::size_t arguments = bytes - std::min(bytes, kMgrArgumentBytes);
  const std::string path = folder_path() + "/input", file = file_of(input.substr(0, arguments));
  Choices choices(input.substr(arguments));
  write(path, file);
  mgr_context_t* context = nullptr;
  const mgr_status_t status = open_file(path, &context);
  require_one_of(status, {MGR_OK, MGR_CORRUPT, MGR_INCOMPATIBLE}, "mgr_open");
  require((status == MGR_OK) == (context != nullptr), "a context and a failure");
  if (status != MGR_OK) {
    require(std::string_view(mgr_last_error()).find(path) != std::string_view::npos,
            "a message without the file's name");
    return 0;
  }
  const bool hostile = choices.one_of<bool>({false, true});
  // A plan may outlive its context.
  const bool plan_first = choices.one_of<bool>({true, false});
  mgr_plan_t* const plan = hostile ? plan_hostile(context, choices) : correct_plan(context);
  if (!hostile) use(context, plan, choices);
  if (plan_first) mgr_plan_free(plan);
  mgr_close(context);
  if (!plan_first) mgr_plan_free(plan);
  return 0;
}
