#include "build/kernel_binaries.h"

#include <gtest/gtest.h>

namespace mgtune {
namespace {

TEST(KernelBinaries, ComeBackAsTheyWere) {
  const std::vector<std::string> binaries = {std::string("\x7f\0ELF\n", 6), "",
                                             "mgtune kernels 1\n"};
  EXPECT_EQ(split_binaries(join_binaries(binaries)).value(), binaries);
}

TEST(KernelBinaries, ACubinIsAListOfOne) {
  EXPECT_EQ(split_binaries("\x7f"
                           "ELF...")
                .value(),
            std::vector<std::string>{"\x7f"
                                     "ELF..."});
  EXPECT_EQ(split_binaries("").value(), std::vector<std::string>{""});
}

TEST(KernelBinaries, EveryCutAndEveryAdditionIsFound) {
  const std::string joined = join_binaries({"first", "second"});
  EXPECT_EQ(joined, "mgtune kernels 2\n5\n6\nfirstsecond");
  for (std::size_t bytes = std::string("mgtune kernels ").size(); bytes < joined.size(); ++bytes) {
    EXPECT_EQ(split_binaries(joined.substr(0, bytes)).status().code(), StatusCode::corrupt)
        << bytes;
  }
  EXPECT_EQ(split_binaries(joined + "!").status().code(), StatusCode::corrupt);
}

TEST(KernelBinaries, SizesThatLieAreRefused) {
  for (const char* const lie :
       {"mgtune kernels 18446744073709551615\n1\nx", "mgtune kernels 1\n18446744073709551615\nx",
        "mgtune kernels -1\n1\nx", "mgtune kernels 1\n-1\nx", "mgtune kernels \n"}) {
    EXPECT_EQ(split_binaries(lie).status().code(), StatusCode::corrupt) << lie;
  }
}

}  // namespace
}  // namespace mgtune
