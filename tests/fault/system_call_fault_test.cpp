// Every system call of writing a file and of the build cache fails in turn: a published file is the
// old one or the new one, whole; no temporary file and no descriptor stays; the message names the
// file.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>

#include "build/build_cache.h"
#include "build/cache_entry.h"
#include "cli/exit_code.h"
#include "core/sha256.h"
#include "system/file_descriptor.h"
#include "system/file_system.h"
#include "tests/fault/faulty_system_calls.h"
#include "tests/helpers/test_folder.h"

namespace mgtune {
namespace {

using FaultMode = FaultySystemCalls::Mode;
using testing::HasSubstr;

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

struct Fault {
  int call;
  int error;
  FaultMode mode;
};

std::string describe(const Fault& fault, const std::string& name) {
  return "call " + std::to_string(fault.call) + " (" + name + "), " + std::strerror(fault.error) +
         ", mode " + std::to_string(static_cast<int>(fault.mode));
}

// Calls `work` until it makes fewer calls than the one that is to fail; `check` gets what struck.
// Returns the names of the calls that failed.
std::set<std::string> at_every_call(
    const std::function<Status()>& work,
    const std::function<void(const Fault&, const std::string&, const Status&)>& check) {
  std::set<std::string> calls;
  for (const FaultMode mode : {FaultMode::once, FaultMode::from_then_on, FaultMode::half_a_write}) {
    for (const int error : {ENOSPC, EIO, EDQUOT}) {
      for (int call = 0;; ++call) {
        const Fault fault{call, error, mode};
        const std::size_t descriptors = open_descriptors();
        Status status;
        std::string struck;
        {
          FaultySystemCalls faults(call, error, mode);
          status = work();
          struck = faults.struck_call();
        }
        if (struck.empty()) break;
        calls.insert(struck);
        EXPECT_EQ(open_descriptors(), descriptors) << describe(fault, struck);
        check(fault, struck, status);
        if (testing::Test::HasFailure()) return calls;
      }
    }
  }
  return calls;
}

TEST(SystemCallFault, AWrittenFileIsTheOldOneOrTheNewOne) {
  const TestFolder folder;
  FileSystem& files = FileSystem::real();
  const std::string path = folder.file("report.html");
  const std::string old_text(300'000, 'o'), new_text(200'001, 'n');
  ASSERT_TRUE(files.write_file(path, old_text).ok());
  const std::set<std::string> calls = at_every_call(
      [&] { return files.write_file(path, new_text); },
      [&](const Fault& fault, const std::string& struck, const Status& status) {
        const std::string what = describe(fault, struck);
        const std::string now = *files.read_file(path);
        ASSERT_TRUE(now == old_text || now == new_text) << what;
        if (status.ok()) {
          ASSERT_TRUE(now == new_text) << what;
        }
        ASSERT_EQ(folder.entries(), 1u) << what;
        // Closing and opening the folder after all is done may fail unnoticed.
        if (!status.ok()) {
          ASSERT_EQ(exit_code(status.code()), ExitCode::data) << what;
          ASSERT_THAT(status.message(), HasSubstr(folder.path())) << what;
          ASSERT_THAT(status.message(), HasSubstr(std::strerror(fault.error))) << what;
          ASSERT_THAT(status.message(), Not(HasSubstr("XXXXXX"))) << what;
        } else {
          ASSERT_TRUE(struck == "close" || struck == "open" ||
                      fault.mode == FaultMode::half_a_write)
              << what;
        }
        ASSERT_TRUE(files.write_file(path, old_text).ok()) << what;
      });
  EXPECT_THAT(calls,
              testing::IsSupersetOf({"openat", "write", "fsync", "close", "renameat", "open"}));
}

TEST(SystemCallFault, AnUnsyncedFileIsTheOldOneOrTheNewOneToo) {
  const TestFolder folder;
  FileSystem& files = FileSystem::real();
  const std::string path = folder.file("entry.build");
  const FileDescriptor opened(::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_TRUE(files.write_file_unsynced(opened.get(), path, "old").ok());
  const std::set<std::string> calls = at_every_call(
      [&] { return files.write_file_unsynced(opened.get(), path, "new and longer"); },
      [&](const Fault& fault, const std::string& struck, const Status& status) {
        const std::string what = describe(fault, struck);
        const std::string now = *files.read_file(path);
        ASSERT_TRUE(now == "new and longer" || (!status.ok() && now == "old")) << what << now;
        ASSERT_EQ(folder.entries(), 1u) << what;
        ASSERT_TRUE(files.write_file_unsynced(opened.get(), path, "old").ok()) << what;
      });
  EXPECT_THAT(calls, testing::IsSupersetOf({"openat", "write", "close", "renameat"}));
  EXPECT_FALSE(calls.contains("fsync"));
}

TEST(SystemCallFault, AnInterruptedCallGoesUnnoticed) {
  const TestFolder folder;
  const std::string path = folder.file("file");
  for (int call = 0; call < 3; ++call) {
    const FaultySystemCalls faults(call, EINTR, FaultMode::once);
    const Status status = FileSystem::real().write_file(path, "content");
    if (faults.struck_call() == "write") {
      EXPECT_TRUE(status.ok());
    }
  }
  for (int call = 0; call < 3; ++call) {
    const FaultySystemCalls faults(call, EINTR, FaultMode::once);
    const Result<std::string> text = FileSystem::real().read_file(path);
    if (faults.struck_call() == "read") {
      EXPECT_EQ(*text, "content");
    }
  }
}

TEST(SystemCallFault, AFileThatIsTooLargeIsNotReadAtAll) {
  const TestFolder folder;
  const std::string path = folder.file("large");
  ASSERT_TRUE(FileSystem::real().write_file(path, "").ok());
  std::filesystem::resize_file(path, std::uintmax_t{1} << 30);  // without blocks on the disk
  std::set<std::string> calls;
  for (int call = 0; call < 4; ++call) {
    const FaultySystemCalls faults(call, EIO, FaultMode::once);
    const Status status = FileSystem::real().read_file(path).status();
    calls.insert(faults.struck_call());
    if (faults.struck_call() == "close") {
      EXPECT_EQ(status.message(), "cannot read " + path + ": over 512 MiB");
    }
    if (faults.struck_call() == "fstat") break;  // then its size is not known before it is read
  }
  EXPECT_FALSE(calls.contains("read"));
}

Build make_build(const std::string& name, std::size_t bytes) {
  Build build;
  build.key = sha256_hex(name);
  build.arch = "cpu";
  build.binary = std::string(bytes, 'b') + name;
  build.sha256 = sha256_hex(build.binary);
  build.kernels = {{"k<float, 4>", "_Z1k", 32, 0, 128}};
  return build;
}

class CacheCallFault : public testing::Test {
 protected:
  CacheCallFault() : directory_(folder_.file("cache")) {}

  BuildCache cache() const { return {FileSystem::real(), directory_, 10'000}; }

  // Each file there is a complete entry: nothing is left for the reader's checks to find.
  void expect_complete_entries(const std::string& what) const {
    const Result<std::vector<std::string>> names = FileSystem::real().list_files(directory_);
    if (!names.ok()) return;  // the directory itself was refused
    for (const std::string& name : *names) {
      ASSERT_TRUE(name.ends_with(".build")) << name << " stays: " << what;
      const std::string entry = *FileSystem::real().read_file(directory_ + "/" + name);
      ASSERT_TRUE(decode_cache_entry(name.substr(0, 64), entry).ok()) << what;
    }
  }

  TestFolder folder_;
  std::string directory_;
};

TEST_F(CacheCallFault, AStoreThatFailsLeavesWholeEntriesAlone) {
  const Build kept = make_build("kept", 3000), wanted = make_build("wanted", 5000),
              last = make_build("last", 3000);  // the third evicts
  testing::internal::CaptureStderr();
  const std::set<std::string> calls = at_every_call(
      [&] {
        BuildCache faulty = cache();
        Status status = faulty.store(kept);
        if (Status next = faulty.store(wanted); status.ok()) status = std::move(next);
        if (Status next = faulty.store(last); status.ok()) status = std::move(next);
        return status;
      },
      [&](const Fault& fault, const std::string& struck, const Status& status) {
        const std::string what = describe(fault, struck);
        expect_complete_entries(what);
        if (!status.ok()) {
          ASSERT_THAT(status.message(), HasSubstr(directory_)) << what;
          ASSERT_THAT(status.message(), HasSubstr(std::strerror(fault.error))) << what;
        }
        ASSERT_TRUE(cache().store(wanted).ok()) << what;
        ASSERT_EQ(cache().load(wanted.key)->binary, wanted.binary) << what;
        std::filesystem::remove_all(directory_);
      });
  testing::internal::GetCapturedStderr();
  EXPECT_THAT(calls, testing::IsSupersetOf({"mkdir", "openat", "write", "close", "renameat", "open",
                                            "fstat", "unlink"}));
}

TEST_F(CacheCallFault, ALoadThatFailsIsAMissAndHarmsNothing) {
  const Build build = make_build("kept", 3000);
  ASSERT_TRUE(cache().store(build).ok());
  const std::set<std::string> calls = at_every_call(
      [&] {
        const std::optional<Build> loaded = cache().load(build.key);
        EXPECT_TRUE(!loaded || loaded->binary == build.binary);
        return Status();
      },
      [&](const Fault& fault, const std::string& struck, const Status&) {
        ASSERT_TRUE(cache().load(build.key).has_value()) << describe(fault, struck);
      });
  EXPECT_THAT(calls, testing::IsSupersetOf({"open", "openat", "fstat", "read", "close"}));
}

TEST_F(CacheCallFault, ClearingThatFailsNamesTheFileAndCanBeRepeated) {
  const Build build = make_build("kept", 3000);
  ASSERT_TRUE(cache().store(build).ok());
  at_every_call([&] { return cache().clear().status(); },
                [&](const Fault& fault, const std::string& struck, const Status& status) {
                  const std::string what = describe(fault, struck);
                  if (!status.ok()) {
                    ASSERT_THAT(status.message(), HasSubstr(directory_)) << what;
                  }
                  if (struck == "unlink" && fault.mode != FaultMode::half_a_write) {
                    ASSERT_EQ(exit_code(status.code()), ExitCode::data) << what;
                  }
                  ASSERT_TRUE(cache().clear().ok()) << what;
                  ASSERT_TRUE(std::filesystem::is_empty(directory_)) << what;
                  ASSERT_TRUE(cache().store(build).ok()) << what;
                });
}

}  // namespace
}  // namespace mgtune
