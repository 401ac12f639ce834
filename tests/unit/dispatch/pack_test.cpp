// The bytes of a pack, and what a builder takes from one.

#include "pack/pack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "core/sha256.h"
#include "dispatch/plan.h"
#include "tests/fuzz/mgr_seeds.h"
#include "tests/helpers/fakes/stand_in_gpu.h"
#include "tests/helpers/operators/toy_operators.h"
#include "tests/helpers/pack_fields.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

using testing::HasSubstr;

PackedBuild packed(const std::string& name) {
  PackedBuild packed;
  packed.request = sha256_hex("request " + name);
  packed.build.key = sha256_hex("key " + name);
  packed.build.arch = "sm_90";
  packed.build.binary = "binary of " + name + std::string("\0\n", 2);
  packed.build.sha256 = sha256_hex(packed.build.binary);
  packed.build.kernels = {{name, "_Z" + name, 32, 0, 16}};
  packed.build.log = "took 12 ms";
  return packed;
}

Pack small_pack() {
  Pack pack;
  pack.compiler = "nvrtc libnvrtc.so.13.0.88 of 1 bytes";
  pack.cuda_version = 13000;
  pack.table = "{\"format\": 1, \"tables\": []}\n";
  pack.rules = {{"toy.norm", "{\"format\": 1}\n"}};
  pack.builds = {packed("a"), packed("b")};
  return pack;
}

TEST(PackTest, ComesBackAsItWentIn) {
  const std::string bytes = encode_pack(small_pack()).value();
  EXPECT_TRUE(is_pack(bytes));
  const Result<Pack> pack = decode_pack(bytes);
  ASSERT_TRUE(pack.ok()) << pack.status().message();
  EXPECT_EQ(pack->compiler, small_pack().compiler);
  EXPECT_EQ(pack->cuda_version, 13000);
  EXPECT_EQ(pack->table, small_pack().table);
  ASSERT_EQ(pack->rules.size(), 1U);
  EXPECT_EQ(pack->rules[0].op, "toy.norm");
  EXPECT_EQ(pack->rules[0].text, small_pack().rules[0].text);
  ASSERT_EQ(pack->builds.size(), 2U);
  for (const PackedBuild& build : pack->builds) {
    EXPECT_EQ(build.build.sha256, sha256_hex(build.build.binary));
    EXPECT_EQ(build.build.kernels.front().registers, 32);
    EXPECT_EQ(build.build.log, "") << "which has times";
  }
}

TEST(PackTest, TheOrderOfWorkIsNotInTheBytes) {
  Pack other = small_pack();
  std::swap(other.builds[0], other.builds[1]);
  other.builds.push_back(other.builds.front());
  other.builds.front().build.log = "took 13 ms";
  EXPECT_EQ(encode_pack(other).value(), encode_pack(small_pack()).value());
}

TEST(PackTest, EveryByteAndEveryLengthIsChecked) {
  const std::string bytes = encode_pack(small_pack()).value();
  for (std::size_t place = 0; place < bytes.size(); ++place) {
    for (const int bit : {0, 3, 7}) {
      std::string damaged = bytes;
      damaged[place] = static_cast<char>(damaged[place] ^ (1 << bit));
      const Result<Pack> pack = decode_pack(damaged);
      ASSERT_FALSE(pack.ok()) << "byte " << place << ", bit " << bit;
    }
    const Result<Pack> cut = decode_pack(std::string_view(bytes).substr(0, place));
    ASSERT_EQ(cut.status().code(), StatusCode::corrupt) << place << " bytes";
  }
  EXPECT_EQ(decode_pack(bytes + "x").status().code(), StatusCode::corrupt);
}

// Somebody else wrote the fields; the checksum is right.
TEST(PackTest, AChecksumAloneMakesNoPack) {
  const std::string rest = pack_fields(encode_pack(small_pack()).value());
  const auto decodes = [](const std::string& fields) {
    return decode_pack(seal_pack(fields).value()).ok();
  };
  ASSERT_TRUE(decodes(rest));
  for (std::size_t place = 0; place < rest.size(); ++place) {
    ASSERT_FALSE(decodes(rest.substr(0, place))) << place;
  }
  const auto refused = [&](const std::string& from, const std::string& to) {
    std::string text = rest;
    text.replace(text.find(from), from.size(), to);
    return !decodes(text);
  };
  EXPECT_TRUE(refused("binary of a", "binary of c"));
  EXPECT_TRUE(refused("builds 1\n2", "builds 1\n3"));
  EXPECT_TRUE(refused("rules 1\n1", "rules 1\n2"));
  EXPECT_TRUE(refused("builds 1\n2", "builds 19\n9223372036854775807"));
  EXPECT_TRUE(refused("cuda 5\n13000", "cuda 5\nxxxxx"));
  EXPECT_TRUE(refused("\ntable 2", "\ntable 1844674407370955161"));
}

