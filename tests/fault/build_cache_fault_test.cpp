// A damaged or hostile build cache costs a compile, never a wrong build.

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "build/build_cache.h"
#include "build/builder.h"
#include "build/cache_entry.h"
#include "core/sha256.h"
#include "tests/fault/faulty_file_system.h"
#include "tests/fault/swapping_file_system.h"
#include "tests/helpers/fakes/fake_device.h"
#include "tests/helpers/long_lane.h"
#include "tests/helpers/start_child.h"
#include "tests/helpers/test_folder.h"

namespace mgtune {
namespace {

std::string key_of(const std::string& name) { return sha256_hex(name); }

Build make_artifact(const std::string& name, const std::string& binary) {
  Build build;
  build.key = key_of(name);
  build.arch = "cpu";
  build.binary = binary;
  build.sha256 = sha256_hex(binary);
  build.kernels = {{"k<float, 4>", "_Z1k", 32, 0, 128}};
  build.log = "a warning\n";
  return build;
}

class BuildCacheFault : public testing::Test {
 protected:
  BuildCacheFault() : directory_(folder_.file("cache")) {
    EXPECT_TRUE(cache().store(build_).ok());
    entry_ = *FileSystem::real().read_file(entry_path());
  }

  BuildCache cache() const { return {FileSystem::real(), directory_}; }
  std::string path_of(const std::string& key) const { return directory_ + "/" + key + ".build"; }
  std::string entry_path() const { return path_of(build_.key); }

  // Puts `bytes` where the entry was; unlike FileSystem without a sync, which costs milliseconds.
  void plant(const std::string& bytes) const {
    std::ofstream(entry_path(), std::ios::binary) << bytes;
    ASSERT_EQ(::chmod(entry_path().c_str(), 0600), 0);
  }

  // Puts a symbolic link to a new file in the place of the entry.
  void link_entry_to(const std::string& file, const std::string& content) const {
    ASSERT_TRUE(FileSystem::real().write_file(file, content).ok());
    ASSERT_TRUE(FileSystem::real().remove(entry_path()).ok());
    ASSERT_EQ(::symlink(file.c_str(), entry_path().c_str()), 0);
  }

  void expect_quarantined(const std::string& what) const {
    ASSERT_FALSE(cache().load(build_.key).has_value()) << what;
    ASSERT_FALSE(std::filesystem::exists(std::filesystem::symlink_status(entry_path()))) << what;
  }

