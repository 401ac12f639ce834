#include <gtest/gtest.h>

#include "store/file/store_file.h"

namespace mgtune {
namespace {

TEST(JournalMode, NetworkFileSystemsHaveNoWal) {
  for (const std::uint32_t magic :
       {0x6969u, 0xff534d42u, 0xfe534d42u, 0x0bd00bd0u, 0x65735546u, 0x47504653u, 0x01021997u}) {
    EXPECT_TRUE(is_network_file_system(magic)) << std::hex << magic;
  }
}

TEST(JournalMode, LocalFileSystemsHaveWal) {
  // ext4, xfs, btrfs, tmpfs, overlayfs, zfs
  for (const std::uint32_t magic :
       {0xef53u, 0x58465342u, 0x9123683eu, 0x01021994u, 0x794c7630u, 0x2fc12fc1u}) {
    EXPECT_FALSE(is_network_file_system(magic)) << std::hex << magic;
  }
}

TEST(JournalMode, WhereNothingCanBeAskedTheSaferOneHolds) {
  EXPECT_FALSE(can_have_wal("/no/such/file"));
}

}  // namespace
}  // namespace mgtune
