// Files that one machine made, used on another: a pack, a tuned table beside a warm build cache, a
// results database. Whatever differs, no build is loaded that was not made from this machine's
// sources for this machine's architecture (and, from the cache, by this machine's compiler), a pick
// counts as exact on the very same GPU alone, and a file is never touched.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "build/cache_entry.h"
#include "database/database.h"
#include "dispatch/plan.h"
#include "pack/pack.h"
#include "source/tuned_source.h"
#include "store/store.h"
#include "tests/helpers/mgtune_program.h"
#include "tests/helpers/operators/toy_operators.h"
#include "tests/helpers/test_folder.h"

namespace mgtune {
namespace {

using testing::HasSubstr;

constexpr char kPick[] = "row THREADS=256 VEC=4";
constexpr char kProblem[] = "rows=512 hidden=64 T=f32";

struct Machine {
  std::string model = "NVIDIA L4", arch = "sm_89", mig_profile, driver = "580.1, CUDA 13.0";
  std::int64_t sm_count = 58;
  std::string nvrtc = "13.0.88";
  std::string source = "// norm.cu";
  std::string threads = "[32, 64, 128, 256]";  // the operator's list of values

  DeviceInfo info() const {
    DeviceInfo info;
    info.kind = DeviceKind::cuda;
    info.id = "GPU-fake";
    info.name = model;
    info.arch = arch;
    info.limits = {89, sm_count, 101376, 50331648};
    info.memory_bytes = 24'000'000'000;
    info.mig_profile = mig_profile;
    info.driver = driver;
    return info;
  }
};

// Its builds say what they were made from.
class TellingCompiler final : public Compiler {
 public:
  explicit TellingCompiler(const std::string& nvrtc)
      : identity_("nvrtc libnvrtc.so." + nvrtc + " of 1 bytes") {}
  const std::string& identity() const override { return identity_; }
  Result<Build> compile(const BuildRequest& request) override {
    Build build;
    build.key = build_key(request, identity_);
    build.arch = request.arch;
    build.binary =
        identity_ + '\n' +
        made_from(request.sources->files.at(request.source), request.arch, request.kernels.front());
    build.sha256 = sha256_hex(build.binary);
    for (const std::string& kernel : request.kernels) build.kernels.push_back({kernel, kernel});
    return build;
  }

  static std::string made_from(const std::string& source, const std::string& arch,
                               const std::string& kernel) {
    return source + " for " + arch + ": " + kernel;
  }

 private:
  std::string identity_;
};

// What became of a plan for toy.norm.
struct Planned {
  Status status;
  SelectionStep step{};
  std::string reason;
  std::vector<std::string> notes;
  std::int64_t compiled = 0;
  std::set<std::string> compilers;  // of the builds that were loaded
};

class SkewTest : public testing::Test {
 protected:
  SkewTest() {
    std::filesystem::create_directory(folder_.file("toy"));
    write("toy/reference.cu", "// reference");
    become(there_);
    const Operator& op = **catalog().find_operator("toy.norm");
    std::ofstream(folder_.file("table")) << table(must(build_of(op, kPick)).sha256);
    write("pack", pack(op));
    write_database(op);
    static_cast<void>(plan("table"));  // which fills the cache
  }

  void write(const std::string& name, const std::string& content) const {
    std::ofstream(folder_.file(name), std::ios::binary) << content;
  }
  std::string content(const std::string& name) const { return file_content(folder_.file(name)); }

  // From here on this is the machine.
  void become(const Machine& machine) {
    here_ = machine;
    std::string text = kToyNorm;
    const std::string list = "[32, 64, 128, 256]";
    write("toy/norm.json", text.replace(text.find(list), list.size(), machine.threads));
    write("toy/norm.cu", machine.source);
    catalog_.emplace(FileSystem::real());
    must(catalog_->find(folder_.file("toy")));
  }
  Catalog& catalog() { return *catalog_; }