// For tests/fuzz/run.sh; packs without the lines that their checksum is in.
TEST(PackTest, WritesSeeds) {
  const char* const folder = std::getenv("MGTUNE_FUZZ_SEEDS");
  if (folder == nullptr) GTEST_SKIP() << "nobody asked for them";
  std::ofstream(std::string(folder) + "/pack/small")
      << pack_fields(encode_pack(small_pack()).value());
  std::ofstream(std::string(folder) + "/table/rmsnorm") << rmsnorm_table();
  Pack host = small_pack();
  host.compiler = kMgrCompiler;
  host.cuda_version = 0;
  host.table = kCpuTable;
  for (PackedBuild& build : host.builds) build.build.arch = "cpu";
  const std::string mgr = std::string(folder) + "/mgr/";
  std::ofstream(mgr + "pack") << mgr_fuzz_input(pack_fields(encode_pack(host).value()));
  std::ofstream(mgr + "cpu") << mgr_fuzz_input(kCpuTable);
  for (const auto& table : std::filesystem::directory_iterator(source_path("results/h200"))) {
    const std::string name = table.path().filename().string();
    if (!name.ends_with(".tuned.json")) continue;
    std::ifstream file(table.path());
    std::ofstream(mgr + name) << mgr_fuzz_input({std::istreambuf_iterator<char>(file), {}});
  }
}

TEST(PackTest, ANewerFormatIsAnotherThingThanDamage) {
  std::string newer = encode_pack(small_pack()).value();
  newer.replace(newer.find("pack 2"), 6, "pack 3");
  const Status status = decode_pack(newer).status();
  EXPECT_EQ(status.code(), StatusCode::incompatible);
  EXPECT_THAT(status.message(), HasSubstr("format 3; this mgtune reads format 2"));
}

TEST(PackTest, BuildsDoNotRunOnOlderDriversNorElsewhere) {
  DeviceInfo device;
  device.kind = DeviceKind::cuda;
  device.arch = "sm_90";
  for (const char* driver : {"580.1, CUDA 13.0", "CUDA 13.1", "CUDA 14.0", ""}) {
    device.driver = driver;
    EXPECT_TRUE(check_builds_run(small_pack(), device).ok()) << driver;
  }
  device.driver = "570.124.06, CUDA 12.8";
  const Status older = check_builds_run(small_pack(), device);
  EXPECT_EQ(older.code(), StatusCode::incompatible);
  EXPECT_EQ(older.message(), "its builds are of CUDA 13.0, and the driver is of CUDA 12.8");
  device.kind = DeviceKind::cpu;
  device.arch = "cpu";
  EXPECT_EQ(check_builds_run(small_pack(), device).message(),
            "its builds are for sm_90, not for cpu");
  Pack host = small_pack();
  for (PackedBuild& build : host.builds) build.build.arch = "cpu";
  host.compiler = "some other g++";
  EXPECT_THAT(check_builds_run(host, device).message(), HasSubstr("another toolchain"));
  device.kind = DeviceKind::cuda;
  EXPECT_FALSE(check_builds_run(host, device).ok());
  EXPECT_EQ(cuda_version_of("nvrtc libnvrtc.so.12.8.93 of 5 bytes"), 12080);
  EXPECT_EQ(cuda_version_of("nvrtc libnvrtc.so.13 of 5 bytes"), 13000);
  EXPECT_EQ(cuda_version_of("g++ 12"), 0);
}

// A builder whose machine has no compiler.
Builder builder_without_compiler() {
  return Builder(BuildCache(FileSystem::real(), ""),
                 [](const std::string&) -> Result<std::unique_ptr<Compiler>> {
                   return environment_error("no compiler");
                 });
}

TEST(PackedBuildsTest, APlanIsMadeOfThemWithoutACompiler) {
  FakeDevice device;
  SharedModules modules{device};
  declare_toy_kernels(device);
  const Operator op = toy_norm();
  const Binding binding = bound(op, {{"hidden", "64"}, {"T", "f32"}});
  std::vector<PackedBuild> builds;
  Builder maker = fake_builder();
  for (const char* text : {"row THREADS=128 VEC=4", "row THREADS=32 VEC=1"}) {
    const Variant variant = variant_of(op, text);
    const Slots slots = must(compile_slots(binding, variant, device.info().limits));
    const BuildRequest request = must(variant_build_request(op, variant, slots, "sm_90"));
    builds.push_back({build_key(request, ""), must(maker.build(request))});
  }
  const auto supply = std::make_shared<PackedBuilds>(builds);

  Builder builder = builder_without_compiler();
  const std::vector<DimRange> ranges = {{1, 4096}, {1, 0}};
  EXPECT_EQ(Plan::make(modules, builder, binding, ranges, {}).status().code(),
            StatusCode::environment);
  builder.take_from(supply);
  const auto plan = Plan::make(modules, builder, binding, ranges, {});
  ASSERT_TRUE(plan.ok()) << plan.status().message();

  // Another static dim is another kernel, another architecture another build: neither is there.
  const Binding other = bound(op, {{"hidden", "128"}, {"T", "f32"}});
  EXPECT_FALSE(Plan::make(modules, builder, other, ranges, {}).ok());
  device.device_info.arch = "sm_80";
  EXPECT_FALSE(Plan::make(modules, builder, binding, ranges, {}).ok());

  // Nor is what an edited source asks for.
  device.device_info.arch = "sm_90";
  Operator edited = toy_norm();
  auto sources = std::make_shared<SourceTree>(*edited.sources);
  sources->files["norm.cu"] += "// edited";
  edited.sources = sources;
  const Binding same = bound(edited, {{"hidden", "64"}, {"T", "f32"}});
  EXPECT_FALSE(Plan::make(modules, builder, same, ranges, {}).ok());
}

}  // namespace
}  // namespace mgtune
