#include "plan/compile_processes.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/helpers/test_folder.h"

namespace mgtune {
namespace {

class CompileProcessesTest : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& content) const {
    const std::filesystem::path file = folder_.path() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << content;
  }
  std::size_t of(std::size_t cores) const {
    return default_compile_processes(folder_.path(), cores);
  }

  TestFolder folder_;
};

TEST_F(CompileProcessesTest, OnePerCoreHoweverMany) {
  EXPECT_EQ(of(1), 1U);
  EXPECT_EQ(of(192), 192U) << "nothing is known that limits";
  write("/proc/meminfo", "MemTotal: 1048576000 kB\nMemAvailable:   1000000000 kB\n");
  EXPECT_EQ(of(192), 192U);
}

TEST_F(CompileProcessesTest, EachNeedsMemory) {
  write("/proc/meminfo", "MemTotal: 16777216 kB\nMemAvailable:   4194304 kB\n");
  EXPECT_EQ(of(192), 8U) << "4 GiB, 512 MiB each";
  write("/proc/meminfo", "MemAvailable: 1000 kB\n");
  EXPECT_EQ(of(192), 1U) << "one at least";
}

TEST_F(CompileProcessesTest, TheGroupsAndThoseAboveThemLimit) {
  write("/proc/self/cgroup", "0::/slurm/job_7\n");
  write("/sys/fs/cgroup/slurm/job_7/cpu.max", "max 100000\n");
  write("/sys/fs/cgroup/slurm/job_7/memory.max", "max\n");
  EXPECT_EQ(of(64), 64U);
  write("/sys/fs/cgroup/slurm/cpu.max", "1250000 100000\n");
  EXPECT_EQ(of(64), 13U) << "12.5 cores";
  write("/sys/fs/cgroup/slurm/job_7/memory.max", "3221225472\n");
  EXPECT_EQ(of(64), 6U) << "3 GiB";
}

TEST_F(CompileProcessesTest, AContainersGroupIsTheTopmostItSees) {
  write("/proc/self/cgroup", "1:name=systemd:/x\n0::/\n");
  write("/sys/fs/cgroup/cpu.max", "200000 100000\n");
  EXPECT_EQ(of(64), 2U);
}

}  // namespace
}  // namespace mgtune