  Builder builder() const {
    return Builder(BuildCache(FileSystem::real(), folder_.file("cache")),
                   [nvrtc = here_.nvrtc](const std::string&) -> Result<std::unique_ptr<Compiler>> {
                     return std::unique_ptr<Compiler>(std::make_unique<TellingCompiler>(nvrtc));
                   });
  }

  Result<BuildRequest> request_of(const Operator& op, const std::string& text) const {
    const Variant variant = variant_of(op, text);
    MGTUNE_ASSIGN(const Slots slots, compile_slots(bound(op, {{"hidden", "64"}, {"T", "f32"}}),
                                                   variant, here_.info().limits));
    return variant_build_request(op, variant, slots, here_.arch);
  }
  Result<Build> build_of(const Operator& op, const std::string& text) const {
    MGTUNE_ASSIGN(const BuildRequest request, request_of(op, text));
    return TellingCompiler(here_.nvrtc).compile(request);
  }

  std::string table(const std::string& build_sha256) const {
    const GpuRecord gpu = gpu_record(here_.info());
    return R"({"format": 1, "tables": [{"operator": "toy.norm", "gpu": {"model": ")" + gpu.model +
           R"(", "arch": ")" + gpu.arch + R"(", "sm_count": )" + std::to_string(gpu.sm_count) +
           R"(, "l2_bytes": )" + std::to_string(gpu.l2_bytes) + R"(, "memory_bytes": )" +
           std::to_string(gpu.memory_bytes) + R"(, "max_shared_bytes": )" +
           std::to_string(gpu.max_shared_bytes) + R"(, "mig_profile": "", "emulation": false},
 "environment": {"mgtune_version": "0.1.0", "compiler": "", "driver": "", "system": ""},
 "picks": [{"problem": ")" +
           kProblem + R"(", "method": "rotating", "design": "row",
  "parameters": {"THREADS": 256, "VEC": 4}, "median_ns": 2500, "default": null, "tie": false,
  "build_sha256": ")" +
           build_sha256 + R"(", "measured_at": "2026-11-21T09:00:00Z"}]}]})";
  }

  std::string pack(const Operator& op) const {
    Pack pack;
    pack.compiler = TellingCompiler(here_.nvrtc).identity();
    pack.cuda_version = 13000;
    pack.table = content("table");
    for (const char* text : {kPick, "row THREADS=128 VEC=4", "row THREADS=32 VEC=1"}) {
      pack.builds.push_back({build_key(must(request_of(op, text)), ""), must(build_of(op, text))});
    }
    return encode_pack(std::move(pack)).value();
  }

  void write_database(const Operator& op) const {
    Store store = must(Store::open(folder_.file("database"), Store::Mode::read_write));
    TunedRecord tuned;
    tuned.gpu = must(store.gpu_id(gpu_record(here_.info())));
    tuned.problem = must(store.problem_id(op.full_name(), kProblem, 1, 1));
    SweepRecord sweep;
    sweep.gpu = tuned.gpu;
    sweep.environment = must(store.environment_id({"0.1.0", "nvrtc", here_.driver, "Linux"}));
    tuned.sweep = must(store.begin_sweep(sweep));
    tuned.variant = tuned.default_variant = kPick;
    tuned.build_sha256 = must(build_of(op, kPick)).sha256;
    tuned.method = "rotating";
    tuned.median_ns = tuned.default_median_ns = 2500;
    EXPECT_TRUE(store.record_tuned(tuned).ok());
  }

  // Plans from a file as a context does. Every build that reaches the device is looked at.
  Planned plan(const std::string& file, bool strict = false) {
    Planned outcome;
    FakeDevice device;
    device.device_info = here_.info();
    declare_toy_kernels(device);
    device.on_load = [&](const Build& build) -> Status {
      const std::size_t line = build.binary.find('\n');
      outcome.compilers.insert(build.binary.substr(0, line));
      EXPECT_EQ(build.binary.substr(line + 1),
                TellingCompiler::made_from(here_.source, here_.arch, build.kernels.front().name));
      return {};
    };
    Result<TunedSource> source = read_tuned_source(folder_.file(file), catalog(), here_.info());
    if (!source.ok()) {
      outcome.status = source.status();
      return outcome;
    }
    outcome.notes = source->notes;
    Builder builder = this->builder();
    builder.take_from(source->builds);
    SharedModules modules(device);
    const Operator& op = **catalog().find_operator("toy.norm");
    const Binding binding = bound(op, {{"hidden", "64"}, {"T", "f32"}});
    const auto plan = Plan::make(modules, builder, binding, {{1, 65536}, {1, 0}},
                                 Evidence(decode_tuned(op, source->rows)), strict);
    if (!plan.ok()) {
      outcome.status = plan.status();
      return outcome;
    }
    const Plan::Explanation why = must((*plan)->explain({512, -1}));
    outcome.step = why.step;
    outcome.reason = why.reason;
    outcome.compiled = builder.compiled();
    return outcome;
  }

  const TestFolder folder_;
  const Machine there_;
  Machine here_;
  std::optional<Catalog> catalog_;
};

