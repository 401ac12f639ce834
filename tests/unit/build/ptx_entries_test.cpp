#include "compiler/ptx_entries.h"

#include <gtest/gtest.h>

namespace mgtune {
namespace {

// As NVRTC writes them: ptx_kernel(NAME, BODY).
std::string ptx_kernel(const std::string& name, const std::string& body) {
  return ".weak .entry " + name + "(\n\t.param .u64 " + name +
         "_param_0\n)\n.maxntid 128, 1, 1\n{\n" + body + "\tret;\n\n}\n\n";
}

const PtxEntry& ptx_entry(const std::vector<PtxEntry>& entries, std::string_view symbol) {
  for (const PtxEntry& one : entries) {
    if (one.symbol == symbol) return one;
  }
  ADD_FAILURE() << "no " << symbol;
  static const PtxEntry kNone;
  return kNone;
}

constexpr char kPtxHead[] = ".version 9.0\n.target sm_90\n.address_size 64\n\n";

TEST(PtxEntries, FindsKernels) {
  const std::string ptx = kPtxHead + ptx_kernel("one", "\tmov.u32 %r1, 1;\n") +
                          ".visible .func (.param .b32 r) f(\n\t.param .b32 x\n)\n{\n\tret;\n}\n" +
                          ".extern .func g\n(\n\t.param .b32 x\n)\n;\n" + ptx_kernel("two", "");
  const auto entries = parse_ptx(ptx);
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].symbol, "one");
  EXPECT_TRUE(entries[0].text.starts_with(".entry one("));
  EXPECT_TRUE(entries[0].text.ends_with("\n}"));
  EXPECT_EQ(entries[1].symbol, "two");
  EXPECT_TRUE(entries[1].stands_alone);
  EXPECT_TRUE(entries[1].is_independent);
  EXPECT_TRUE(parse_ptx("").empty());
  EXPECT_EQ(parse_ptx(".entry cut(").size(), 1U);
}

TEST(PtxEntries, AKernelWithVariablesOrCallsDoesNotStandAlone) {
  const std::string ptx =
      std::string(kPtxHead) + ".global .align 4 .u32 limit = 4;\n" +
      ".const .align 4 .b8 filter[64];\n" +
      ptx_kernel("plain", "\tcp.async.cg.shared.global [limited], [%rd1], 16;\n") +
      ptx_kernel("reads", "\tld.global.u32 %r1, [limit];\n") +
      ptx_kernel("filters", "\tld.const.f32 %f1, [filter+4];\n") +
      ptx_kernel("calls", "\tcall.uni (r), f, (x);\n");
  const auto entries = parse_ptx(ptx);
  EXPECT_TRUE(ptx_entry(entries, "plain").stands_alone);
  EXPECT_FALSE(ptx_entry(entries, "reads").stands_alone);
  EXPECT_FALSE(ptx_entry(entries, "filters").stands_alone);
  EXPECT_FALSE(ptx_entry(entries, "calls").stands_alone);
  // What is called is noted for all kernels.
  for (const PtxEntry& one : entries) EXPECT_FALSE(one.is_independent) << one.symbol;
}

TEST(PtxEntries, AKernelWithVariablesOfItsOwnPtxDoesNotStandAlone) {
  for (const char* own : {".global .u32 z;", ".const .f32 z;"}) {
    const std::string entries_ptx = kPtxHead + ptx_kernel("a", std::string("\t{") + own + "}\n");
    const auto entries = parse_ptx(entries_ptx);
    EXPECT_FALSE(entries.front().stands_alone) << own;
  }
}

TEST(PtxEntries, AnAddressOfAFunctionIsAUseOfIt) {
  const std::string functions =
      ".func (.param .b32 r) f(\n\t.param .b32 x\n)\n{\n\tret;\n}\n.func g()\n{\n\tret;\n}\n";
  const std::string entries_ptx = kPtxHead + functions + ptx_kernel("a", "\tmov.u64 %rd1, f;\n") +
                                  ptx_kernel("b", "\tmov.u64 %rd1, g;\n") + ptx_kernel("c", "");
  const auto entries = parse_ptx(entries_ptx);
  EXPECT_FALSE(ptx_entry(entries, "a").stands_alone);
  EXPECT_FALSE(ptx_entry(entries, "b").stands_alone);
  EXPECT_TRUE(ptx_entry(entries, "c").stands_alone);
  EXPECT_FALSE(ptx_entry(entries, "c").is_independent);
}

