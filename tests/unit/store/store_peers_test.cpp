#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "store/store.h"
#include "tests/helpers/store_fixture.h"

namespace mgtune {
namespace {

using testing::ElementsAre;

class StorePeersTest : public StoreTest {
 protected:
  static PeerView peer(const std::string& name, double median_ns,
                       const std::string& measured_at = "2026-11-23T09:00:00Z") {
    PeerView view;
    view.op = "rmsnorm.backward";
    view.problem = "rows=4096 hidden=4096 T=bf16 dw=true";
    view.bytes = 1e8;
    view.peer = {name,
                 "2.11.0",
                 "NVIDIA H200",
                 "graph",
                 "580.159.04",
                 "13.0",
                 "torch 2.11.0",
                 measured_at,
                 "out/peers.json",
                 median_ns,
                 median_ns - 1,
                 median_ns + 1,
                 21};
    return view;
  }

  static std::vector<std::string> names(Store& store, const std::string& op = "") {
    std::vector<std::string> names;
    for (const PeerView& view : *store.peers(op)) names.push_back(view.peer.name);
    return names;
  }
};

TEST_F(StorePeersTest, ATimeComesBackWithEverythingThatIsKnownOfIt) {
  Store store = open();
  const PeerView written = peer("torch.compile", 52700);
  const Result<PeerCounts> counts = store.import_peers({written});
  ASSERT_TRUE(counts.ok()) << counts.status().message();
  EXPECT_EQ(counts->added, 1);
  EXPECT_EQ(counts->known, 0);
  const std::vector<PeerView> read = *store.peers();
  ASSERT_EQ(read.size(), 1U);
  EXPECT_EQ(read[0].op, written.op);
  EXPECT_EQ(read[0].problem, written.problem);
  EXPECT_EQ(read[0].bytes, 1e8);
  EXPECT_TRUE(read[0].peer == written.peer);
  EXPECT_TRUE(store.peers("rmsnorm.forward")->empty());
  EXPECT_EQ(store.peers("rmsnorm.backward")->size(), 1U);
}

TEST_F(StorePeersTest, TheFastestComesFirst) {
  Store store = open();
  ASSERT_TRUE(store.import_peers({peer("eager", 90000), peer("torch.compile", 52700)}).ok());
  EXPECT_THAT(names(store), ElementsAre("torch.compile", "eager"));
}

TEST_F(StorePeersTest, ASecondImportAddsNothingAlsoFromAnotherFile) {
  Store store = open();
  ASSERT_TRUE(store.import_peers({peer("eager", 90000)}).ok());
  PeerView copy = peer("eager", 90000);
  copy.peer.source = "copy.json";
  const PeerCounts counts = *store.import_peers({copy, peer("torch.compile", 52700)});
  EXPECT_EQ(counts.known, 1);
  EXPECT_EQ(counts.added, 1);
  EXPECT_EQ(store.peers()->back().peer.source, "out/peers.json");
}

TEST_F(StorePeersTest, TheNewestTimeOfAnImplementationCounts) {
  Store store = open();
  ASSERT_TRUE(store.import_peers({peer("eager", 90000, "2026-11-24T09:00:00Z")}).ok());
  ASSERT_TRUE(store.import_peers({peer("eager", 80000, "2026-11-22T09:00:00Z")}).ok());
  ASSERT_TRUE(store.import_peers({peer("eager", 70000, "")}).ok());
  ASSERT_EQ(store.peers()->size(), 1U);
  EXPECT_EQ(store.peers()->front().peer.median_ns, 90000);
}

TEST_F(StorePeersTest, OtherVersionsMethodsAndGpusStandBesideEachOther) {
  Store store = open();
  std::vector<PeerView> all(4, peer("eager", 90000));
  all[1].peer.version = "2.9.0";
  all[2].peer.method = "profiler";
  all[3].peer.gpu = "NVIDIA H100 80GB HBM3";
  EXPECT_EQ(store.import_peers(all)->added, 4);
  EXPECT_EQ(store.peers()->size(), 4U);
}

TEST_F(StorePeersTest, AMergeBringsThePeersOfTheOtherStoresOnce) {
  const std::string other = folder_.file("other.db");
  {
    Store store = Store::open(other, Store::Mode::read_write).value();
    ASSERT_TRUE(store.import_peers({peer("eager", 90000), peer("torch.compile", 52700)}).ok());
  }
  Store store = open();
  ASSERT_TRUE(store.import_peers({peer("eager", 90000)}).ok());
  for (int time = 0; time < 2; ++time) {
    const Result<MergeCounts> merged = store.merge({other});
    ASSERT_TRUE(merged.ok()) << merged.status().message();
    EXPECT_THAT(names(store), ElementsAre("torch.compile", "eager"));
  }
}

TEST_F(StorePeersTest, ATimeThatIsNotANumberIsNotWritten) {
  Store store = open();
  PeerView wrong = peer("eager", 90000);
  wrong.peer.median_ns = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(store.import_peers({peer("torch.compile", 52700), wrong}).ok());
  EXPECT_TRUE(store.peers()->empty());  // nothing of a failed import
}

}  // namespace
}  // namespace mgtune
