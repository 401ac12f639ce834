// Operator files that extend another one: what is merged, in which order, and which file a message
// names.

#include "family/operator_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "core/sha256.h"
#include "family/catalog.h"
#include "tests/helpers/operators/golden_operators.h"

namespace mgtune {
namespace {

using ::testing::StartsWith;

constexpr char kWide[] = R"json({
  "extends": "forward.json",
  "dims": {"x_stride": null, "in_stride": {"kind": "dynamic", "default": "hidden"}},
  "constraints": ["rows >= 1"],
  "tensors": {
    "x": {"strides": ["in_stride", "1"]},
    "residual": {"role": "in", "dtype": "T", "shape": ["rows", "hidden"], "fill": "normal"}
  },
  "designs": {"row": {
    "params": {"VEC": [4, 8]},
    "constraints": ["VEC * sizeof(T) <= 16"],
    "launches": [{"kernel": "wide<T, VEC>", "grid": ["rows"], "block": [128],
                  "args": ["x", "residual", "weight", "y", "rstd"]}],
    "defaults": [{"THREADS_PER_ROW": 128, "ROWS_PER_BLOCK": 1, "VEC": 8}]}}
})json";

class OperatorTextTest : public testing::Test {
 protected:
  Result<Operator> decode(const std::string& name) const {
    auto sources = std::make_shared<SourceTree>();
    sources->folder = "kernels/rmsnorm";
    sources->files = files_;
    return decode_operator("rmsnorm", name, std::move(sources));
  }
  std::string error(const std::string& name) const { return decode(name).status().message(); }

  std::map<std::string, std::string> files_{{"forward.json", golden_text("rmsnorm.forward")},
                                            {"wide.json", kWide}};
};

TEST_F(OperatorTextTest, AnExtensionIsMergedOverItsBase) {
  const Result<Operator> op = decode("wide");
  ASSERT_TRUE(op.ok()) << op.status().message();
  EXPECT_EQ(op->full_name(), "rmsnorm.wide");
  std::string names;
  for (const Dim& dim : op->dims) names += dim.name + " ";
  for (const Tensor& tensor : op->tensors) names += tensor.name + " ";
  EXPECT_EQ(names, "rows hidden in_stride x residual weight y rstd ");
  EXPECT_EQ(op->tensors[0].strides[0].text(), "in_stride");
  EXPECT_EQ(op->check.reference, "rmsnorm_forward_reference");
  ASSERT_EQ(op->designs.size(), 1U);
  EXPECT_EQ(op->designs[0].source, "forward.cu");
  EXPECT_EQ(op->designs[0].params[0].values.size(), 7U);
  EXPECT_EQ(op->designs[0].params[2].values.size(), 2U);
  EXPECT_EQ(op->designs[0].defaults.size(), 1U);
  EXPECT_TRUE(decode("forward").ok());
}

// The decoded operator is all that identities are made of: it must not matter how it is written.
TEST_F(OperatorTextTest, AMergedOperatorEqualsOneThatIsWrittenOut) {
  const Result<Operator> merged = decode("wide");
  ASSERT_TRUE(merged.ok()) << merged.status().message();
  files_["wide.json"] = canonical_json(merged->text->value);
  const Result<Operator> whole = decode("wide");
  ASSERT_TRUE(whole.ok()) << whole.status().message();
  EXPECT_EQ(whole->text->files.size(), 1U);
  EXPECT_EQ(whole->designs[0].launch_text, merged->designs[0].launch_text);
}

TEST_F(OperatorTextTest, MessagesNameTheFileInWhichTheValueStands) {
  const std::string base = "kernels/rmsnorm/forward.json: ", own = "kernels/rmsnorm/wide.json: ";
  const auto with = [&](const std::string& file, const std::string& from, const std::string& to) {
    const std::string before = files_[file];
    files_[file] = replaced(before, from, to);
    const std::string message = error("wide");
    files_[file] = before;
    return message;
  };
  EXPECT_THAT(with("wide.json", R"("VEC": [4, 8])", R"("VEC": [4, "x"])"),
              StartsWith(own + "/designs/row/params/VEC/1: "));
  EXPECT_THAT(
      with("forward.json", "[1, 2, 4, 8],\n        \"VEC\"", "[1, \"x\"],\n        \"VEC\""),
      StartsWith(base + "/designs/row/params/ROWS_PER_BLOCK/1: "));
  EXPECT_EQ(with("wide.json", "\"residual\": {", "\"residual\": {\"rol\": 1, "),
            own + "/tensors/residual: unknown key 'rol'; did you mean 'role'?");
  EXPECT_EQ(with("forward.json", "\"weight\": {", "\"weight\": {\"rol\": 1, "),
            base + "/tensors/weight: unknown key 'rol'; did you mean 'role'?");
  EXPECT_EQ(with("forward.json", "\"x\": {", "\"x\": {\"rol\": 1, "),
            base + "/tensors/x: unknown key 'rol'; did you mean 'role'?");
  EXPECT_THAT(with("wide.json", R"("VEC": [4, 8])", R"("VEC": null)"),
              StartsWith(own + "/designs/"));
  EXPECT_EQ(with("wide.json", R"("designs": {)", R"("cost": null, "designs": {)"),
            own + "missing key 'cost'");
  EXPECT_EQ(with("forward.json", "\"format\": 1", "\"format\": 2"),
            base + "/format: format 2; this mgtune reads format 1");
  EXPECT_THAT(with("forward.json", "\"format\": 1,", "\"format\": 1,,"),
              StartsWith(base + "line 2"));

  const Result<Operator> op = decode("wide");
  ASSERT_TRUE(op.ok());
  EXPECT_EQ(op->place("/cost/bytes"), base + "/cost/bytes");
  EXPECT_EQ(op->place("/constraints/0"), own + "/constraints/0");
  EXPECT_EQ(op->place("/tensors/x/shape/0"), base + "/tensors/x/shape/0");
  EXPECT_EQ(op->place("/tensors/x/strides/0"), own + "/tensors/x/strides/0");
}

