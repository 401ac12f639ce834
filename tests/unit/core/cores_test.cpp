#include "system/cores.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

#include "system/process.h"

namespace mgtune {
namespace {

TEST(Cores, TheListsOfTheSystemAreReadAndWritten) {
  EXPECT_EQ(parse_cores("0-3,8,10-11\n").value(), (Cores{0, 1, 2, 3, 8, 10, 11}));
  EXPECT_EQ(parse_cores("5,1-2,2").value(), (Cores{1, 2, 5}));
  EXPECT_EQ(parse_cores("\n").value(), Cores());
  for (const char* text : {"0-3,8,10-11", "7", ""}) {
    EXPECT_EQ(cores_text(parse_cores(text).value()), text);
  }
}

TEST(Cores, NothingElseIsAList) {
  for (const char* text : {"all", "3-1", "-1", "1,,2", "0-", "0-99999999", "1 2"}) {
    EXPECT_EQ(parse_cores(text).status().code(), StatusCode::corrupt) << text;
  }
}

std::string cores_of_child(const Cores& cores) {
  Subprocess command;
  command.arguments = {"sh", "-c", "grep ^Cpus_allowed_list /proc/self/status | cut -f 2"};
  command.cores = cores;
  return run_subprocess(command).value().output;
}

TEST(Cores, AProgramRunsOnItsOwnOnes) {
  const Cores own = own_cores();
  ASSERT_FALSE(own.empty());
  EXPECT_EQ(cores_of_child({}), cores_text(own) + "\n");
  EXPECT_EQ(cores_of_child({own.back()}), std::to_string(own.back()) + "\n");
  EXPECT_EQ(own_cores(), own);
}

// "compile processes: 32" stood in a sweep that taskset held to 16 of 32 cores.
TEST(Cores, OnlyThoseOfTheMaskAreCounted) {
  const Cores own = own_cores();
  ASSERT_FALSE(own.empty());
  EXPECT_EQ(own_core_count(), own.size());
  std::size_t counted = 0;
  std::thread held([&] {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    CPU_SET(static_cast<std::size_t>(own.back()), &mask);
    ASSERT_EQ(::sched_setaffinity(0, sizeof(mask), &mask), 0);  // of this thread alone
    counted = own_core_count();
  });
  held.join();
  EXPECT_EQ(counted, 1U);
}

TEST(Cores, AProgramRunsEvenIfTheMachineHasNoSuchCore) {
  EXPECT_EQ(cores_of_child({60'000}), cores_text(own_cores()) + "\n");
}

}  // namespace
}  // namespace mgtune
