#include "store/journal_mode.h"

#include <sys/vfs.h>

#include <algorithm>
#include <array>

namespace mgtune {
namespace {

// File systems that other hosts can have mounted too, or that may lack shared memory maps.
// Written out because <linux/magic.h> lacks half of them.
constexpr std::array<std::uint32_t, 15> kNetworkMagic = {
    0x00006969,  // NFS
    0x0000517b,  // SMB
    0xff534d42,  // CIFS
    0xfe534d42,  // SMB2
    0x0bd00bd0,  // Lustre
    0x65735546,  // FUSE: sshfs, gcsfuse, s3fs
    0x47504653,  // GPFS
    0x19830326,  // BeeGFS
    0x00c36400,  // Ceph
    0xaad7aaea,  // Panasas
    0x5346414f,  // OpenAFS
    0x01021997,  // 9P: WSL, virtual machines
    0x786f4256,  // VirtualBox shared folders
    0x01161970,  // GFS2
    0x7461636f,  // OCFS2
};

}  // namespace

JournalMode journal_mode_for(std::uint32_t file_system_magic) {
  const bool network = std::ranges::find(kNetworkMagic, file_system_magic) != kNetworkMagic.end();
  return network ? JournalMode::delete_on_commit : JournalMode::wal;
}

JournalMode journal_mode_at(const std::string& path) {
  struct statfs info {};
  if (::statfs(path.c_str(), &info) != 0) return JournalMode::delete_on_commit;
  return journal_mode_for(static_cast<std::uint32_t>(info.f_type));
}

}  // namespace mgtune
