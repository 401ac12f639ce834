// CheckerTest: a small family with planted bugs on the cpu device, bound to a problem and checked.
// Header-only. Device and build cache are shared by the tests of one program.

#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "build/builder.h"
#include "check/checker.h"
#include "device/registry.h"
#include "family/operator.h"
#include "family/problem.h"
#include "family/variant.h"
#include "launch/loaded_variant.h"
#include "system/file_system.h"
#include "tests/helpers/operators/scale_family.h"
#include "tests/helpers/test_folder.h"

namespace mgtune {

inline Result<Operator> decode_planted(const std::string& name,
                                       std::map<std::string, std::string> files) {
  auto sources = std::make_shared<SourceTree>();
  sources->folder = "planted";
  sources->files = std::move(files);
  return decode_operator("planted", name, sources);
}

class CheckerTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    cache_ = new TestFolder();
    Result<std::unique_ptr<Device>> device = open_device("cpu");
    ASSERT_TRUE(device.ok()) << device.status().message();
    device_ = device->release();
  }
  static void TearDownTestSuite() {
    delete std::exchange(device_, nullptr);
    delete std::exchange(cache_, nullptr);
  }

  void SetUp() override {
    ASSERT_NE(device_, nullptr);
    ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
    use("scale", {{"scale.json", kScaleJson},
                  {"scale.cu", kScaleSource},
                  {"reference.cu", kScaleReference}});
  }

  void use(const std::string& name, std::map<std::string, std::string> files) {
    Result<Operator> decoded = decode_planted(name, std::move(files));
    ASSERT_TRUE(decoded.ok()) << decoded.status().message();
    op_ = std::make_unique<Operator>(std::move(*decoded));
  }

  void bind(const std::map<std::string, std::string>& values,
            std::optional<Checker::Compare> compare = std::nullopt) {
    Result<Problem> problem = bind_problem(*op_, values);
    ASSERT_TRUE(problem.ok()) << problem.status().message();
    problem_ = std::move(*problem);
    loaded_.reset();
    Result<std::unique_ptr<Checker>> checker = Checker::make(*device_, builder_, problem_, compare);
    ASSERT_TRUE(checker.ok()) << checker.status().message();
    checker_ = std::move(*checker);
  }

  // What making a checker says of the operator and a problem that can be bound.
  Status making_status(const std::map<std::string, std::string>& values) {
    const Result<Problem> problem = bind_problem(*op_, values);
    EXPECT_TRUE(problem.ok()) << problem.status().message();
    return problem.ok() ? Checker::make(*device_, builder_, *problem).status() : problem.status();
  }

  Result<std::unique_ptr<LoadedVariant>> load(const std::string& text) {
    MGTUNE_ASSIGN(const Variant variant, parse_variant(*op_, text));
    MGTUNE_ASSIGN(const Slots slots,
                  compile_slots(problem_.binding(), variant, device_->info().limits));
    MGTUNE_ASSIGN(const BuildRequest request,
                  variant_build_request(*op_, variant, slots, device_->info().arch));
    MGTUNE_ASSIGN(const Build build, builder_.build(request));
    return LoadedVariant::load(*device_, problem_.binding(), variant, build);
  }

  CheckRecord check(const std::string& text) {
    Result<std::unique_ptr<LoadedVariant>> loaded = load(text);
    EXPECT_TRUE(loaded.ok()) << loaded.status().message();
    if (!loaded.ok()) return {Outcome::crashed, "", 0, 0};
    loaded_ = std::move(*loaded);
    Result<CheckRecord> record = checker_->check(*loaded_);
    EXPECT_TRUE(record.ok()) << record.status().message();
    return record.ok() ? *record : CheckRecord{Outcome::crashed, "", 0, 0};
  }

  // Of the variant that was checked last.
  Result<std::vector<LaunchArguments>> launch_arguments(std::int64_t sets) {
    const std::array<const LoadedVariant*, 1> variants = {loaded_.get()};
    MGTUNE_ASSIGN(auto arguments, checker_->launch_arguments(variants, sets));
    return std::move(arguments.front());
  }

  void expect_wrong(const std::string& text, const std::string& part) {
    const CheckRecord record = check(text);
    EXPECT_EQ(record.outcome, Outcome::wrong);
    EXPECT_THAT(record.message, ::testing::HasSubstr(part));
  }

  inline static TestFolder* cache_ = nullptr;
  inline static Device* device_ = nullptr;
  Builder builder_{BuildCache(FileSystem::real(), cache_->path())};
  std::unique_ptr<Operator> op_;
  Problem problem_;
  std::unique_ptr<Checker> checker_;
  std::unique_ptr<LoadedVariant> loaded_;
};

using Values = std::map<std::string, std::string>;
inline const Values kSmall{{"rows", "4"}, {"columns", "100"}, {"T", "f32"}};
inline const Values kStrided{
    {"rows", "4"}, {"columns", "100"}, {"x_stride", "104"}, {"y_stride", "112"}, {"T", "f32"}};
inline const Values kSummed{{"rows", "4"}, {"columns", "100"}, {"T", "f32"}, {"sum", "true"}};

}  // namespace mgtune
