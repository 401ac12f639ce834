#include <gtest/gtest.h>

#include "device/registry.h"

namespace mgtune {
namespace {

DeviceInfo gpu(int index, const std::string& name, const std::string& uuid) {
  DeviceInfo info;
  info.kind = DeviceKind::cuda;
  info.index = index;
  info.name = name;
  info.id = uuid;
  return info;
}

DeviceInfo cpu() {
  DeviceInfo info;
  info.id = info.name = info.arch = "cpu";
  return info;
}

const std::vector<DeviceInfo> kOnlyCpu = {cpu()};
const std::vector<DeviceInfo> kServer = {gpu(0, "NVIDIA L4", "GPU-1111"),
                                         gpu(1, "NVIDIA H200", "GPU-2222"),
                                         gpu(2, "NVIDIA L4", "GPU-3333"),
                                         gpu(3, "NVIDIA RTX 6000 Ada Generation", "GPU-4444"),
                                         gpu(4, "NVIDIA H200 MIG 1g.18gb", "MIG-5555"),
                                         gpu(5, "NVIDIA A100 80GB PCIe", "GPU-6666"),
                                         cpu()};
const char kServerText[] =
    "; devices here: NVIDIA L4 (0), NVIDIA H200 (1), NVIDIA L4 (2), NVIDIA RTX 6000 Ada Generation"
    " (3), NVIDIA H200 MIG 1g.18gb (4), NVIDIA A100 80GB PCIe (5), cpu";

Result<std::vector<DeviceInfo>> select_in(const std::vector<DeviceInfo>& devices,
                                          const std::string& word) {
  return select_among(devices, shipped_gpu_products().value(), word);
}

// The ids of what the word selects on the server.
std::vector<std::string> ids(const std::string& word) {
  const Result<std::vector<DeviceInfo>> selected = select_in(kServer, word);
  if (!selected.ok()) return {selected.status().message()};
  std::vector<std::string> texts;
  for (const DeviceInfo& device : *selected) texts.push_back(device.id);
  return texts;
}

void expect_failure(const std::vector<DeviceInfo>& devices, const std::string& word,
                    StatusCode code, const std::string& message) {
  const Status status = select_in(devices, word).status();
  EXPECT_EQ(status.code(), code) << word;
  EXPECT_EQ(status.message(), message) << word;
}

using Ids = std::vector<std::string>;

TEST(DeviceSelection, ProductNamesAndAliasesPickTheFirstSuchGpu) {
  for (const char* word : {"L4", "l4", "NVIDIA L4"}) EXPECT_EQ(ids(word), Ids{"GPU-1111"}) << word;
  for (const char* word : {"H200", "H200 SXM"}) EXPECT_EQ(ids(word), Ids{"GPU-2222"}) << word;
}

TEST(DeviceSelection, AWordOfSeveralProductsMeansAnyOfThem) {
  EXPECT_EQ(ids("A100"), Ids{"GPU-6666"});
  EXPECT_EQ(ids("A100-80GB"), Ids{"GPU-6666"});
}

TEST(DeviceSelection, AMigInstanceIsAnInstanceOfItsProduct) {
  const std::vector<DeviceInfo> devices = {kServer[4], cpu()};
  EXPECT_EQ(select_in(devices, "H200")->at(0).id, "MIG-5555");
}

TEST(DeviceSelection, AGpuWithoutAFileAnswersToItsDriversName) {
  EXPECT_EQ(ids("NVIDIA RTX 6000 Ada Generation"), Ids{"GPU-4444"});
  EXPECT_EQ(ids("rtx 6000 ada generation"), Ids{"GPU-4444"});
}

TEST(DeviceSelection, IndexAndUuid) {
  EXPECT_EQ(ids("2"), Ids{"GPU-3333"});
  EXPECT_EQ(ids("GPU-3333"), Ids{"GPU-3333"});
  EXPECT_EQ(ids("gpu-3333"), Ids{"GPU-3333"});
  EXPECT_EQ(ids("MIG-5555"), Ids{"MIG-5555"});
}

TEST(DeviceSelection, AllAutoAndCpu) {
  EXPECT_EQ(ids("all").size(), 6u);
  EXPECT_EQ(ids("auto"), Ids{"GPU-1111"});
  EXPECT_EQ(ids("cpu"), Ids{"cpu"});
  EXPECT_EQ(select_in(kOnlyCpu, "auto")->at(0).id, "cpu");
  EXPECT_EQ(select_in(kOnlyCpu, "cpu")->at(0).id, "cpu");
}

TEST(DeviceSelection, WhatIsKnownButNotHereIsTheEnvironmentsFault) {
  const StatusCode code = StatusCode::environment;
  expect_failure(kOnlyCpu, "L4", code, "no L4 in this machine; devices here: cpu");
  expect_failure(kOnlyCpu, "all", code, "no GPU in this machine; devices here: cpu");
  expect_failure(kOnlyCpu, "0", code, "no GPU with index 0 in this machine; devices here: cpu");
  expect_failure(kOnlyCpu, "GPU-9", code,
                 "no GPU with UUID GPU-9 in this machine; devices here: cpu");
  expect_failure(kServer, "B200", code, std::string("no B200 in this machine") + kServerText);
  expect_failure(kServer, "6", code,
                 std::string("no GPU with index 6 in this machine") + kServerText);
  expect_failure({}, "auto", code, "no cpu device in this machine; devices here: none");
  const std::string huge(30, '9');
  expect_failure(kOnlyCpu, huge, code,
                 "no GPU with index " + huge + " in this machine; devices here: cpu");
}

TEST(DeviceSelection, WhatIsNotKnownIsTheCallersFault) {
  const StatusCode code = StatusCode::invalid_argument;
  std::string known;
  for (const GpuProduct& product : shipped_gpu_products().value()) {
    known += (known.empty() ? "; GPUs that mgtune knows: " : ", ") + product.name;
  }
  expect_failure(kOnlyCpu, "L44", code,
                 "no GPU is called 'L44'; did you mean 'L4'?; devices here: cpu" + known);
  expect_failure(kOnlyCpu, "l44", code,
                 "no GPU is called 'l44'; did you mean 'L4'?; devices here: cpu" + known);
  expect_failure(kOnlyCpu, "atuo", code,
                 "no GPU is called 'atuo'; did you mean 'auto'?; devices here: cpu" + known);
  expect_failure(kOnlyCpu, "", code, "no GPU is called ''; devices here: cpu" + known);
  expect_failure(kOnlyCpu, "-1", code, "no GPU is called '-1'; devices here: cpu" + known);
  expect_failure(kOnlyCpu, "toaster", code,
                 "no GPU is called 'toaster'; devices here: cpu" + known);
}

TEST(DeviceSelection, AListNamesGpusOneByOne) {
  EXPECT_EQ(ids("0,2"), (Ids{"GPU-1111", "GPU-3333"}));
  EXPECT_EQ(ids("2,0,2"), (Ids{"GPU-3333", "GPU-1111"})) << "in its order, each once";
  EXPECT_EQ(ids("H200,GPU-3333"), (Ids{"GPU-2222", "GPU-3333"}));
  EXPECT_EQ(ids("0,9"), Ids{std::string("no GPU with index 9 in this machine") + kServerText});
  for (const char* word : {"0,", ",0", "0,,1", "0,all", "cpu,0", "auto,1"}) {
    expect_failure(
        kServer, word, StatusCode::invalid_argument,
        "'" + std::string(word) + "': a list names GPUs, each by an index, a UUID or a product");
  }
}

TEST(DeviceSelection, SuggestsWhatTheDriverCallsAGpuHere) {
  const Status status = select_in(kServer, "NVIDIA RTX 6000 Ada Generaton").status();
  EXPECT_EQ(status.code(), StatusCode::invalid_argument);
  EXPECT_NE(status.message().find("did you mean 'NVIDIA RTX 6000 Ada Generation'?"),
            std::string::npos);
}

}  // namespace
}  // namespace mgtune
