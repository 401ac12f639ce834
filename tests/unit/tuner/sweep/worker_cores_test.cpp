// Which cores the workers of a sweep get, by a made-up /sys, and that they run on them.

#include "plan/worker_cores.h"

#include <filesystem>
#include <fstream>

#include "tests/helpers/problem_sweep_fixture.h"
#include "tests/helpers/test_folder.h"

namespace mgtune {
namespace {

class WorkerCoresTest : public testing::Test {
 protected:
  // A GPU of which /sys says this; "": the file is missing.
  DeviceInfo gpu(const std::string& near) {
    DeviceInfo device;
    device.kind = DeviceKind::cuda;
    device.pci_address = "0000:" + std::to_string(10 + number_++) + ":00.0";
    if (near.empty()) return device;
    const std::string folder = folder_.path() + "/sys/bus/pci/devices/" + device.pci_address;
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/local_cpulist") << near << '\n';
    return device;
  }

  // "the cores of each device; those of compile processes"
  std::string of(const std::string& own, const std::vector<DeviceInfo>& devices) const {
    const WorkerCores workers = worker_cores(folder_.path(), parse_cores(own).value(), devices);
    std::string text;
    for (const Cores& cores : workers.measure) text += cores_text(cores) + "; ";
    return text + cores_text(workers.compile);
  }

  TestFolder folder_;
  int number_ = 0;
};

TEST_F(WorkerCoresTest, AWorkerIsNearItsGpuAndCompilersTakeTheOtherCores) {
  const DeviceInfo first = gpu("0-15,32-47"), second = gpu("16-31,48-63");
  EXPECT_EQ(of("0-63", {first}), "0-15,32-47; 16-31,48-63");
  EXPECT_EQ(of("0-63", {second}), "16-31,48-63; 0-15,32-47");
  EXPECT_EQ(of("0-63", {first, second}), "0-15,32-47; 16-31,48-63; ") << "no core is left";
}

TEST_F(WorkerCoresTest, OnlyCoresOfThisProcessCount) {
  const DeviceInfo near = gpu("0-15");
  EXPECT_EQ(of("8-23", {near}), "8-15; 16-23");
  EXPECT_EQ(of("16-31", {near}), "; ") << "no core of this process is near the GPU";
  EXPECT_EQ(of("4-11", {near}), "; ") << "all of them are";
}

TEST_F(WorkerCoresTest, WorkersThatShareANodeNeedTwoCoresEach) {
  const DeviceInfo first = gpu("0-15"), second = gpu("0-15");
  EXPECT_EQ(of("12-31", {first, second}), "12-15; 12-15; 16-31");
  EXPECT_EQ(of("13-31", {first, second}), "; ; ");
  EXPECT_EQ(of("13-31", {first}), "13-15; 16-31");
}

TEST_F(WorkerCoresTest, WhatIsNotKnownDoesNotLimit) {
  const DeviceInfo unknown = gpu(""), odd = gpu("all of them"), cpu;
  EXPECT_EQ(of("0-31", {unknown}), "; ");
  EXPECT_EQ(of("0-31", {odd}), "; ");
  EXPECT_EQ(of("0-31", {cpu}), "; ");
  EXPECT_EQ(of("", {gpu("0-15")}), "; ");
  EXPECT_EQ(of("0-31", {unknown, gpu("0-15")}), "; 0-15; 16-31");
  EXPECT_FALSE(cores_near(folder_.path(), unknown.pci_address).has_value());
}

// Of a sweep: its fakes write down which cores they may use.
class CoresOfSweepTest : public ProblemSweepTest {
 protected:
  std::set<std::string> lines_of_workers() const {
    std::ifstream file(folder_.file("cores"));
    std::set<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.insert(line);
    return lines;
  }
};

TEST_F(CoresOfSweepTest, ItsProcessesRunWhereTheyAreTold) {
  const Cores own = own_cores();
  ASSERT_FALSE(own.empty());
  const std::string first = std::to_string(own.front()), last = std::to_string(own.back());
  const Variable log("FAKE_WORKER_CORES", folder_.file("cores"));
  options_.compile_processes = 2;
  options_.cores = {.measure = {{own.front()}}, .compile = {own.back()}};
  sweep();
  const std::string all = cores_text(own);
  EXPECT_EQ(lines_of_workers(), (std::set<std::string>{"measure on " + first, "compile on " + last,
                                                       "compile on " + all}));
}

}  // namespace
}  // namespace mgtune