  TestFolder folder_;
  std::string directory_;
  Build build_ = make_artifact("k", "binary\n\0with every kind of byte \xff");
  std::string entry_;
};

TEST_F(BuildCacheFault, EveryFlippedByteIsAMiss) {
  ASSERT_TRUE(cache().load(build_.key).has_value());
  for (std::size_t i = 0; i < entry_.size(); ++i) {
    for (const int mask : {0x01, 0x20, 0x80, 0xff}) {
      std::string damaged = entry_;
      damaged[i] = static_cast<char>(damaged[i] ^ mask);
      ASSERT_FALSE(decode_cache_entry(build_.key, damaged).ok()) << i << " ^ " << mask;
    }
    std::string damaged = entry_;
    damaged[i] = static_cast<char>(~damaged[i]);
    plant(damaged);
    expect_quarantined("byte " + std::to_string(i));
  }
}

TEST_F(BuildCacheFault, EveryLengthButItsOwnIsAMiss) {
  for (std::size_t length = 0; length < entry_.size(); ++length) {
    plant(entry_.substr(0, length));
    expect_quarantined(std::to_string(length) + " bytes");
  }
  plant(entry_ + "x");
  expect_quarantined("one byte more");
}

TEST_F(BuildCacheFault, ADamagedEntryIsCompiledAgainBeforeTheDriverSeesIt) {
  const SourceTree sources{"family", {{"a.cu", "a"}}};
  const BuildRequest request{&sources, "a.cu", {"k<1>"}, "cpu"};
  Builder builder(cache(), [](const std::string&) -> Result<std::unique_ptr<Compiler>> {
    return std::unique_ptr<Compiler>(std::make_unique<FakeCompiler>(""));
  });
  const Build intact = builder.build(request).value();
  build_.key = intact.key;  // where plant() puts things
  const std::string entry = *FileSystem::real().read_file(path_of(intact.key));
  std::map<std::string, int> loaded;  // how often the device loaded each binary
  FakeDevice device;
  device.on_load = [&](const Build& build) {
    ++loaded[build.binary];
    return Status();
  };
  int damaged = 0;
  const auto load_from = [&](const std::string& bytes) {
    plant(bytes);
    const Result<Build> build = builder.build(request);
    ASSERT_TRUE(build.ok());
    ASSERT_TRUE(device.load(*build).ok());
    ASSERT_EQ(builder.compiled(), 1 + ++damaged);
    ASSERT_EQ(*FileSystem::real().read_file(path_of(intact.key)), entry);  // and it healed
  };
  const std::size_t step = in_long_lane(1, 25);
  for (std::size_t i = 0; i < entry.size(); i += step) {
    std::string flipped = entry;
    flipped[i] = static_cast<char>(flipped[i] ^ 0x10);
    load_from(flipped);
    load_from(entry.substr(0, i));
  }
  EXPECT_EQ(loaded, (std::map<std::string, int>{{intact.binary, damaged}}));
}

TEST_F(BuildCacheFault, AnotherKeysEntryIsAMiss) {
  const Build other = make_artifact("other", "other binary");
  ASSERT_TRUE(cache().store(other).ok());
  plant(*FileSystem::real().read_file(path_of(other.key)));
  expect_quarantined("entry of another key");
  EXPECT_TRUE(cache().load(other.key).has_value());
}

TEST_F(BuildCacheFault, LengthsThatLieAreRefusedWithoutAllocatingThem) {
  for (const char* length : {"4294967296", "18446744073709551615", "99999999999999999999", "-1"}) {
    const std::string header = std::string("key ") + length + "\nabc\n";
    plant("mgtune build 1\n" + sha256_hex(header) + " " + std::to_string(header.size()) + "\n" +
          header);
    expect_quarantined(std::string("a field of ") + length);
    plant("mgtune build 1\n" + sha256_hex(header) + " " + length + "\n" + header);
    expect_quarantined(std::string("a header of ") + length);
  }
  const std::string many = "key 0\n\narch 0\n\nsha256 0\n\nkernels 10\n2147483647\n";
  plant("mgtune build 1\n" + sha256_hex(many) + " " + std::to_string(many.size()) + "\n" + many);
  expect_quarantined("two thousand million kernels");
}

TEST_F(BuildCacheFault, AFourGigabyteEntryIsNotRead) {
  ASSERT_EQ(::truncate(entry_path().c_str(), off_t{4} << 30), 0);  // sparse
  rusage before{}, after{};
  ::getrusage(RUSAGE_SELF, &before);
  expect_quarantined("4 GiB");
  ::getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 64 << 10);  // KiB
}

TEST_F(BuildCacheFault, ALinkIsNotFollowed) {
  const std::string elsewhere = folder_.file("elsewhere");
  ASSERT_NO_FATAL_FAILURE(link_entry_to(elsewhere, entry_));  // would verify
  expect_quarantined("symbolic link");
  EXPECT_EQ(*FileSystem::real().read_file(elsewhere), entry_);  // the link went, not its target
}

TEST_F(BuildCacheFault, StoringOverALinkReplacesIt) {
  const std::string elsewhere = folder_.file("elsewhere");
  ASSERT_NO_FATAL_FAILURE(link_entry_to(elsewhere, "precious"));
  ASSERT_TRUE(cache().store(build_).ok());
  EXPECT_EQ(*FileSystem::real().read_file(elsewhere), "precious");
  EXPECT_EQ(cache().load(build_.key)->binary, build_.binary);
}

// A second name of a file is as good as the file; what it held stays under the first.
TEST_F(BuildCacheFault, AHardLinkIsReadAsItsFileAndNeverWrittenThrough) {
  const std::string precious = folder_.file("precious");
  ASSERT_TRUE(FileSystem::real().write_file(precious, "precious").ok());
  ASSERT_TRUE(FileSystem::real().remove(entry_path()).ok());
  ASSERT_EQ(::link(precious.c_str(), entry_path().c_str()), 0);
  expect_quarantined("hard link");
  ASSERT_EQ(::link(precious.c_str(), entry_path().c_str()), 0);
  ASSERT_TRUE(cache().store(build_).ok());
  EXPECT_EQ(*FileSystem::real().read_file(precious), "precious");
  EXPECT_EQ(cache().load(build_.key)->binary, build_.binary);
}

TEST_F(BuildCacheFault, AWriteThatFailsNamesTheFile) {
  ASSERT_TRUE(FileSystem::real().remove(entry_path()).ok());
  FaultyFileSystem files(Fault::refused, 1);  // after the directory was created
  const Status status = BuildCache(files, directory_).store(build_);
  EXPECT_EQ(status.code(), StatusCode::io);
  EXPECT_EQ(status.message(), "cannot write " + entry_path() + ": No space left on device");
}

// Mounts an empty file system over /proc, for this process alone; whoever is not root becomes one
// in a user namespace for it.
bool hide_proc() {
  const uid_t user = ::geteuid();
  if (::unshare(user == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  if (user != 0) {
    std::ofstream map("/proc/self/uid_map");
    if (!(map << user << ' ' << user << " 1" << std::flush)) return false;
  }
  return ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount("none", "/proc", "tmpfs", 0, nullptr) == 0 && ::access("/proc/self", F_OK) != 0;
}

TEST_F(BuildCacheFault, ADirectoryThatIsSwappedAfterItsCheckIsNotWrittenTo) {
  const std::string elsewhere = folder_.file("elsewhere"), moved = folder_.file("moved");
  std::filesystem::create_directory(elsewhere);
  SwappingFileSystem files([&] {
    std::filesystem::rename(directory_, moved);
    std::filesystem::create_directory_symlink(elsewhere, directory_);
  });
  const Build other = make_artifact("other", "other binary");
  EXPECT_TRUE(BuildCache(files, directory_).store(other).ok());
  EXPECT_TRUE(std::filesystem::is_empty(elsewhere));
  EXPECT_EQ(BuildCache(FileSystem::real(), moved).load(other.key)->binary, other.binary);
}

// As in a chroot or a container without /proc.
TEST_F(BuildCacheFault, BuildsAreKeptWhereProcIsNotMounted) {
  constexpr int kCannotHide = 77;
  const Build other = make_artifact("other", "other binary");
  const pid_t child = start_child([&] {
    if (!hide_proc()) return kCannotHide;
    BuildCache hidden = cache();
    if (!hidden.store(other).ok()) return 1;
    const std::optional<Build> loaded = hidden.load(other.key);
    return loaded && loaded->binary == other.binary && hidden.load(build_.key) ? 0 : 2;
  });
  const int status = wait_for(child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kCannotHide) {
    GTEST_SKIP() << "this process may not mount anything over /proc";
  }
  EXPECT_EQ(status, 0);
  EXPECT_EQ(cache().load(other.key)->binary, other.binary);
}

TEST_F(BuildCacheFault, AFifoIsAMissAndDoesNotHang) {
  ASSERT_TRUE(FileSystem::real().remove(entry_path()).ok());
  ASSERT_EQ(::mkfifo(entry_path().c_str(), 0600), 0);
  ::alarm(10);
  expect_quarantined("FIFO");
  ::alarm(0);
}

TEST_F(BuildCacheFault, AFolderInThePlaceOfAnEntryIsAMissOnce) {
  ASSERT_TRUE(FileSystem::real().remove(entry_path()).ok());
  ASSERT_TRUE(FileSystem::real().create_directories(entry_path(), 0700).ok());
  EXPECT_FALSE(cache().load(build_.key).has_value());
  EXPECT_TRUE(cache().store(build_).ok());
  EXPECT_TRUE(cache().load(build_.key).has_value());
}

TEST_F(BuildCacheFault, AnEntryThatOthersMayWriteIsAMiss) {
  for (const mode_t mode : {0620u, 0602u, 0666u}) {
    plant(entry_);
    ASSERT_EQ(::chmod(entry_path().c_str(), mode), 0);
    expect_quarantined("mode " + std::to_string(mode));
  }
}

TEST_F(BuildCacheFault, ADirectoryThatOthersMayWriteIsNotUsedAndNotTouched) {
  for (const mode_t mode : {0770u, 0707u, 0777u, 01777u}) {
    ASSERT_EQ(::chmod(directory_.c_str(), mode), 0);
    testing::internal::CaptureStderr();
    EXPECT_FALSE(cache().load(build_.key).has_value());
    EXPECT_FALSE(cache().store(make_artifact("new", "new")).ok());
    const std::string warning = testing::internal::GetCapturedStderr();
    const bool first = mode == 0770;  // one warning a process and directory
    EXPECT_EQ(warning, first ? "mgtune: warning: builds are not cached: " + directory_ +
                                   " can be written by other users\n"
                             : "");
    EXPECT_TRUE(std::filesystem::exists(entry_path()));
    EXPECT_FALSE(std::filesystem::exists(path_of(key_of("new"))));
  }
  ASSERT_EQ(::chmod(directory_.c_str(), 0700), 0);
  EXPECT_TRUE(cache().load(build_.key).has_value());
}

TEST_F(BuildCacheFault, ABuildThatIsNotKeptIsSaidOnce) {
  const std::string directory = entry_path() + "/cache";  // below a file
  testing::internal::CaptureStderr();
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(BuildCache(FileSystem::real(), directory).store(build_).ok());
  }
  const std::string warning = testing::internal::GetCapturedStderr();
  EXPECT_EQ(warning.find("mgtune: warning: builds are not cached: "), 0u);
  EXPECT_NE(warning.find("Not a directory"), std::string::npos);
  EXPECT_EQ(std::ranges::count(warning, '\n'), 1);
}

TEST_F(BuildCacheFault, ACheckSaysWhetherBuildsWouldBeKept) {
  EXPECT_TRUE(BuildCache::check(folder_.file("new/cache")).ok());
  EXPECT_TRUE(std::filesystem::is_empty(folder_.file("new/cache")));
  ASSERT_EQ(::chmod(directory_.c_str(), 0770), 0);
  EXPECT_EQ(BuildCache::check(directory_).message(), directory_ + " can be written by other users");
  EXPECT_EQ(BuildCache::check("").code(), StatusCode::environment);
}

TEST_F(BuildCacheFault, SomebodyElsesFilesAreNotUsed) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  constexpr uid_t kNobody = 65534;
  ASSERT_EQ(::chown(entry_path().c_str(), kNobody, static_cast<gid_t>(-1)), 0);
  expect_quarantined("entry of another user");
  plant(entry_);
  ASSERT_EQ(::chown(directory_.c_str(), kNobody, static_cast<gid_t>(-1)), 0);
  EXPECT_FALSE(cache().load(build_.key).has_value());
  EXPECT_TRUE(std::filesystem::exists(entry_path()));
}

TEST_F(BuildCacheFault, KeysThatAreNoHashesNameNoFile) {
  for (const std::string& key : {std::string("../escape"), std::string(), std::string(64, 'G'),
                                 "/" + std::string(63, 'a'), std::string(63, 'a')}) {
    Build build = build_;
    build.key = key;
    EXPECT_FALSE(cache().store(build).ok()) << key;
    EXPECT_FALSE(cache().load(key).has_value()) << key;
  }
  EXPECT_EQ(folder_.entries(), 1u);
}

TEST_F(BuildCacheFault, EveryFailingCallCostsAtMostACompile) {
  const Build wanted = make_artifact("wanted", std::string(3000, 'w'));
  for (const Fault fault : {Fault::refused, Fault::torn, Fault::silently_torn}) {
    int failing_call = 0;
    for (bool struck = true; struck; ++failing_call) {
      const TestFolder folder;
      const std::string directory = folder.file("cache");
      FaultyFileSystem files(fault, failing_call);
      // A full cache, so that eviction takes part: each store looks, and the second one evicts.
      BuildCache faulty(files, directory, 4000);
      static_cast<void>(faulty.store(make_artifact("old", std::string(3000, 'o'))));
      static_cast<void>(faulty.store(wanted));
      struck = files.struck();
      for (BuildCache reader : {BuildCache(FileSystem::real(), directory), faulty}) {
        const std::optional<Build> loaded = reader.load(wanted.key);
        ASSERT_TRUE(!loaded || (loaded->binary == wanted.binary && loaded->log == wanted.log));
      }
      // Without faults it heals: what is stored now is found.
      BuildCache healed(FileSystem::real(), directory);
      ASSERT_TRUE(healed.store(wanted).ok());
      ASSERT_EQ(healed.load(wanted.key)->binary, wanted.binary);
    }
    ASSERT_GE(failing_call, 6);  // creating, writing, listing: of both stores
  }
}

TEST_F(BuildCacheFault, ManyProcessesOnOneKeyReadCompleteEntries) {
  constexpr int kProcesses = 8, kRounds = 100;
  const auto work = [&](int process) {
    BuildCache shared(FileSystem::real(), directory_, 20'000);  // evictions while others read
    for (int round = 0; round < kRounds; ++round) {
      const std::string name = "shared " + std::to_string(round % 4);
      const std::string binary(2000, static_cast<char>('a' + process));
      if (!shared.store(make_artifact(name, binary)).ok()) return 1;
      const std::optional<Build> loaded = shared.load(key_of(name));
      // Any one process's bytes, but all of them from the same one.
      if (loaded && loaded->binary != std::string(2000, loaded->binary[0])) return 2;
    }
    return 0;
  };
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    children.push_back(start_child([&] { return work(process); }));
  }
  for (const pid_t child : children) EXPECT_EQ(wait_for(child), 0);
  const std::vector<std::string> names = *FileSystem::real().list_files(directory_);
  for (const std::string& name : names) {
    EXPECT_TRUE(name.ends_with(".build")) << name;  // no temporary stays
  }
}

TEST_F(BuildCacheFault, KilledWritersLeaveNoEntryThatIsWrong) {
  const Build large = make_artifact("large", std::string(4 << 20, 'l'));
  for (int round = 0; round < 10; ++round) {
    const pid_t child = start_child([&]() -> int {
      BuildCache writer = cache();
      while (true) static_cast<void>(writer.store(large));
    });
    ::usleep(static_cast<useconds_t>(3000 + 1700 * round));
    ::kill(child, SIGKILL);
    wait_for(child);
    const std::optional<Build> loaded = cache().load(large.key);
    ASSERT_TRUE(!loaded || loaded->binary == large.binary);
  }
}

}  // namespace
}  // namespace mgtune
