// attention.decode on the cpu device: lengths at the edges of tiles, parts and pages, groups, both
// ways of adding parts up, by the tuner's own check (NaN behind the lengths and in pages that are
// not used, entries of the block table that name no page). And where its ladder leads.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/helpers/gpu_limits.h"
#include "tests/helpers/kernels/ladders.h"
#include "tests/helpers/kernels/operator_check.h"
#include "tests/helpers/long_lane.h"

namespace mgtune {
namespace {

struct Split {
  int rows = 16, block_n = 16, warps = 2, stages = 2;
  const char* combine = "last_block";
  int grid_blocks = 16, blocks_per_sm = 1;

  std::string text(bool pdl = false) const {
    const auto word = [](const char* name, int value) {
      return " " + std::string(name) + "=" + std::to_string(value);
    };
    return "split" + word("ROWS", rows) + word("BLOCK_N", block_n) + word("WARPS", warps) +
           word("STAGES", stages) + word("BLOCKS_PER_SM", blocks_per_sm) +
           word("GRID_BLOCKS", grid_blocks) + " COMBINE=" + combine +
           " PDL=" + (pdl ? "true" : "false");
  }
};

// The design that shares the keys out evenly. Its grid has 8 * BLOCKS_PER_SM blocks at most.
struct Even {
  int rows = 16, block_n = 16, warps = 2, stages = 2, blocks_per_sm = 4, least = 1;

  std::string text(bool pdl = false) const {
    const auto word = [](const char* name, int value) {
      return " " + std::string(name) + "=" + std::to_string(value);
    };
    return "even" + word("ROWS", rows) + word("BLOCK_N", block_n) + word("WARPS", warps) +
           word("STAGES", stages) + word("BLOCKS_PER_SM", blocks_per_sm) + word("LEAST", least) +
           " PDL=" + (pdl ? "true" : "false");
  }
};

struct Shape {
  int kv_len, q_len = 1, heads = 1, kv_heads = 1, batch = 1, head_dim = 64;

