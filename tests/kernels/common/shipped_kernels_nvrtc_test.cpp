// Every shipped operator, compiled by NVRTC for the architectures that mgtune serves: each default
// variant at least once, and a random sample of the space. No GPU is needed. The kernels of one
// source and one architecture are compiled as one program, which parses the headers once.
// scripts/test.sh --all compiles all of that. scripts/test.sh compiles for two architectures, and
// of a ladder only the first default. Both check that every default serves a problem of this test.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "build/builder.h"
#include "ceilings/arithmetic_ceiling.h"
#include "compiler/compiler.h"
#include "compiler/ptxas_report.h"
#include "family/catalog.h"
#include "family/problem.h"
#include "family/source_tree.h"
#include "family/variant_pattern.h"
#include "plan/problem_set.h"
#include "search/search.h"
#include "space/space.h"
#include "system/file_system.h"
#include "tests/helpers/long_lane.h"
#include "tests/helpers/operators/golden_operators.h"

namespace mgtune {
namespace {

struct Target {
  const char* arch;
  DeviceLimits limits;            // of the smallest GPU of the architecture
  bool is_in_short_lane = false;  // also compiled for by scripts/test.sh, and more thoroughly
};

const std::vector<Target>& targets() {
  static const std::vector<Target> kTargets = {
      {"sm_75", {75, 40, 64 << 10, 4 << 20}},
      {"sm_80", {80, 56, 163 << 10, 24 << 20}, true},
      {"sm_86", {86, 20, 99 << 10, 2 << 20}},
      {"sm_89", {89, 24, 99 << 10, 24 << 20}},
      {"sm_90a", {90, 114, 227 << 10, 50 << 20}, true},
      {"sm_100a", {100, 148, 227 << 10, 126 << 20}},
      {"sm_120", {120, 20, 99 << 10, 24 << 20}},
  };
  return kTargets;
}

const std::vector<std::string> kMoreForward = {
    "rows=1000,hidden=1024",  "rows=3,hidden=120",          "rows=3,hidden=60",
    "rows=3,hidden=30",       "rows=3,hidden=15",           "rows=3,hidden=64",
    "rows=3,hidden=333",      "rows=3,hidden=1002",         "rows=3,hidden=1004",
    "rows=3,hidden=13001",    "rows=3,hidden=20002",        "rows=3,hidden=40004",
    "rows=900,hidden=262144", "rows=900,hidden=4096,W=f32", "rows=900,hidden=128",
    "rows=3,hidden=16384",    "rows=3,hidden=65536",        "rows=40000,hidden=256",
    "rows=40000,hidden=128",  "rows=40000,hidden=64",       "rows=2048,hidden=4100",
    "rows=900,hidden=65536"};

const std::vector<std::string> kMoreBackward = {
    "rows=3,hidden=333,dw=true",   "rows=3,hidden=1002,dw=true",   "rows=3,hidden=1004",
    "rows=3,hidden=4100,dw=true",  "rows=3,hidden=12292,dw=true",  "rows=3,hidden=40004,dw=true",
    "rows=3,hidden=13001,dw=true", "rows=3,hidden=131080,dw=true", "rows=3,hidden=262144,dw=true",
    "rows=3,hidden=30,dw=true",    "rows=3,hidden=60,dw=true",     "rows=3,hidden=8200,dw=true",
    "rows=3,hidden=64,dw=true",    "rows=3,hidden=128,dw=true",    "rows=3,hidden=512,dw=true",
    "rows=3,hidden=1024,dw=true",  "rows=3,hidden=16384,dw=true",  "rows=3,hidden=32768,dw=true"};

const std::vector<std::string> kMorePrefill = {
    "batch=1,seq_q=9,seq_k=9,heads=1,kv_heads=1,head_dim=96,lse=true",
    "batch=1,seq_q=9,seq_k=9,heads=1,kv_heads=1,head_dim=256,causal=true,windowed=true,capped=true",
    "batch=1,seq_q=9,seq_k=9,heads=1,kv_heads=1,head_dim=64,windowed=true",
    "batch=1,seq_q=300,seq_k=300,heads=1,kv_heads=1,head_dim=192,value_dim=128,causal=true,"
    "lse=true",
    "batch=64,seq_q=32,seq_k=999,heads=32,kv_heads=8,head_dim=64,lse=true",
    "batch=64,seq_q=32,seq_k=999,heads=32,kv_heads=8,head_dim=96",
    "batch=64,seq_q=32,seq_k=999,heads=32,kv_heads=8,head_dim=128,causal=true",
    "batch=16,seq_q=1024,seq_k=1024,heads=16,kv_heads=16,head_dim=64",
    "batch=16,seq_q=1024,seq_k=1024,heads=16,kv_heads=16,head_dim=96",
    "batch=16,seq_q=1024,seq_k=1024,heads=16,kv_heads=16,head_dim=256",
    "batch=3,seq_q=275,seq_k=3283,heads=21,kv_heads=21,head_dim=128",
    "batch=4,seq_q=307,seq_k=3051,heads=26,kv_heads=13,head_dim=64,causal=true",
    "batch=16,seq_q=1024,seq_k=1024,heads=16,kv_heads=16,head_dim=192,value_dim=128"};
const std::vector<std::string> kMoreAttentionBackward = {
    "batch=1,seq_q=9,seq_k=9,heads=2,kv_heads=1,head_dim=128,causal=true",
    "batch=1,seq_q=9,seq_k=9,heads=2,kv_heads=1,head_dim=64"};
const std::vector<std::string> kMoreVarlen = {
    "sequences=2,tokens_q=9,max_q=9,heads=1,kv_heads=1,head_dim=64,lse=true",
    "sequences=2,tokens_q=9,max_q=9,heads=1,kv_heads=1,head_dim=64,causal=true",
    "sequences=2,tokens_q=300,max_q=200,heads=1,kv_heads=1,head_dim=64",
    "sequences=2,tokens_q=300,max_q=200,heads=1,kv_heads=1,head_dim=96",
    "sequences=2,tokens_q=300,max_q=200,heads=1,kv_heads=1,head_dim=192,value_dim=128",
    "sequences=2,tokens_q=9,max_q=9,heads=1,kv_heads=1,head_dim=96,causal=true,windowed=true",
    "sequences=2,tokens_q=9,max_q=9,heads=1,kv_heads=1,head_dim=256,capped=true",
    "sequences=64,tokens_q=2000,tokens_k=60000,max_q=32,max_k=999,heads=32,kv_heads=8,"
    "head_dim=128,causal=true"};
const std::vector<std::string> kMoreDecode = {
    "batch=1,q_len=1,kv_len=99,heads=1,kv_heads=1,head_dim=64,lse=true",
    "batch=1,q_len=5,kv_len=99,heads=8,kv_heads=1,head_dim=128,causal=true,paged=true",
    "batch=1,q_len=5,kv_len=99,heads=8,kv_heads=1,head_dim=96,windowed=true,capped=true",
    "batch=1,q_len=16,kv_len=99,heads=4,kv_heads=1,head_dim=256,causal=true,lse=true",
    "batch=1,q_len=1,kv_len=713,heads=32,kv_heads=8,head_dim=64",
    "batch=3,q_len=1,kv_len=713,heads=32,kv_heads=8,head_dim=128",
    "batch=5,q_len=1,kv_len=713,heads=32,kv_heads=8,head_dim=128",
    "batch=10,q_len=1,kv_len=713,heads=32,kv_heads=8,head_dim=128",
    "batch=18,q_len=1,kv_len=713,heads=32,kv_heads=8,head_dim=128",
    "batch=100,q_len=1,kv_len=300,heads=32,kv_heads=8,head_dim=128"};

// Every epilogue, and the numbers of rows and columns at which each rung serves.
const std::vector<std::string> kMoreGemm = {"m=1,n=1024,k=4096,relu=true,bias=true",
                                            "m=20,n=4096,k=4096,gelu=true,residual=true",
                                            "m=64,n=1024,k=4096,silu=true,residual=true",
                                            "m=30,n=1024,k=256,gelu=true,bias=true",
                                            "m=30,n=1024,k=4096,silu=true,bias=true",
                                            "m=300,n=1024,k=256,relu=true,residual=true",
                                            "m=300,n=4096,k=4096,gelu=true,residual=true",
                                            "m=16,n=1024,k=1024,silu=true",
                                            "m=512,n=832,k=4096,bias=true",
                                            "m=512,n=1280,k=5120",
                                            "m=40,n=1024,k=1024,bias=true",
                                            "m=4096,n=28672,k=4096",
                                            "m=8192,n=8192,k=1024,relu=true",
                                            "m=72,n=40,k=1024,bias=true",
                                            "m=72,n=3584,k=1024",
                                            "m=72,n=5120,k=1024,gelu=true",
                                            "m=72,n=9216,k=1024",
                                            "m=256,n=512,k=1024",
                                            "m=72,n=13824,k=1024",
                                            "m=300,n=5120,k=1024",
                                            "m=512,n=9216,k=1024",
                                            "m=72,n=72,k=4096",
                                            "m=40,n=16384,k=8192",
                                            "m=60,n=16384,k=8192",
                                            "m=4,n=3712,k=1088",
                                            "m=60,n=640,k=4096",
                                            "m=300,n=3584,k=1024",
                                            "m=300,n=7296,k=1024,silu=true",
                                            "m=1343,n=1024,k=1024",
                                            "m=2000,n=1024,k=1024",
                                            "m=3000,n=1024,k=1024,bias=true",
                                            "m=4500,n=640,k=1024",
                                            "m=5000,n=512,k=1024,residual=true",
                                            "m=5000,n=640,k=1024",
                                            "m=12,n=28672,k=4096"};
const std::vector<std::string> kMoreGateUp = {
    "m=1,n=1024,k=4096,gate=true", "m=20,n=4096,k=4096,up=true", "m=64,n=1024,k=4096",
    "m=30,n=1024,k=256,gate=true", "m=30,n=1024,k=4096",         "m=300,n=1024,k=256,up=true",
    "m=300,n=4096,k=4096",         "m=16,n=1024,k=1024",         "m=40,n=1024,k=1024",
    "m=2048,n=28672,k=4096",       "m=72,n=72,k=1024",           "m=72,n=3584,k=1024",
    "m=72,n=5120,k=1024",          "m=512,n=2560,k=2048",        "m=2,n=4096,k=1024",
    "m=40,n=16384,k=8192",         "m=60,n=16384,k=8192",        "m=1,n=28672,k=8192",
    "m=12,n=28672,k=4096",         "m=20,n=28672,k=2048"};

// Every norm and epilogue, narrow loads, and rows too wide for shared memory.
const std::vector<std::string> kMoreLinearDecode = {
    "rows=1,out=768,in=3072,residual=true,bias=true",
    "rows=2,out=512,in=172,layernorm=true,norm_bias=true,gelu_tanh=true,bias=true",
    "rows=1,out=512,in=2044,rmsnorm=true",
    "rows=3,out=1003,in=333,rmsnorm=true,silu_gate=true,bias=true,residual=true,Y=f32",
    "rows=8,out=4096,in=65536,rmsnorm=true,silu_gate=true,w_up=true,X=f32",
    "rows=8,out=4096,in=65532,residual=true",
    "rows=8,out=2048,in=8192,residual=true,Y=f32",
    "rows=8,out=128256,in=2048,rmsnorm=true,X=f32,Y=f32",
    "rows=4,out=2048,in=2048,bias=true",
    "rows=2,out=3072,in=768,layernorm=true,norm_bias=true,gelu_tanh=true",
    "rows=8,out=4096,in=14336,residual=true,Y=f32"};
const std::vector<std::string> kMoreLinearQkv = {
    "rows=1,heads=8,kv_heads=4,head_dim=8,in=64,capacity=512,rmsnorm=true,rotary_pairs=true",
    "rows=2,heads=8,kv_heads=4,head_dim=8,in=60,capacity=512,rmsnorm=true,rotary_pairs=true,X=f32",
    "rows=1,heads=3,kv_heads=3,head_dim=6,in=77,capacity=9,layernorm=true,bias=true,C=f32",
    "rows=8,heads=8,kv_heads=8,head_dim=64,in=65536,capacity=9,rmsnorm=true,rotary_halves=true",
    "rows=8,heads=8,kv_heads=8,head_dim=64,in=65532,capacity=9,bias=true"};

// Where the default problems leave rungs of a ladder out: sizes that only narrow loads divide.
const std::map<std::string, std::vector<std::string>>& more_problems() {
  static const std::map<std::string, std::vector<std::string>> kProblems = {
      {"rmsnorm.forward", kMoreForward},
      {"rmsnorm.add_forward", kMoreForward},
      // Gaps between rows, many and few vectors to a row.
      {"swiglu.forward",
       {"rows=8192,hidden=8192,gate_stride=16384", "rows=8,hidden=512,gate_stride=520",
        "rows=8,hidden=252,gate_stride=256"}},
      {"swiglu.packed_forward", {"rows=8,hidden=512", "rows=8,hidden=252"}},
      {"swiglu.backward",
       {"rows=8192,hidden=8192,gate_stride=16384", "rows=8,hidden=512,gate_stride=520",
        "rows=8,hidden=252,gate_stride=256"}},
      {"swiglu.packed_backward", {"rows=8,hidden=512", "rows=8,hidden=252"}},
      {"swiglu.gate_up", kMoreGateUp},
      {"gemm.forward", kMoreGemm},
      {"argmax.forward",
       {"rows=1,columns=500", "rows=1,columns=3", "rows=2,columns=1001", "rows=1,columns=16384"}},
      {"sample.forward",
       {"rows=1,columns=500", "rows=1,columns=3", "rows=2,columns=1001", "rows=1,columns=16384"}},
      {"embedding.forward",
       {"rows=2,columns=72,vocabulary=3", "rows=2,columns=12,vocabulary=3,capacity=2,table=true",
        "rows=2,columns=3,vocabulary=3"}},
      {"token_attention.forward",
       {"rows=1,heads=3,kv_heads=1,head_dim=7,capacity=9",
        "rows=1,heads=2,kv_heads=2,head_dim=24,capacity=9"}},
      {"token_attention.partial",
       {"rows=1,heads=3,kv_heads=1,head_dim=7,capacity=9,splits=2",
        "rows=1,heads=2,kv_heads=2,head_dim=24,capacity=9,splits=2"}},
      {"elements.copy", {"count=3,X=f16", "count=3,X=f32"}},
      {"elements.zero", {"count=3"}},
      {"layernorm.forward", {"rows=2,columns=12", "rows=2,columns=333,bias=true"}},
      {"linear.decode", kMoreLinearDecode},
      {"linear.qkv", kMoreLinearQkv},
      {"attention.prefill", kMorePrefill},
      {"attention.backward", kMoreAttentionBackward},
      {"attention.varlen", kMoreVarlen},
      {"attention.decode", kMoreDecode},
      {"rmsnorm.backward", kMoreBackward},
      {"rmsnorm.add_backward", kMoreBackward},
  };
  return kProblems;
}

// Variants of kinds that no ladder or only one rung has. Each at a problem that admits it.
struct NamedVariant {
  const char *op, *variant, *problem;
};
constexpr NamedVariant kBesideLadders[] = {
    {"attention.prefill",
     "wgmma CONSUMERS=3 BLOCK_N=128 STAGES=2 Q_STAGES=2 PINGPONG=true SCHEDULE=dynamic "
     "HEADS_AT_ONCE=16 EXP_POLY=2 PACK_GQA=false",
     "batch=4,seq_q=4096,seq_k=4096,heads=32,kv_heads=32,head_dim=64,T=bf16"},
    {"attention.prefill",
     "wgmma CONSUMERS=2 BLOCK_N=128 STAGES=2 Q_STAGES=1 PINGPONG=true SCHEDULE=dynamic "
     "HEADS_AT_ONCE=1 EXP_POLY=0 PACK_GQA=true",
     "batch=64,seq_q=32,seq_k=8192,heads=32,kv_heads=8,head_dim=128,causal=true,T=bf16"},
    {"attention.varlen",
     "wgmma CONSUMERS=1 BLOCK_N=128 STAGES=2 Q_STAGES=1 PINGPONG=false SCHEDULE=grid "
     "HEADS_AT_ONCE=1 EXP_POLY=0 PACK_GQA=true",
     "sequences=64,tokens_q=512,tokens_k=9999,max_q=16,max_k=999,heads=28,kv_heads=4,head_dim=96,"
     "lse=true,T=f16"},
};

std::vector<Problem> problems_of(const Operator& op) {
  ProblemRequest request;
  std::vector<Problem> problems = make_problems({&op}, request, DeviceKind::cuda).value();
  if (const auto more = more_problems().find(op.full_name()); more != more_problems().end()) {
    request.problems = more->second;
    const auto others = make_problems({&op}, request, DeviceKind::cuda).value();
    problems.insert(problems.end(), others.begin(), others.end());
  }
  return problems;
}

// Kernels by the architecture that they are for and the source that has them.
using Kernels = std::map<std::pair<std::string, std::string>, std::set<std::string>>;

void add(const Problem& problem, const Variant& variant, const std::string& arch_of_target,
         const DeviceLimits& limits, Kernels& kernels) {
  const Operator& op = *problem.op;
  const auto slots = compile_slots(problem.binding(), variant, limits);
  ASSERT_TRUE(slots.ok()) << slots.status().message();
  const auto names = kernel_names(op, variant, *slots);
  ASSERT_TRUE(names.ok()) << names.status().message();
  const Design& design = op.designs[static_cast<std::size_t>(variant.design)];
  const std::string& arch = design.arch.empty() ? arch_of_target : design.arch;
  kernels[{arch, design.source}].insert(names->begin(), names->end());
}

// Whether the architecture has what the variant asks of a device.
bool has_what_is_required(const Operator& op, const Problem& problem, const Variant& variant,
                          const Target& target) {
  const auto slots = compile_slots(problem.binding(), variant, target.limits);
  const auto& requirements = op.designs[static_cast<std::size_t>(variant.design)].requirements;
  return !slots.ok() || std::ranges::all_of(requirements, [&](const Expression& requirement) {
    const auto holds = requirement.evaluate(*slots);
    return holds.ok() && *holds != 0;
  });
}

// What the ladder is made of: a pattern of a design, and the variants that it is at the problems.
VariantPattern pattern_of_rung(const Operator& op, std::size_t design, std::size_t rung) {
  return {static_cast<int>(design), op.designs[design].defaults[rung].values};
}

// Some rungs serve only a GPU with many SMs.
std::vector<DeviceLimits> small_and_large(const Target& target) {
  DeviceLimits large = target.limits;
  large.sm_count = kH200.sm_count;
  large.l2_bytes = kH200.l2_bytes;
  return {target.limits, large};
}

// Whether the rung is a variant at some problem that the limits admit.
bool serves_any(const VariantPattern& rung, const std::vector<Problem>& problems,
                const DeviceLimits& limits) {
  return std::ranges::any_of(problems, [&](const Problem& problem) {
    const auto variant = variant_of(rung, problem.binding(), limits);
    return variant && Space(problem, limits).serves(*variant);
  });
}

// Each variant of a rung at one problem that it serves. The search for it begins at problem
// `first`, so that rungs are compiled for different dtypes.
void add_rung(const VariantPattern& rung, const std::vector<Problem>& problems, std::size_t first,
              const Target& target, Kernels& kernels) {
  std::set<std::string> done;
  for (const DeviceLimits& limits : small_and_large(target)) {
    for (std::size_t i = 0; i < problems.size(); ++i) {
      const Problem& problem = problems[(first + i) % problems.size()];
      const auto variant = variant_of(rung, problem.binding(), limits);
      if (!variant || !Space(problem, limits).serves(*variant)) continue;
      if (!done.insert(variant_text(*problem.op, *variant)).second) continue;
      add(problem, *variant, target.arch, limits, kernels);
    }
    if (!done.empty()) return;
  }
}

void add_ladder(const Operator& op, const std::vector<Problem>& problems, const Target& target,
                Kernels& kernels) {
  for (std::size_t design = 0; design < op.designs.size(); ++design) {
    const std::size_t rungs = op.designs[design].defaults.size();
    for (std::size_t i = 0; i < in_long_lane(rungs, std::min<std::size_t>(rungs, 1)); ++i) {
      add_rung(pattern_of_rung(op, design, i), problems, i, target, kernels);
    }
  }
}

// `count` variants of the whole space, spread over the problems.
void add_sample(const std::vector<Problem>& problems, const Target& target, std::size_t count,
                Kernels& kernels) {
  for (std::size_t i = 0; i < count; ++i) {
    const Problem& problem = problems[(i * 7) % problems.size()];
    const Space space(problem, target.limits);
    const auto search = make_search("random", space, i + 1).value();
    // The ladder comes first.
    for (std::size_t skipped = 0; skipped < space.ladder().size(); ++skipped) {
      if (!search->next()) break;
    }
    const auto variant = search->next();
    if (variant) add(problem, *variant, target.arch, target.limits, kernels);
  }
}

void add_beside_ladders(const Operator& op, const Target& target, Kernels& kernels) {
  for (const NamedVariant& named : kBesideLadders) {
    if (op.full_name() != named.op || target.arch != std::string_view("sm_90a")) continue;
    const auto variant = parse_variant(op, named.variant);
    ASSERT_TRUE(variant.ok()) << variant.status().message();
    const auto problem = bind_problem(op, parse_assignments(named.problem).value());
    ASSERT_TRUE(problem.ok()) << problem.status().message();
    ASSERT_TRUE(Space(*problem, target.limits).serves(*variant)) << named.variant;
    add(*problem, *variant, target.arch, target.limits, kernels);
  }
}

class ShippedKernels : public testing::TestWithParam<Target> {};

// Otherwise the rung is not compiled here.
TEST_P(ShippedKernels, EveryRungServesAProblemOfThisTest) {
  const Target& target = GetParam();
  Catalog catalog(FileSystem::real());
  for (const std::string& family : Catalog::shipped_families()) {
    const auto operators = catalog.find(family);
    ASSERT_TRUE(operators.ok()) << operators.status().message();
    for (const Operator* op : *operators) {
      const std::vector<Problem> problems = problems_of(*op);
      for (std::size_t design = 0; design < op->designs.size(); ++design) {
        for (std::size_t i = 0; i < op->designs[design].defaults.size(); ++i) {
          const VariantPattern rung = pattern_of_rung(*op, design, i);
          const auto first = variant_of(rung, problems.front().binding(), target.limits);
          if (!first || !has_what_is_required(*op, problems.front(), *first, target)) continue;
          // Shared memory and registers of an H200 hold what those of other targets may not.
          EXPECT_TRUE(std::ranges::any_of(
                          small_and_large(target),
                          [&](const auto& limits) { return serves_any(rung, problems, limits); }) ||
                      (target.limits.compute_capability != 90 && serves_any(rung, problems, kH200)))
              << op->full_name() << ' ' << pattern_text(*op, rung);
        }
      }
    }
  }
}

TEST_P(ShippedKernels, Compile) {
  if (!std::string_view(MGTUNE_SANITIZE).empty()) {
    GTEST_SKIP() << "NVRTC is not instrumented, and takes ten times as long";
  }
  const Target& target = GetParam();
  if (!in_long_lane(true, target.is_in_short_lane)) {
    GTEST_SKIP() << "scripts/test.sh --all compiles for " << target.arch;
  }
  Catalog catalog(FileSystem::real());
  std::size_t compiled = 0;
  for (const std::string& family : Catalog::shipped_families()) {
    const auto operators = catalog.find(family);
    ASSERT_TRUE(operators.ok()) << operators.status().message();
    for (const Operator* op : *operators) {
      const std::vector<Problem> problems = problems_of(*op);
      Kernels kernels;
      add_ladder(*op, problems, target, kernels);
      add_sample(problems, target, target.is_in_short_lane ? in_long_lane(4, 1) : 1, kernels);
      add_beside_ladders(*op, target, kernels);
      for (const auto& [place, names] : kernels) {
        const auto& [arch, source] = place;
        const auto compiler = make_nvrtc_compiler(arch);
        ASSERT_TRUE(compiler.ok()) << compiler.status().message();
        const BuildRequest request{op->sources.get(), source, {names.begin(), names.end()}, arch};
        const Result<Build> build = (*compiler)->compile(request);
        ASSERT_TRUE(build.ok()) << source << " for " << arch << ":\n" << build.status().message();
        EXPECT_EQ(ptxas_objections(build->log), "") << source << " for " << arch;
        ASSERT_EQ(build->kernels.size(), names.size());
        compiled += names.size();
        for (const BuildKernel& kernel : build->kernels) {
          EXPECT_GT(kernel.registers, 0) << kernel.name;
          EXPECT_LE(kernel.static_shared_bytes, 48 << 10) << kernel.name;
        }
      }
    }
  }
  EXPECT_GE(compiled, 40U);
  RecordProperty("kernels", static_cast<int>(compiled));
}

// The texture is nothing that the small part of CUDA has, so that the compiler takes all of it.
SourceTree with_all_of_cuda(SourceTree sources, const std::string& source) {
  sources.files.at(source) += "\nusing ThatOfATexture = cudaTextureObject_t;\n";
  return sources;
}

// The first default of each design. wgmma takes long to compile twice.
TEST_P(ShippedKernels, AreTheSameWithAllOfCudasHeaders) {
  if (!std::string_view(MGTUNE_SANITIZE).empty()) {
    GTEST_SKIP() << "NVRTC is not instrumented, and takes ten times as long";
  }
  const Target& target = GetParam();
  if (!in_long_lane(true, target.arch == std::string_view("sm_80"))) {
    GTEST_SKIP() << "scripts/test.sh --all compiles for " << target.arch;
  }
  Catalog catalog(FileSystem::real());
  std::size_t compared = 0;
  for (const char* family : {"elements", "embedding", "gemm", "rmsnorm", "swiglu"}) {
    const auto operators = catalog.find(family);
    ASSERT_TRUE(operators.ok()) << operators.status().message();
    for (const Operator* op : *operators) {
      Kernels kernels;
      const std::vector<Problem> problems = problems_of(*op);
      for (std::size_t design = 0; design < op->designs.size(); ++design) {
        if (op->designs[design].defaults.empty()) continue;
        add_rung(pattern_of_rung(*op, design, 0), problems, 0, target, kernels);
      }
      for (const auto& [place, names] : kernels) {
        const auto& [arch, source] = place;
        const auto compiler = make_nvrtc_compiler(arch);
        ASSERT_TRUE(compiler.ok()) << compiler.status().message();
        const SourceTree all = with_all_of_cuda(*op->sources, source);
        BuildRequest request{op->sources.get(), source, {names.begin(), names.end()}, arch};
        const Result<Build> small = (*compiler)->compile(request);
        ASSERT_TRUE(small.ok()) << source << " for " << arch << ":\n" << small.status().message();
        request.sources = &all;
        const Result<Build> whole = (*compiler)->compile(request);
        ASSERT_TRUE(whole.ok()) << source << " for " << arch << ":\n" << whole.status().message();
        EXPECT_EQ(small->sha256, whole->sha256) << op->full_name() << ' ' << source << ' ' << arch;
        compared += names.size();
      }
    }
  }
  EXPECT_GE(compared, 10U);
}

// What the ceilings of the device run.
std::vector<ArithmeticKernel> arithmetic_kernels(const Target& target) {
  DeviceInfo device;
  device.kind = DeviceKind::cuda;
  device.arch = target.arch;
  device.limits = target.limits;
  std::vector<ArithmeticKernel> kernels;
  kernels.push_back(fma_kernel(device));
  for (const DType dtype : {DType::f16, DType::bf16}) {
    for (const auto make : {mma_kernel, wgmma_kernel}) {
      auto kernel = make(device, dtype);
      if (kernel.ok()) kernels.push_back(*std::move(kernel));
    }
  }
  return kernels;
}

// Their accumulators stay in registers, and no product of wgmma waits for the one before it: ptxas
// says so under the numbers C7510 to C7519.
TEST_P(ShippedKernels, OfCeilingsCompileToWhatTheyMeasure) {
  const Target& target = GetParam();
  const SourceTree sources = embedded_source_tree("kernels/common");
  const auto kernels = arithmetic_kernels(target);
  const std::int64_t capability = target.limits.compute_capability;
  EXPECT_EQ(kernels.size(), capability == 90 ? 5U : capability < 80 ? 2U : 3U);
  for (const auto& kernel : kernels) {
    const auto compiler = make_nvrtc_compiler(kernel.arch);
    ASSERT_TRUE(compiler.ok()) << compiler.status().message();
    std::vector<std::string> names;
    for (const ArithmeticShape& shape : kernel.shapes) names.push_back(shape.kernel);
    const Result<Build> build = (*compiler)->compile({&sources, kernel.source, names, kernel.arch});
    ASSERT_TRUE(build.ok()) << kernel.source << ":\n" << build.status().message();
    EXPECT_EQ(build->log.find("(C75"), std::string::npos) << build->log;
    for (const ArithmeticShape& shape : kernel.shapes) {
      const auto built = std::ranges::find(build->kernels, shape.kernel, &BuildKernel::name);
      ASSERT_NE(built, build->kernels.end());
      EXPECT_EQ(built->spill_bytes, 0) << shape.kernel;
      EXPECT_LE(built->registers * shape.threads * shape.blocks_per_sm, 64 << 10) << shape.kernel;
      EXPECT_LE(shape.shared_bytes * shape.blocks_per_sm, target.limits.max_shared_bytes);
    }
  }
  const auto compiler = make_nvrtc_compiler(target.arch);
  for (const auto& [source, name] :
       {std::pair{"read.cu", "read<8>"}, std::pair{"copy.cu", "copy<8, true>"},
        std::pair{"fill.cu", "fill_uniform<__half>"},
        std::pair{"elements.cu", "place_elements<unsigned short>"},
        std::pair{"elements.cu", "convert_elements<double, __nv_bfloat16>"}}) {
    const Result<Build> build = (*compiler)->compile({&sources, source, {name}, target.arch});
    EXPECT_TRUE(build.ok()) << source << ":\n" << build.status().message();
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, ShippedKernels, testing::ValuesIn(targets()),
                         [](const auto& target) { return std::string(target.param.arch); });

}  // namespace
}  // namespace mgtune
