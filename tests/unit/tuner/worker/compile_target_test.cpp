#include <gtest/gtest.h>

#include "compile/compile_worker.h"

namespace mgtune {
namespace {

TEST(CompileTarget, WhatABuildDependsOnComesBack) {
  DeviceInfo device;
  device.kind = DeviceKind::cuda;
  device.id = "GPU-1";
  device.arch = "sm_90";
  device.limits = {90, 132, 232448, 62914560};
  const Result<DeviceInfo> again = decode_compile_target(compile_target_word(device));
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->kind, DeviceKind::cuda);
  EXPECT_EQ(again->id, "GPU-1");
  EXPECT_EQ(again->arch, "sm_90");
  EXPECT_EQ(again->limits.compute_capability, 90);
  EXPECT_EQ(again->limits.sm_count, 132);
  EXPECT_EQ(again->limits.max_shared_bytes, 232448);
  EXPECT_EQ(again->limits.l2_bytes, 62914560);
  device.arch = "cpu";
  EXPECT_EQ(decode_compile_target(compile_target_word(device))->kind, DeviceKind::cpu);
}

TEST(CompileTarget, AnythingElseIsRefused) {
  for (const char* word :
       {"", "GPU-1", "[]", "{}", R"({"id": "GPU-1", "arch": "sm_90"})",
        R"({"id": 1, "arch": "sm_90", "compute_capability": 90, "sm_count": 1,
            "max_shared_bytes": 1, "l2_bytes": 1})",
        R"({"id": "GPU-1", "arch": "sm_90", "compute_capability": "90", "sm_count": 1,
            "max_shared_bytes": 1, "l2_bytes": 1})"}) {
    EXPECT_EQ(decode_compile_target(word).status().code(), StatusCode::invalid_argument) << word;
  }
}

}  // namespace
}  // namespace mgtune
