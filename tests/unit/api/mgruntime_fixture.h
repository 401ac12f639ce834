// The fixture of the tests of the C interface: the cpu device with a family of its own.

#pragma once

#include <gtest/gtest.h>
#include <mgruntime/mgruntime.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "tests/helpers/mgr_plan_options.h"
#include "tests/helpers/test_folder.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {

inline const std::string kMgruntimeFamily = source_path("tests/families/vector_add");

// One context and plan of vector_add.add for all tests; planning compiles one variant.
class MgruntimeC : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TestFolder();
    ::setenv("MGTUNE_CACHE_DIR", folder_->file("cache").c_str(), 1);
    const std::string database = folder_->file("none.db");
    ASSERT_EQ(open("cpu", database.c_str(), &context_), MGR_OK) << mgr_last_error();
    ASSERT_EQ(plan(context_, "1000000", &plan_), MGR_OK) << mgr_last_error();
  }
  static void TearDownTestSuite() {
    mgr_plan_free(plan_);
    mgr_close(context_);
    delete folder_;
  }

  static mgr_status_t open(const char* device, const char* database, mgr_context_t** context) {
    const char* const families[] = {kMgruntimeFamily.c_str()};
    mgr_open_options_t options{};
    options.struct_size = sizeof(options);
    options.device = device;
    options.database = database;
    options.family_folders = families;
    options.family_folder_count = 1;
    return mgr_open(&options, context);
  }

  static mgr_status_t plan(mgr_context_t* context, const char* high, mgr_plan_t** plan) {
    return plan_with(context, {{"T", "f32"}}, {{"n", 0, std::atoll(high)}}, plan);
  }

  static mgr_status_t plan_with(mgr_context_t* context, std::vector<mgr_assignment_t> assignments,
                                std::vector<mgr_range_t> ranges, mgr_plan_t** plan,
                                const char* op = "vector_add.add") {
    const MgrPlanOptions options(op, std::move(assignments), std::move(ranges));
    return mgr_plan(context, options.get(), plan);
  }

  // The message of planning with these words.
  static std::string refusal(std::vector<mgr_assignment_t> assignments,
                             std::vector<mgr_range_t> ranges, const char* op = "vector_add.add") {
    mgr_plan_t* none = nullptr;
    EXPECT_EQ(plan_with(context_, std::move(assignments), std::move(ranges), &none, op),
              MGR_INVALID_ARGUMENT);
    EXPECT_EQ(none, nullptr);
    return mgr_last_error();
  }

  static std::string explained(const mgr_plan_t* plan, std::int64_t n) {
    std::vector<char> text(4096);
    EXPECT_EQ(mgr_explain(plan, &n, 1, text.data(), text.size(), nullptr), MGR_OK)
        << mgr_last_error();
    return text.data();
  }

  inline static TestFolder* folder_ = nullptr;
  inline static mgr_context_t* context_ = nullptr;
  inline static mgr_plan_t* plan_ = nullptr;
};

// Three vectors in the device's memory, freed at the end.
struct DeviceVectors {
  DeviceVectors(mgr_context_t* owner, const std::vector<float>& x, const std::vector<float>& y)
      : context(owner) {
    const std::size_t bytes = x.size() * sizeof(float);
    for (void*& tensor : tensors) EXPECT_EQ(mgr_allocate(context, bytes, &tensor), MGR_OK);
    EXPECT_EQ(mgr_copy_to_device(context, tensors[0], x.data(), bytes), MGR_OK);
    EXPECT_EQ(mgr_copy_to_device(context, tensors[1], y.data(), bytes), MGR_OK);
  }
  DeviceVectors(const DeviceVectors&) = delete;
  DeviceVectors& operator=(const DeviceVectors&) = delete;
  ~DeviceVectors() {
    for (void* tensor : tensors) mgr_free(context, tensor);
  }
  mgr_context_t* context;
  void* tensors[3] = {};
};

}  // namespace mgtune