TEST_F(OperatorTextTest, ABaseThatCannotBeReadIsAnError) {
  const std::string place = "kernels/rmsnorm/wide.json: /extends: ";
  const auto extending = [&](const std::string& word) {
    files_["wide.json"] = "{\"extends\": " + word + "}";
    return error("wide");
  };
  EXPECT_EQ(extending("\"backward.json\""), place + "no file 'backward.json' in kernels/rmsnorm");
  EXPECT_EQ(extending("\"forward\""),
            place + "expected a .json file of the family, got \"forward\"");
  EXPECT_EQ(extending("1"), place + "expected string, got 1");
  EXPECT_EQ(extending("\"../rmsnorm/forward.json\""),
            place + "no file '../rmsnorm/forward.json' in kernels/rmsnorm");
  EXPECT_EQ(extending("\"wide.json\""),
            place + "'wide.json' extends this file, directly or through others");
  files_["other.json"] = R"({"extends": "wide.json"})";
  EXPECT_EQ(extending("\"other.json\""),
            "kernels/rmsnorm/other.json: /extends: 'wide.json' extends this file, directly or "
            "through others");
}

TEST_F(OperatorTextTest, AtMostFourFilesAreMerged) {
  std::string base = "wide.json";
  for (const std::string name : {"second", "third"}) {
    files_[name + ".json"] = "{\"extends\": \"" + base + "\"}";
    base = name + ".json";
  }
  const Result<Operator> op = decode("third");
  ASSERT_TRUE(op.ok()) << op.status().message();
  EXPECT_EQ(op->text->files.size(), 4U);
  EXPECT_EQ(op->place("/constraints/0"), "kernels/rmsnorm/wide.json: /constraints/0");
  files_["fourth.json"] = R"({"extends": "third.json"})";
  EXPECT_EQ(error("fourth"),
            "kernels/rmsnorm/wide.json: /extends: at most 4 files are merged, and this is the last "
            "of kernels/rmsnorm/fourth.json");
}

// Results and tables were recorded for these operators when each had a file of its own. They stay
// valid while names and the launches stay as they were. Since then only the launches of add_forward
// have changed: the number of blocks that prefetch became an argument. Its design cluster went in
// front of row, and attention.varlen got the design wgmma in front, then the dim value_dim, and
// then the parameters EXP_POLY and PACK_GQA. On 2026-12-01 all identities changed once more: now
// they leave out the lets that no launch needs.
TEST(ExtendedOperators, HaveTheIdentitiesOfTheirFormerFiles) {
  const std::map<std::string, std::string> hashes{
      {"attention.varlen", "a96f5d8701fa3b8b10fa5a9dc7e5354987ae29ece0fd4b5d5891b2375d45822b"},
      {"rmsnorm.add_backward", "3ce5a59c6b5329d939c3f54099ea8be4266325dca2e62acf7c594d6f875751e7"},
      {"rmsnorm.add_forward", "fab938c992dec6877bd533083beaeb213705a2e76b2e758700405d90852e0137"},
      {"swiglu.packed_backward",
       "7c6d66ea95afb6f3fd1530b0da1de517141285fca13fdcb94045fe9d883b52c9"},
      {"swiglu.packed_forward", "5c1e7870091058d274199fd7ea0f3bc3c33c517f4590446f4732b5daa51b1ba2"},
  };
  Catalog catalog(FileSystem::real());
  for (const auto& [name, hash] : hashes) {
    const Result<const Operator*> op = catalog.find_operator(name);
    ASSERT_TRUE(op.ok()) << op.status().message();
    EXPECT_EQ((*op)->text->files.size(), 2U) << name;
    std::string text;
    for (const Dim& dim : (*op)->dims) text += dim.name + "\n";
    for (const Tensor& tensor : (*op)->tensors) text += tensor.name + "\n";
    for (const Design& design : (*op)->designs) {
      text += design.name + "\n";
      for (const Parameter& parameter : design.params) text += parameter.name + "\n";
      text += design.launch_text + "\n";
    }
    EXPECT_EQ(sha256_hex(text), hash) << name;
  }
}

}  // namespace
}  // namespace mgtune