constexpr bool kCompiles = true, kDoesNot = false;
constexpr SelectionStep kExact = SelectionStep::exact, kLadder = SelectionStep::default_ladder;

// What differs, and what then becomes of a pack and of a table beside a warm cache.
struct Cell {
  const char* what;
  void (*change)(Machine&);
  SelectionStep step;
  bool pack_compiles, cache_compiles;
  const char* pack_note;  // "": nothing is said
  bool other_build;       // from the table: another one than was measured
};

const Cell kCells[] = {
    {"nothing", [](Machine&) {}, kExact, kDoesNot, kDoesNot, "", false},
    {"another NVRTC", [](Machine& m) { m.nvrtc = "13.0.99"; }, kExact, kDoesNot, kCompiles, "",
     true},
    {"a newer driver", [](Machine& m) { m.driver = "600.1, CUDA 14.0"; }, kExact, kDoesNot,
     kDoesNot, "", false},
    {"a driver of an older major version", [](Machine& m) { m.driver = "550.1, CUDA 12.4"; },
     kExact, kDoesNot, kDoesNot, "the driver is of CUDA 12.4", false},
    {"an L40S, of the same architecture",
     [](Machine& m) {
       m.model = "NVIDIA L40S";
       m.sm_count = 142;
     },
     kLadder, kDoesNot, kDoesNot, "is for NVIDIA L4, not for this NVIDIA L40S", false},
    {"a MIG instance",
     [](Machine& m) {
       m.sm_count = 16;
       m.mig_profile = "1g.18gb";
     },
     kLadder, kDoesNot, kDoesNot, "is for NVIDIA L4, not for this NVIDIA L4", false},
    {"another architecture",
     [](Machine& m) {
       m.model = "NVIDIA H200";
       m.arch = "sm_90";
     },
     kLadder, kCompiles, kCompiles, "is for NVIDIA L4, not for this NVIDIA H200", false},
    {"an edited kernel", [](Machine& m) { m.source = "// norm.cu, edited"; }, kExact, kCompiles,
     kCompiles, "", true},
};