TEST(PtxEntries, DynamicMemoryOfOneKernelIsFeltByAll) {
  const std::string dynamic = ".extern .shared .align 1024 .b8 _ZN2mg17mg_dynamic_sharedE[];\n";
  const std::string mixed_ptx =
      kPtxHead + dynamic + ptx_kernel("with", "\tmov.u64 %rd1, _ZN2mg17mg_dynamic_sharedE;\n") +
      ptx_kernel("without", "");
  const auto mixed = parse_ptx(mixed_ptx);
  EXPECT_TRUE(ptx_entry(mixed, "with").is_independent);
  EXPECT_FALSE(ptx_entry(mixed, "without").is_independent);
  const std::string two_ptx = kPtxHead + dynamic + ".extern .shared .align 16 .b8 other[];\n" +
                              ptx_kernel("with", "\tmov.u64 %rd1, _ZN2mg17mg_dynamic_sharedE;\n");
  const auto two = parse_ptx(two_ptx);
  EXPECT_FALSE(two.front().is_independent);
}

TEST(PtxEntries, StaticMemoryOfSeveralKernelsIsAtOnePlace) {
  const std::string shared = ".shared .align 4 .b8 sums[64];\n.shared .align 4 .b8 rows[64];\n";
  const std::string own = "\t// demoted variable\n\t.shared .align 4 .b8 mine[8];\n";
  const std::string sums = "\tmov.u32 %r1, sums;\n", rows = "\tmov.u32 %r1, rows;\n";
  EXPECT_TRUE(parse_ptx(kPtxHead + shared + ptx_kernel("a", sums) + ptx_kernel("b", sums))[1]
                  .is_independent);
  EXPECT_TRUE(parse_ptx(kPtxHead + ptx_kernel("a", own))[0].is_independent);
  // In the other kernel, `sums` may be behind `rows` or behind its own memory.
  for (const std::string& other : {sums + rows, own + sums}) {
    const std::string entries_ptx =
        kPtxHead + shared + ptx_kernel("a", sums) + ptx_kernel("b", other);
    const auto entries = parse_ptx(entries_ptx);
    EXPECT_FALSE(ptx_entry(entries, "a").is_independent) << other;
    EXPECT_FALSE(ptx_entry(entries, "b").is_independent) << other;
  }
}

// NVRTC takes the alignment of the first declaration for all kernels.
TEST(PtxEntries, DynamicMemoryThatASourceDeclaresMayHaveSeveralAlignments) {
  const std::string entries_ptx = std::string(kPtxHead) +
                                  ".extern .shared .align 16 .b8 mine[];\n" +
                                  ptx_kernel("a", "\tmov.u64 %rd1, mine;\n");
  const auto entries = parse_ptx(entries_ptx);
  EXPECT_TRUE(entries.front().stands_alone);
  EXPECT_FALSE(entries.front().is_independent);
}

TEST(PtxEntries, BulkCopiesAreNotedForAll) {
  const std::string entries_ptx = kPtxHead +
                                  ptx_kernel("copies", "\tcp.async.bulk.shared::cluster [%r1];\n") +
                                  ptx_kernel("loads", "");
  const auto entries = parse_ptx(entries_ptx);
  EXPECT_TRUE(ptx_entry(entries, "copies").is_independent);
  EXPECT_FALSE(ptx_entry(entries, "loads").is_independent);
}

TEST(PtxEntries, BytesDoNotDependOnWhereSharedMemoryIsDeclared) {
  const std::string use = "\tmov.u32 %r1, sums;\n";
  const std::string alone_ptx =
      kPtxHead +
      ptx_kernel("a", "\t// demoted variable\n\t.shared .align 4 .b8 sums[64];\n\n" + use);
  const auto alone = parse_ptx(alone_ptx);
  const std::string together_ptx = std::string(kPtxHead) + ".shared .align 4 .b8 sums[64];\n" +
                                   ptx_kernel("a", use) + ptx_kernel("b", use);
  const auto together = parse_ptx(together_ptx);
  EXPECT_EQ(alone.front().bytes, together.front().bytes);
  EXPECT_GT(alone.front().bytes, 50);
}

}  // namespace
}  // namespace mgtune
