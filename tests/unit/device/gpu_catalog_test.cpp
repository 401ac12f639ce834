#include "device/gpu_catalog.h"

#include <gtest/gtest.h>

#include <set>

namespace mgtune {
namespace {

const std::string kFile = "configs/gpus/x.json";

std::string product(const std::string& member, const std::string& value) {
  const std::vector<std::pair<std::string, std::string>> members = {
      {"format", "1"},
      {"name", R"("L4")"},
      {"aliases", R"(["NVIDIA L4"])"},
      {"arch", R"("sm_89")"},
      {"sm_count", "58"},
      {"memory_gb", "24"},
      {"l2_mb", "48"},
      {"peak", R"({"bandwidth_gbps": 300, "fp32_tflops": 30.3, "fp16_dense_tflops": 121})"},
      {"source", R"("data sheet")"}};
  std::string text = "{";
  for (const auto& [name, given] : members) {
    if (name == member && value.empty()) continue;
    text += (text.size() > 1 ? ", \"" : "\"") + name + "\": " + (name == member ? value : given);
  }
  return text + "}";
}

std::string message_of(const std::string& json) {
  const Result<GpuProduct> gpu = decode_gpu_product(kFile, json);
  EXPECT_EQ(gpu.status().code(), StatusCode::invalid_argument);
  return gpu.status().message();
}

TEST(GpuCatalog, DecodesAProduct) {
  const GpuProduct gpu = decode_gpu_product(kFile, product("", "")).value();
  EXPECT_EQ(gpu.name, "L4");
  EXPECT_EQ(gpu.aliases, std::vector<std::string>{"NVIDIA L4"});
  EXPECT_EQ(gpu.arch, "sm_89");
  EXPECT_EQ(gpu.sm_count, 58);
  EXPECT_EQ(gpu.memory_gb, 24);
  EXPECT_EQ(gpu.l2_mb, 48);
  EXPECT_EQ(gpu.peak.bandwidth_gbps, 300);
  EXPECT_EQ(gpu.peak.fp32_tflops, 30.3);
  EXPECT_EQ(gpu.peak.fp16_dense_tflops, 121);
  EXPECT_EQ(gpu.peak.bf16_dense_tflops, 0);
  EXPECT_EQ(gpu.source, "data sheet");
}

TEST(GpuCatalog, ErrorsNameFilePlaceAndValue) {
  EXPECT_EQ(message_of(product("sm_count", R"("58")")),
            kFile + ": /sm_count: expected an integer from 1 to 1000000, got \"58\"");
  EXPECT_EQ(message_of(product("sm_count", "1.5")),
            kFile + ": /sm_count: expected an integer from 1 to 1000000, got 1.5");
  EXPECT_EQ(message_of(product("l2_mb", "0")),
            kFile + ": /l2_mb: expected an integer from 1 to 1000000, got 0");
  EXPECT_EQ(message_of(product("memory_gb", "99999999999999999999")),
            kFile + ": /memory_gb: the number 99999999999999999999 does not fit into 64 bits");
  EXPECT_EQ(message_of(product("name", "4")), kFile + ": /name: expected a text, got 4");
  EXPECT_EQ(message_of(product("aliases", R"(["a", 7])")),
            kFile + ": /aliases/1: expected a text, got 7");
  EXPECT_EQ(message_of(product("aliases", R"("a")")),
            kFile + ": /aliases: expected array, got \"a\"");
  EXPECT_EQ(message_of(product("arch", R"("ampere")")),
            kFile + ": /arch: expected an architecture such as sm_90, got \"ampere\"");
  EXPECT_EQ(message_of(product("format", "2")), kFile + ": /format: expected 1, got 2");
  EXPECT_EQ(message_of(product("source", "")), kFile + ": missing key 'source'");
  EXPECT_EQ(message_of("[]"), kFile + ": expected object, got an array");
}

TEST(GpuCatalog, ErrorsInsideOfPeakNameTheirPlace) {
  EXPECT_EQ(message_of(product("peak", "7")), kFile + ": /peak: expected object, got 7");
  EXPECT_EQ(message_of(product(
                "peak", R"({"bandwidth_gbps": "fast", "fp32_tflops": 1, "fp16_dense_tflops": 1})")),
            kFile + ": /peak/bandwidth_gbps: expected number, got \"fast\"");
  EXPECT_EQ(message_of(product(
                "peak", R"({"bandwidth_gbps": 300, "fp32_tflops": -1, "fp16_dense_tflops": 1})")),
            kFile + ": /peak/fp32_tflops: expected a number above 0, got -1");
  EXPECT_EQ(message_of(product("peak", R"({"bandwith_gbps": 300})")),
            kFile + ": /peak: unknown key 'bandwith_gbps'; did you mean 'bandwidth_gbps'?");
}

TEST(GpuCatalog, MalformedTextNamesFileAndLine) {
  const std::string message = message_of("{\n\"format\": 1,\n oops}");
  EXPECT_TRUE(message.starts_with(kFile + ": ")) << message;
  EXPECT_NE(message.find("line 3"), std::string::npos) << message;
  EXPECT_TRUE(message_of("").starts_with(kFile));
}

TEST(GpuCatalog, WordsMatchInAnyCase) {
  const GpuProduct gpu = decode_gpu_product(kFile, product("", "")).value();
  EXPECT_TRUE(gpu.is_called("l4"));
  EXPECT_TRUE(gpu.is_called("nvidia L4"));
  EXPECT_FALSE(gpu.is_called("L40S"));
  EXPECT_FALSE(gpu.is_called(""));
}

TEST(GpuCatalog, ShippedProductsDecodeAndHaveTheirOwnNames) {
  const Result<std::vector<GpuProduct>> products = shipped_gpu_products();
  ASSERT_TRUE(products.ok()) << products.status().message();
  std::set<std::string> names;
  for (const GpuProduct& gpu : *products) names.insert(gpu.name);
  EXPECT_EQ(names.size(), products->size());
  for (const char* name : {"T4", "L4", "L40S", "H200", "B200"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

}  // namespace
}  // namespace mgtune