TEST_F(SkewTest, NoCellOfTheMatrixLoadsAWrongBuild) {
  const std::string pack = content("pack"), table = content("table");
  for (const Cell& cell : kCells) {
    SCOPED_TRACE(cell.what);
    Machine machine = there_;
    cell.change(machine);
    become(machine);
    // A cache of its own, so that no cell leaves builds to the next.
    const auto from = folder_.file("cache"), to = folder_.file("cache of there");
    std::filesystem::copy(from, to);
    testing::internal::CaptureStderr();
    const Planned by_table = plan("table");
    EXPECT_TRUE(by_table.status.ok()) << by_table.status.message();
    EXPECT_EQ(by_table.step, cell.step) << by_table.reason;
    EXPECT_EQ(by_table.compiled > 0, cell.cache_compiles);
    EXPECT_THAT(by_table.compilers,
                testing::ElementsAre(TellingCompiler(machine.nvrtc).identity()));
    EXPECT_TRUE(by_table.notes.empty());
    EXPECT_EQ(by_table.reason.find("with another build") != std::string::npos, cell.other_build)
        << by_table.reason;
    EXPECT_EQ(plan("database").reason, by_table.reason);
    if (cell.other_build) {
      const Planned strict = plan("table", true);
      EXPECT_EQ(strict.step, SelectionStep::default_ladder) << strict.reason;
    }

    std::filesystem::remove_all(from);
    const Planned by_pack = plan("pack");
    EXPECT_TRUE(by_pack.status.ok()) << by_pack.status.message();
    EXPECT_EQ(by_pack.step, cell.step) << by_pack.reason;
    const bool refused = std::string(cell.pack_note).find("driver") != std::string::npos;
    EXPECT_EQ(by_pack.compiled > 0, cell.pack_compiles || refused);
    if (*cell.pack_note == '\0') {
      EXPECT_TRUE(by_pack.notes.empty()) << by_pack.notes.front();
    } else {
      EXPECT_THAT(by_pack.notes, testing::ElementsAre(HasSubstr(cell.pack_note)));
    }
    static_cast<void>(plan("pack"));
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(std::ranges::count(said, '\n'), *cell.pack_note == '\0' ? 0 : 1) << said;
    std::filesystem::remove_all(from);
    std::filesystem::rename(to, from);
    EXPECT_EQ(content("pack"), pack);
    EXPECT_EQ(content("table"), table);
  }
}

// The operator's list lost the value: nothing of such a file is used.
TEST_F(SkewTest, AValueThatIsNotOfferedAnyMoreIsRefused) {
  Machine machine = there_;
  machine.threads = "[32, 64, 128]";
  become(machine);
  for (const char* file : {"pack", "table", "database"}) {
    const Status status = plan(file).status;
    EXPECT_EQ(status.code(), StatusCode::corrupt) << file;
    EXPECT_THAT(status.message(), HasSubstr("256")) << file;
  }
}

// What another version of mgtune wrote is said to be that, and stays as it is.
TEST_F(SkewTest, OtherFormatsAreNotUsedAndNotTouched) {
  const auto with = [&](const std::string& name, const std::string& from, const std::string& to) {
    std::string text = content(name);
    return text.replace(text.find(from), from.size(), to);
  };
  const struct {
    std::string bytes;
    StatusCode code;
  } files[] = {
      {with("pack", "pack 2", "pack 0"), StatusCode::corrupt},
      {with("pack", "pack 2", "pack 3"), StatusCode::incompatible},
      {with("table", "\"format\": 1", "\"format\": 0"), StatusCode::corrupt},
      {with("table", "\"format\": 1", "\"format\": 2"), StatusCode::incompatible},
  };
  for (const auto& file : files) {
    write("other", file.bytes);
    EXPECT_EQ(plan("other").status.code(), file.code) << file.bytes.substr(0, 30);
    EXPECT_EQ(content("other"), file.bytes);
  }
  {
    const auto database =
        must(Database::open(folder_.file("database"), Database::Access::read_write));
    ASSERT_TRUE(database->execute("PRAGMA user_version = 99").ok());
  }
  const std::string newer = content("database");
  EXPECT_EQ(plan("database").status.code(), StatusCode::incompatible);
  EXPECT_EQ(content("database"), newer);
}

// A build of another format under this one's name, which no mgtune writes: the format is part of
// the key. It is not used, and made again.
TEST_F(SkewTest, ACacheEntryOfAnotherFormatIsAMiss) {
  for (const char* format : {"mgtune build 0", "mgtune build 2"}) {
    int entries = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.file("cache"))) {
      std::string bytes = file_content(entry.path());
      bytes.replace(0, std::string(format).size(), format);
      std::ofstream(entry.path(), std::ios::binary) << bytes;
      ++entries;
    }
    EXPECT_GT(entries, 0);
    EXPECT_EQ(plan("table").compiled, entries);
    EXPECT_EQ(plan("table").compiled, 0);
  }
}

}  // namespace
}  // namespace mgtune
