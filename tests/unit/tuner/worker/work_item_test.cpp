#include "worker/work_item.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "core/sha256.h"
#include "system/file_system.h"
#include "tests/helpers/test_folder.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

// Builds everything, and says what the test wants it to say.
class TalkingCompiler final : public Compiler {
 public:
  explicit TalkingCompiler(std::string log) : log_(std::move(log)) {}

  const std::string& identity() const override { return identity_; }
  Result<Build> compile(const BuildRequest& request) override {
    Build build;
    build.arch = request.arch;
    build.binary = "binary";
    build.sha256 = sha256_hex(build.binary);
    build.log = log_;
    return build;
  }

 private:
  std::string identity_ = "test compiler 1";
  std::string log_;
};

class WorkItemTest : public testing::Test {
 protected:
  Result<Build> build(const std::string& log, BuildRecord& record) {
    const NamedProblem request{source_path("tests/families/vector_add"), "vector_add.add",
                               "n=1000 T=f32"};
    Catalog catalog(FileSystem::real());
    const WorkItem item = *bind_request(catalog, request, "flat THREADS=64 MODE=good");
    DeviceInfo device;
    device.arch = "sm_90a";
    Builder builder(BuildCache(FileSystem::real(), folder_.file("cache")),
                    [&log](const std::string&) -> Result<std::unique_ptr<Compiler>> {
                      return std::unique_ptr<Compiler>(std::make_unique<TalkingCompiler>(log));
                    });
    return build_item(builder, item, device, record);
  }

  const TestFolder folder_;
};

constexpr char kSerialized[] =
    "ptxas info    : (C7515) Potential Performance Loss: wgmma.mma_async instructions are "
    "serialized due to non wgmma instructions defining accumulator registers of a wgmma between "
    "start and end of the pipeline stage in the function 'k'";

TEST_F(WorkItemTest, TheCompilersLogIsKept) {
  BuildRecord record;
  EXPECT_TRUE(build("ptxas warning : x\n", record).ok());
  EXPECT_EQ(record.outcome, Outcome::ok);
  EXPECT_EQ(record.message, "ptxas warning : x\n");
  EXPECT_FALSE(record.sha256.empty());
}

TEST_F(WorkItemTest, OfALongLogTheFirstLinesAreKept) {
  std::string log;
  for (int line = 0; line < 200; ++line) {
    log += "ptxas warning : number " + std::to_string(1000 + line) + " of many\n";
  }
  BuildRecord record;
  EXPECT_TRUE(build(log, record).ok());
  const std::size_t kept = record.message.find('(');
  EXPECT_EQ(record.message.substr(kept),
            "(" + std::to_string(log.size() - kept) + " more bytes are left out)\n");
  EXPECT_LE(kept, 4097U);
  EXPECT_GT(kept, 4000U);
  EXPECT_EQ(record.message.substr(0, kept), log.substr(0, kept));
  EXPECT_EQ(log[kept - 1], '\n');
}

TEST_F(WorkItemTest, ABuildThatIsNotWhatWasWrittenHasFailed) {
  for (const bool from_cache : {false, true}) {
    BuildRecord record;
    const Result<Build> built =
        build(std::string("ptxas info    : 0 bytes gmem\n") + kSerialized + "\n", record);
    EXPECT_EQ(built.status().code(), StatusCode::compile_failed) << from_cache;
    EXPECT_EQ(record.outcome, Outcome::compile_failed) << from_cache;
    EXPECT_EQ(record.message, kSerialized) << from_cache;
    EXPECT_EQ(record.sha256, "") << from_cache;
    EXPECT_FALSE(record.key.empty()) << from_cache;
  }
}

}  // namespace
}  // namespace mgtune