  std::string text(const std::string& more) const {
    const auto word = [](const char* name, int value) {
      return std::string(name) + "=" + std::to_string(value) + ",";
    };
    return word("batch", batch) + word("q_len", q_len) + word("kv_len", kv_len) +
           word("heads", heads) + word("kv_heads", kv_heads) + word("head_dim", head_dim) + more;
  }
};

// One for all tests: it keeps what it builds.
OperatorCheck& decode() {
  static OperatorCheck check("attention.decode");
  return check;
}

template <class VariantOfADesign>
void expect_right(const VariantOfADesign& variant, const std::vector<Shape>& shapes,
                  const std::string& more) {
  std::vector<std::string> problems;
  for (const Shape& shape : shapes) problems.push_back(shape.text(more));
  decode().expect_right({{variant.text(), problems}});
}

TEST(AttentionDecode, EqualsTheReferenceAtEveryLength) {
  std::vector<Shape> shapes;
  for (const int kv_len : {0, 1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 130}) {
    shapes.push_back({kv_len, 1, 4, 1});
  }
  expect_right(Split{}, shapes, "lse=true,T=bf16");
}

// Lengths differ: some sequences end in their first part, some are empty.
TEST(AttentionDecode, SequencesHaveTheirOwnLengths) {
  expect_right(Split{}, {{100, 1, 4, 2, 7}}, "total_kv=260,lse=true,T=f16");
  expect_right(Split{16, 16, 2, 2, "kernel"}, {{100, 1, 4, 2, 7}, {65, 3, 2, 1, 3}},
               "total_kv=90,causal=true,lse=true,T=f16");
}

TEST(AttentionDecode, RowsAreTheQueriesOfAGroup) {
  for (const char* combine : {"last_block", "kernel"}) {
    expect_right(Split{16, 16, 2, 2, combine},
                 {{70, 1, 6, 2},
                  {70, 2, 8, 1},
                  {70, 5, 3, 3},
                  {70, 16, 2, 2},
                  {9, 16, 1, 1},
                  {70, 3, 16, 1}},
                 "causal=true,lse=true,T=bf16");
  }
  expect_right(Split{32, 16, 4, 2}, {{70, 5, 8, 1}, {40, 16, 4, 2}}, "causal=true,lse=true,T=f16");
}

TEST(AttentionDecode, QueriesMaySeeEachOther) {
  expect_right(Split{16, 32, 2, 3}, {{50, 4, 4, 2}}, "T=bf16");
}

TEST(AttentionDecode, CachesMayLieInPages) {
  std::vector<Shape> shapes;
  for (const int kv_len : {0, 1, 15, 16, 17, 64, 100}) shapes.push_back({kv_len, 1, 4, 2, 2});
  expect_right(Split{}, shapes, "paged=true,lse=true,T=bf16");
  const Shape uneven{70, 2, 2, 1, 5};
  for (const char* pages : {"page_size=1,pages=300", "page_size=7,pages=60",
                            "page_size=64,pages=12,max_pages=4", "page_size=256,pages=6"}) {
    expect_right(Split{16, 64, 2, 2, "kernel"}, {uneven},
                 std::string(pages) + ",total_kv=180,paged=true,causal=true,T=f16");
  }
}

TEST(AttentionDecode, StridesMayLeaveGaps) {
  expect_right(Split{}, {{40, 2, 4, 2, 2}},
               "q_sb=1024,q_ss=320,q_sh=72,k_sb=8000,k_ss=184,k_sh=80,v_sb=9600,v_ss=240,v_sh=64,"
               "o_sb=1600,o_ss=272,o_sh=64,capacity=43,T=f16");
  // Pages of whole heads.
  expect_right(Split{}, {{40, 1, 4, 2, 2}},
               "k_ss=64,k_sh=1024,v_ss=64,v_sh=1024,page_size=16,paged=true,T=f16");
}

TEST(AttentionDecode, WindowsHideWhatIsFar) {
  for (const char* combine : {"last_block", "kernel"}) {
    expect_right(Split{16, 16, 2, 2, combine}, {{150, 1, 2, 1, 2}, {90, 5, 2, 1}, {20, 3, 2, 1}},
                 "windowed=true,window=37,causal=true,lse=true,T=bf16");
  }
  expect_right(Split{}, {{90, 5, 2, 1}}, "windowed=true,window=2,paged=true,capped=true,T=f16");
}

TEST(AttentionDecode, LogitsMayBeCapped) {
  expect_right(Split{}, {{70, 2, 4, 2}}, "capped=true,lse=true,T=bf16");
}

TEST(AttentionDecode, HasEveryHeadDimension) {
  expect_right(Split{16, 32, 4, 2}, {{140, 2, 4, 2, 1, 96}}, "causal=true,lse=true,T=f16");
  expect_right(Split{16, 16, 8, 2}, {{140, 1, 4, 1, 1, 128}, {300, 1, 4, 1, 1, 128}},
               "lse=true,T=bf16");
  expect_right(Split{16, 16, 2, 2}, {{70, 1, 4, 1, 1, 256}}, "paged=true,T=bf16");
  expect_right(Split{32, 16, 2, 2}, {{70, 5, 4, 1, 1, 128}}, "causal=true,T=f16");
}

// 32 runs: a run is a part of a sequence, or has several sequences, some of which are empty.
TEST(AttentionDecodeEven, RunsBeginAndEndAnywhere) {
  std::vector<Shape> shapes;
  for (const int kv_len : {0, 1, 16, 17, 130, 333}) shapes.push_back({kv_len, 1, 4, 1});
  expect_right(Even{}, shapes, "lse=true,T=bf16");
  for (const char* lengths : {"total_kv=0", "total_kv=40"}) {
    expect_right(Even{}, {{40, 1, 4, 1, 50}}, std::string(lengths) + ",lse=true,T=f16");
  }
  expect_right(Even{}, {{40, 1, 3, 3, 33}, {100, 1, 8, 8, 9}}, "total_kv=700,lse=true,T=f16");
  expect_right(Even{16, 16, 4, 2, 2}, {{60, 1, 3, 3, 70}}, "total_kv=1000,lse=true,T=bf16");
}

// A run of 16 tiles: the only one, or one of two.
TEST(AttentionDecodeEven, SmallProblemsHaveFewRuns) {
  expect_right(Even{16, 16, 2, 2, 4, 8}, {{100, 1, 4, 1}, {500, 1, 4, 1}, {255, 1, 4, 1, 2}},
               "lse=true,T=bf16");
}

TEST(AttentionDecodeEven, RowsAreTheQueriesOfAGroup) {
  expect_right(
      Even{},
      {{70, 1, 7, 1, 3}, {70, 3, 8, 1}, {70, 16, 2, 2, 2}, {9, 16, 1, 1}, {70, 1, 128, 1, 2}},
      "causal=true,lse=true,T=bf16");
  expect_right(Even{32, 16, 2, 2, 4}, {{70, 5, 8, 1, 3}, {40, 16, 4, 2}, {50, 1, 128, 1}},
               "causal=true,lse=true,T=f16");
}

TEST(AttentionDecodeEven, CachesMayLieInPages) {
  const Shape uneven{70, 2, 2, 1, 5};
  for (const char* pages : {"page_size=1,pages=300", "page_size=7,pages=60",
                            "page_size=64,pages=12,max_pages=4", "page_size=16,pages=30"}) {
    expect_right(Even{}, {uneven},
                 std::string(pages) + ",total_kv=180,paged=true,causal=true,T=f16");
  }
}

TEST(AttentionDecodeEven, WindowsHideWhatIsFar) {
  expect_right(Even{}, {{150, 1, 2, 1, 2}, {90, 5, 2, 1}, {20, 3, 2, 1, 40}},
               "windowed=true,window=37,causal=true,lse=true,T=bf16");
  expect_right(Even{}, {{90, 5, 2, 1}}, "windowed=true,window=2,paged=true,capped=true,T=f16");
}

TEST(AttentionDecodeEven, HasEveryHeadDimension) {
  expect_right(Even{16, 32, 2, 2, 2}, {{140, 2, 4, 2, 3, 96}}, "causal=true,lse=true,T=f16");
  expect_right(Even{16, 16, 4, 2, 1}, {{300, 1, 4, 1, 3, 128}}, "total_kv=500,lse=true,T=bf16");
  expect_right(Even{16, 16, 2, 2, 1}, {{70, 1, 4, 1, 3, 256}}, "paged=true,T=bf16");
}

TEST(AttentionDecodeEven, StridesMayLeaveGaps) {
  expect_right(Even{}, {{40, 2, 4, 2, 2}},
               "q_sb=1024,q_ss=320,q_sh=72,k_sb=8000,k_ss=184,k_sh=80,v_sb=9600,v_ss=240,v_sh=64,"
               "o_sb=1600,o_ss=272,o_sh=64,capacity=43,T=f16");
}

TEST(AttentionDecode, SampleOfTheSpaceIsRight) {
  if (!in_long_lane(true, false)) GTEST_SKIP() << "in the long lane";
  for (const int head_dim : {64, 96, 128, 256}) {
    decode().expect_right(
        {Shape{200, 3, 8, 1, 2, head_dim}.text("causal=true,lse=true,total_kv=300,T=bf16"),
         Shape{333, 1, 4, 1, 2, head_dim}.text("paged=true,T=f16"),
         Shape{150, 7, 4, 1, 1, head_dim}.text("windowed=true,window=30,T=bf16")},
        12);
  }
}

TEST(AttentionDecodeLadder, ServesEveryProblemFromAmpereOn) {
  for (const int head_dim : {64, 96, 128, 256}) {
    for (const char* flags : {"", "causal=true,", "windowed=true,window=9,", "capped=true,",
                              "paged=true,page_size=3,"}) {
      for (const Shape& shape : {Shape{1, 1, 1, 1, 1, head_dim}, Shape{0, 16, 64, 1, 7, head_dim},
                                 Shape{100000, 1, 32, 8, 300, head_dim}}) {
        for (const DeviceLimits& device : {kA100, kL4, kH200}) {
          const std::string words = shape.text(std::string(flags) + "T=bf16");
          EXPECT_NE(decode().first_of_ladder(words, device), "none") << words;
        }
      }
    }
  }
}

// A block that has its SM to itself while there are SMs enough for all, smaller ones otherwise, and
// smaller ones where shared memory holds less.
TEST(AttentionDecodeLadder, TakesTheTilesThatFit) {
  const auto first = [&](int batch, int head_dim, const DeviceLimits& device) {
    return decode().first_of_ladder(Shape{300, 1, 32, 8, batch, head_dim}.text("T=bf16"), device);
  };
  const auto rung = [](int block_n, int warps, bool pdl = false) {
    return Split{16, block_n, warps, 2, "last_block", 1}.text(pdl);
  };
  for (const int head_dim : {64, 96, 128}) {
    EXPECT_EQ(first(3, head_dim, kA100), rung(32, 4));
    EXPECT_EQ(first(16, head_dim, kH200), rung(32, 4, true));
    EXPECT_EQ(first(64, head_dim, kH200), head_dim == 128
                                              ? Split({16, 16, 4, 2, "last_block", 2, 3}).text(true)
                                              : rung(32, 4, true));
  }
  EXPECT_EQ(first(3, 256, kA100), rung(16, 4));
  EXPECT_EQ(first(64, 256, kH200), rung(16, 2));
  EXPECT_EQ(first(7, 128, kL4), rung(16, 4));
  EXPECT_EQ(first(64, 128, kL4), rung(16, 2));
  EXPECT_EQ(first(64, 256, kL4), rung(16, 2));
}

// Three blocks of four warps fit an SM, six of two warps. 400 blocks are four more than 132 SMs
// hold at once: four warps took 27.5 us, two take 24.2 us. 496 blocks and more fill most of a
// second wave, and 272 to 396 fit at once.
TEST(AttentionDecodeLadder, HasTwoWarpsIfFewBlocksWouldWaitForASecondWave) {
  const auto first = [&](int batch, const char* words, const DeviceLimits& device = kH200) {
    return decode().first_of_ladder(Shape{400, 1, 32, 8, batch, 128}.text(words), device);
  };
  const std::string two_warps = Split{16, 16, 2, 2, "last_block", 1}.text(false);
  EXPECT_EQ(first(50, "paged=true,T=bf16"), two_warps);
  for (const int batch : {50, 57, 61}) EXPECT_EQ(first(batch, "T=bf16"), two_warps);
  for (const int batch : {30, 34, 48, 64, 72}) EXPECT_NE(first(batch, "T=bf16"), two_warps);
  // An SM of an A100 holds two larger blocks: 328 of them are a wave and a half.
  EXPECT_NE(first(41, "T=bf16", kA100), two_warps);
}

// Blocks of few keys begin and end more often than they read, so three of them per SM take up to
// 14 % less time than two: 63 sequences of 134 keys took 20.4 us and take 17.5 us.
TEST(AttentionDecodeLadder, HasThreeBlocksPerSmForManyShortSequences) {
  const auto first = [&](int kv_len, int batch, const char* words = "T=bf16") {
    return decode().first_of_ladder(Shape{kv_len, 1, 32, 8, batch, 128}.text(words), kH200);
  };
  const std::string three_blocks = Split{16, 16, 4, 2, "last_block", 2, 3}.text(true);
  for (const int batch : {34, 49, 62, 100, 300})
    EXPECT_EQ(first(512, batch), three_blocks) << batch;
  EXPECT_EQ(first(134, 94), three_blocks);
  EXPECT_EQ(first(163, 80, "paged=true,T=bf16"), three_blocks);
  EXPECT_NE(first(513, 100), three_blocks);
  EXPECT_NE(first(512, 33), three_blocks) << "two blocks per SM";
  EXPECT_NE(first(512, 100, "total_kv=20000,T=bf16"), three_blocks) << "lengths differ";
}

// 8 heads of keys of 13 sequences leave 28 of 132 SMs idle. With PDL the next grid would take these
// first. With fewer blocks, of chunks that fit the rings, this matters less than what PDL saves.
TEST(AttentionDecodeLadder, HasNoDependentLaunchIfManySmsAreIdle) {
  const auto first = [&](int kv_len, int batch) {
    return decode().first_of_ladder(Shape{kv_len, 1, 32, 8, batch, 128}.text("T=bf16"), kH200);
  };
  EXPECT_THAT(first(5000, 13), testing::EndsWith("PDL=false"));
  EXPECT_THAT(first(256, 13), testing::HasSubstr("BLOCK_N=16 WARPS=4 STAGES=3 "));
  EXPECT_THAT(first(256, 7), testing::EndsWith("PDL=true"));
  EXPECT_THAT(first(3000, 16), testing::EndsWith("PDL=true"));
  EXPECT_THAT(first(5000, 17), testing::EndsWith("PDL=false")) << "128 of 132 SMs in the last wave";
  EXPECT_THAT(first(400, 30), testing::EndsWith("PDL=true")) << "24 of 132 SMs in the last wave";
}

// Tiles of 32 keys have one rung with PDL: where many SMs stay idle, its launches do not set it.
TEST(AttentionDecodeLadder, SetsUpTheNextGridEarlyOnlyIfFewSmsAreIdle) {
  const auto begins = [&](int kv_len, int kv_heads, const char* words) {
    const std::string text = Shape{kv_len, 1, 2 * kv_heads, kv_heads, 1, 128}.text(words);
    const auto problem = bind_problem(decode().op(), parse_assignments(text).value());
    return begins_early(problem.value(), Split{16, 32, 4, 2, "last_block", 1}.text(true), kH200);
  };
  EXPECT_TRUE(begins(20000, 64, "T=bf16")) << "128 blocks of 10,048 keys";
  EXPECT_FALSE(begins(20000, 50, "T=bf16")) << "100 blocks of 10,048 keys";
  EXPECT_TRUE(begins(500, 50, "T=bf16")) << "chunks that fit the rings";
}

std::string first_of_cluster(int blocks, int block_n, int stages, const char* pdl) {
  return "cluster ROWS=16 BLOCK_N=" + std::to_string(block_n) +
         " WARPS=4 STAGES=" + std::to_string(stages) +
         " BLOCKS_PER_SM=1 CLUSTER=" + std::to_string(blocks) + " PDL=" + pdl;
}

// The more blocks a cluster may have, the fewer SMs are idle. Clusters need free SMs of one group,
// so those of four and eight need at most 7/8 of all SMs. On an H200, three sequences of 1,277 keys
// took 9.0 us by `split` and take 7.3 us by clusters of four; five of 792 keys took 8.4 us and take
// 7.7 us by clusters of two.
TEST(AttentionDecodeLadder, AddsFewPartsUpInACluster) {
  const auto first = [&](int kv_len, int batch, const DeviceLimits& device = kH200) {
    return decode().first_of_ladder(Shape{kv_len, 1, 32, 8, batch, 128}.text("T=bf16"), device);
  };
  EXPECT_EQ(first(1024, 1), first_of_cluster(8, 16, 3, "true"));
  EXPECT_EQ(decode().first_of_ladder(Shape{813, 1, 28, 4, 3, 128}.text("T=bf16"), kH200),
            first_of_cluster(8, 16, 3, "true"));
  EXPECT_EQ(first(1024, 2), first_of_cluster(4, 16, 3, "true"));
  EXPECT_EQ(first(512, 3), first_of_cluster(4, 16, 3, "true"));
  EXPECT_EQ(first(1277, 3), first_of_cluster(4, 16, 3, "true"));
  EXPECT_EQ(first(300, 3), first_of_cluster(4, 16, 3, "true")) << "the fourth block has no keys";
  EXPECT_EQ(first(1702, 4), first_of_cluster(2, 32, 2, "true"));
  EXPECT_EQ(first(792, 5), first_of_cluster(2, 16, 3, "true"));
  EXPECT_EQ(first(8192, 6), first_of_cluster(2, 16, 3, "false"));
  EXPECT_EQ(first(8192, 8), first_of_cluster(2, 32, 2, "true"));
  EXPECT_THAT(first(128, 1), testing::StartsWith("split "));
  for (const int batch : {2, 3, 4}) {
    EXPECT_THAT(first(8192, batch), testing::StartsWith("split ")) << batch;
  }
  EXPECT_THAT(first(512, 3, kA100), testing::StartsWith("split "));
}

// A block that has more than four rows and one of at least five parts of a sequence is faster with
// eight warps than with four: 4 to 8 % for long sequences with 28/4 and 64/8 heads. If the block
// that ends last adds up so many parts, they take 2 % longer than by a second kernel (the median of
// 26 problems), and at most 17 %.
TEST(AttentionDecodeLadder, HasEightWarpsIfSequencesHaveManyPartsAndRows) {
  const auto first = [&](int kv_len, int heads, int kv_heads, int batch) {
    return decode().first_of_ladder(Shape{kv_len, 1, heads, kv_heads, batch, 128}.text("T=bf16"),
                                    kH200);
  };
  const std::string eight_warps = Split{16, 16, 8, 2, "kernel", 1}.text(true);
  EXPECT_EQ(first(8192, 28, 4, 1), eight_warps);
  EXPECT_EQ(first(5000, 64, 8, 1), eight_warps);
  EXPECT_EQ(first(8192, 64, 8, 3), eight_warps);
  EXPECT_NE(first(8192, 32, 8, 1), eight_warps) << "four rows";
  EXPECT_NE(first(8192, 64, 8, 5), eight_warps) << "three parts";
}

// The blocks of a cluster send each other the sums of all query heads of a KV head. With eight
// heads this pays for short chunks only, and even less so if the cache is paged: two paged
// sequences of 2,560 keys with 16 heads, of which eight share a KV head, took 8.8 us and take 7.5
// us.
TEST(AttentionDecodeLadder, HasClustersForShortChunksIfManyHeadsShareKeys) {
  const auto first = [&](int kv_len, int heads, int kv_heads, int batch, const char* paged = "") {
    return decode().first_of_ladder(
        Shape{kv_len, 1, heads, kv_heads, batch, 128}.text(paged + std::string("T=bf16")), kH200);
  };
  const std::string eight_warps = Split{16, 16, 8, 2, "kernel", 1}.text(true);
  const std::string cluster = first_of_cluster(8, 16, 3, "true");
  EXPECT_EQ(first(1310, 64, 8, 1), cluster);
  EXPECT_EQ(first(1620, 64, 8, 1), eight_warps);
  EXPECT_EQ(first(1620, 32, 8, 1), cluster) << "four heads";
  EXPECT_EQ(first(500, 64, 8, 1, "paged=true,"), cluster);
  EXPECT_EQ(first(1332, 64, 8, 1, "paged=true,"), eight_warps);
  EXPECT_EQ(first(2560, 16, 2, 2, "paged=true,"), eight_warps);
  EXPECT_EQ(first(1473, 32, 4, 8, "paged=true,"), eight_warps);
  EXPECT_EQ(first(1466, 32, 8, 1, "paged=true,"), cluster) << "four heads";
}

// Nearly all SMs have one block, whose keys are many times the rings: what PDL saves is little.
TEST(AttentionDecodeLadder, HasNoDependentLaunchIfLongChunksFillNearlyAllSms) {
  const auto first = [&](int kv_len, int batch) {
    return decode().first_of_ladder(Shape{kv_len, 1, 32, 8, batch, 128}.text("T=bf16"), kH200);
  };
  const std::string without = Split{16, 16, 4, 3, "last_block", 1}.text(false);
  EXPECT_EQ(first(7339, 15), without);
  EXPECT_EQ(first(32768, 16), without);
  EXPECT_NE(first(3000, 16), without);
}

// A warp reads the numbers of the pages before it reads the keys, so a paged cache needs more warps
// per SM: blocks of eight warps, two blocks of a cluster, or two of `even`. 17 sequences of 4,983
// keys took 149 us by blocks of two warps, and take 88 us by `even`; 12 sequences of 4,351 keys
// took 73 us by blocks of four warps, and take 55 us by clusters of two.
TEST(AttentionDecodeLadder, HasMoreWarpsPerSmIfTheCacheIsPaged) {
  const auto first = [&](int kv_len, int batch) {
    return decode().first_of_ladder(Shape{kv_len, 1, 32, 8, batch, 128}.text("paged=true,T=bf16"),
                                    kH200);
  };
  EXPECT_EQ(first(300, 13), (Split{16, 16, 8, 2, "kernel", 1}.text(true)));
  EXPECT_EQ(first(729, 15), (Split{16, 16, 8, 2, "kernel", 1}.text(true)));
  EXPECT_EQ(first(4351, 12), first_of_cluster(2, 16, 3, "false"));
  EXPECT_THAT(first(1531, 17), testing::StartsWith("split ROWS=16 BLOCK_N=16 WARPS=4 STAGES=2 "));
  EXPECT_THAT(first(4983, 17), testing::StartsWith("even "));
  EXPECT_EQ(first(7513, 5), (Split{16, 16, 8, 2, "kernel", 1}.text(true)));
  // Two blocks do not fit an SM if each has 16 rows: a cluster would wait for others.
  EXPECT_NE(decode().first_of_ladder(
                Shape{4351, 4, 32, 8, 12, 128}.text("paged=true,causal=true,T=bf16"), kH200),
            first_of_cluster(2, 16, 3, "false"));
}

// With long sequences it matters that some SMs have more blocks than others.
TEST(AttentionDecodeLadder, CutsLongSequencesEvenly) {
  const auto first = [&](int kv_len, int batch) {
    return decode().first_of_ladder(Shape{kv_len, 1, 32, 8, batch, 128}.text("T=bf16"), kH200);
  };
  EXPECT_THAT(first(3000, 48), testing::StartsWith("split "));
  // Eight of 132 SMs have one block instead of two: 1 % faster than `even`.
  EXPECT_THAT(first(8192, 32), testing::StartsWith("split "));
  for (const int batch : {13, 24, 48}) {
    EXPECT_THAT(first(32768, batch), testing::StartsWith("even ")) << batch;
  }
  for (const int batch : {1, 16, 33, 64}) {
    EXPECT_THAT(first(32768, batch), testing::StartsWith("split ")) << batch;
  }
}

// 34 batches have 272 units. With two or three of them each, the SMs share the memory equally, so
// the eight that have three end late.
TEST(AttentionDecodeLadder, CutsEvenlyIfFewSmsHaveMoreThanTwoUnits) {
  const auto first = [&](int kv_len, int batch) {
    return decode().first_of_ladder(Shape{kv_len, 1, 32, 8, batch, 128}.text("T=bf16"), kH200);
  };
  EXPECT_THAT(first(3000, 34), testing::StartsWith("even "));
  EXPECT_THAT(first(1024, 34), testing::StartsWith("split "));  // short
  EXPECT_THAT(first(3000, 17), testing::StartsWith("split "));  // 136 units
  EXPECT_THAT(first(3000, 33), testing::StartsWith("split "));  // two units each
}

TEST(AttentionDecodeLadder, CutsTheWorkEvenlyIfLengthsDiffer) {
  const auto first = [&](int total, int head_dim, const DeviceLimits& device) {
    return decode().first_of_ladder(
        Shape{5000, 1, 32, 8, 17, head_dim}.text("total_kv=" + std::to_string(total) + ",T=bf16"),
        device);
  };
  for (const int head_dim : {64, 96, 128, 256}) {
    EXPECT_THAT(first(70000, head_dim, kH200), testing::StartsWith("even "));
    EXPECT_THAT(first(0, head_dim, kH200), testing::StartsWith("even "));
    EXPECT_NE(first(0, head_dim, kL4), "none");
  }
}

// Parts cost more there than the differences do, unless most sequences are much shorter.
TEST(AttentionDecodeLadder, DoesNotCutShortSequencesWhoseLengthsDiffer) {
  const auto first = [&](int kv_len, int batch, int eighths, const char* more = "") {
    const int total = kv_len * batch / 8 * eighths;
    return decode().first_of_ladder(Shape{kv_len, 1, 32, 8, batch, 128}.text(
                                        more + ("total_kv=" + std::to_string(total)) + ",T=bf16"),
                                    kH200);
  };
  EXPECT_THAT(first(3000, 17, 4), testing::StartsWith("split ROWS=16 BLOCK_N=32 "));
  EXPECT_THAT(first(1024, 128, 4), testing::StartsWith("split ROWS=16 BLOCK_N=32 "));
  EXPECT_THAT(first(1024, 128, 3), testing::StartsWith("split ROWS=16 BLOCK_N=32 "));
  EXPECT_THAT(first(1024, 128, 2), testing::StartsWith("even "));
  EXPECT_THAT(first(8192, 64, 4), testing::StartsWith("even "));
  EXPECT_THAT(first(1024, 8, 4), testing::StartsWith("even "));
  EXPECT_THAT(first(1024, 128, 4, "paged=true,page_size=16,pages=8192,"),
              testing::StartsWith("even "));
  EXPECT_THAT(first(1024, 128, 8), testing::StartsWith("split ROWS=16 BLOCK_N=16 "));
}

TEST(AttentionDecodeSpace, StaysWhereASearchCanSeeIt) {
  for (const int head_dim : {64, 96, 128, 256}) {
    for (const int q_len : {1, 8}) {
      const auto count =
          decode().count(Shape{8192, q_len, 32, 8, 8, head_dim}.text("T=bf16"), kH200);
      EXPECT_GT(count, 100U) << head_dim;
      EXPECT_LT(count, 6000U) << head_dim;
    }
  }
}

}  // namespace
}  // namespace mgtune
