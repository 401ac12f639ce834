#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "compiler/compiler.h"
#include "core/embedded.h"
#include "core/sha256.h"

namespace mgtune {
namespace {

struct Inputs {
  SourceTree sources{"family",
                     {{"forward.cu", "#include \"tile.cuh\"\n#include <mg/none.cuh>\n"},
                      {"tile.cuh", "#include \"sub/deep.cuh\"\n"},
                      {"sub/deep.cuh", "#include \"beside.cuh\"\n#include \"../up.cuh\"\n"},
                      {"sub/beside.cuh", "int beside;"},
                      {"up.cuh", "#include \"tile.cuh\"\n"},  // a cycle
                      {"reference.cu", "void reference();"},
                      {"forward.json", "{}"}}};
  std::string source = "forward.cu";
  std::vector<std::string> kernels = {"k<1>", "k<2>"};
  std::string arch = "cpu";
  std::string identity = "g++ 12.2.0";
  std::vector<MacroDefinition> macros;

  std::string key() const {
    return build_key({&sources, source, kernels, arch, "", macros}, identity);
  }
};

// The key after a change of the inputs.
std::string key_with(const std::function<void(Inputs&)>& change) {
  Inputs inputs;
  change(inputs);
  return inputs.key();
}

TEST(BuildKey, IsAHashAndAlwaysTheSame) {
  EXPECT_EQ(Inputs().key().size(), 64u);
  EXPECT_EQ(Inputs().key(), Inputs().key());
}

// The key that earlier versions computed. Caches and packs of users keep their entries as long as
// it stays.
TEST(BuildKey, ARequestWithoutMacrosKeepsItsKey) {
  EXPECT_EQ(Inputs().key(), "116c64116dbd73e9a6c9e6cf9536748f133c8273f1dddc200b1a0c5d4648e048");
}

TEST(BuildKey, MacrosCount) {
  const std::string key = Inputs().key();
  const auto with = [](std::vector<MacroDefinition> macros) {
    return key_with([&](Inputs& in) { in.macros = std::move(macros); });
  };
  EXPECT_NE(with({{"N", "1"}}), key);
  EXPECT_NE(with({{"N", "1"}}), with({{"N", "2"}}));
  EXPECT_NE(with({{"N", "1"}}), with({{"M", "1"}}));
  EXPECT_NE(with({{"N", "1"}, {"M", "1"}}), with({{"N", "1"}}));
}

TEST(BuildKey, VariablesAndOptionsCount) {
  const Inputs in;
  BuildRequest request{&in.sources, in.source, in.kernels, in.arch};
  const std::string key = build_key(request, in.identity);
  request.variables = {"d_filter"};
  const std::string with_variable = build_key(request, in.identity);
  EXPECT_NE(with_variable, key);
  request.options = {"--fmad=false"};
  EXPECT_NE(build_key(request, in.identity), with_variable);
}

TEST(BuildKey, EveryInputCounts) {
  const std::string key = Inputs().key();
  EXPECT_NE(key_with([](Inputs& in) { in.identity = "g++ 12.2.1"; }), key);
  EXPECT_NE(key_with([](Inputs& in) { in.arch = "cpu-race"; }), key);
  EXPECT_NE(key_with([](Inputs& in) { in.kernels = {"k<1>"}; }), key);
  EXPECT_NE(key_with([](Inputs& in) { in.kernels = {"k<1>", "k<3>"}; }), key);
  EXPECT_NE(key_with([](Inputs& in) { in.source = "reference.cu"; }), key);
}

TEST(BuildKey, EveryIncludedFileCountsHoweverDeep) {
  const std::string key = Inputs().key();
  for (const char* file : {"forward.cu", "tile.cuh", "sub/deep.cuh", "sub/beside.cuh", "up.cuh"}) {
    EXPECT_NE(key_with([&](Inputs& in) { in.sources.files[file] += " "; }), key) << file;
  }
}

TEST(BuildKey, WhatIsNotIncludedDoesNotCount) {
  const std::string key = Inputs().key();
  EXPECT_EQ(key_with([](Inputs& in) { in.sources.files["reference.cu"] += " "; }), key);
  EXPECT_EQ(key_with([](Inputs& in) { in.sources.files["forward.json"] += " "; }), key);
  EXPECT_EQ(key_with([](Inputs& in) { in.sources.files["new.cuh"] = ""; }), key);
  EXPECT_EQ(key_with([](Inputs& in) { in.sources.folder = "elsewhere"; }), key);
}

TEST(BuildKey, AFileThatAppearsWhereOneWasAskedForCounts) {
  EXPECT_NE(key_with([](Inputs& in) { in.sources.files["mg/none.cuh"] = ""; }), Inputs().key());
}

TEST(BuildKey, AnIncludeThroughAMacroBringsTheWholeFolder) {
  const auto computed = [](Inputs& in) { in.sources.files["forward.cu"] = "#include TILE\n"; };
  const std::string key = key_with(computed);
  EXPECT_NE(key_with([&](Inputs& in) {
              computed(in);
              in.sources.files["reference.cu"] += " ";
            }),
            key);
}

TEST(BuildKey, RepeatedKernelsAreOne) {
  EXPECT_EQ(key_with([](Inputs& in) { in.kernels = {"k<1>", "k<2>", "k<1>"}; }), Inputs().key());
}

TEST(BuildKey, BordersBetweenInputsCount) {
  const auto split = [](const std::string& a, const std::string& b) {
    return key_with([&](Inputs& in) {
      in.identity = a;
      in.arch = b;
    });
  };
  EXPECT_NE(split("ab", "c"), split("a", "bc"));
}

TEST(BuildKey, HeadersOfTheBinaryCount) {
  // Asking for a header of kernels/common/mg brings its text; asking for one that is not there,
  // nothing.
  std::string header;
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.path.starts_with("kernels/common/mg/")) header = file.path.substr(15);
  }
  ASSERT_FALSE(header.empty());
  const auto including = [](const std::string& text) {
    return key_with([&](Inputs& in) { in.sources.files["forward.cu"] = text; });
  };
  const std::string found = including("#include <" + header + ">\n");
  const std::string name_only = including("#include <" + header + "x>\n");
  EXPECT_NE(found, name_only);
  // The same text of the source with another file behind the name gives another key: seen by
  // shadowing the header in the family's own folder.
  EXPECT_NE(key_with([&](Inputs& in) {
              in.sources.files["forward.cu"] = "#include <" + header + ">\n";
              in.sources.files[header] = "int shadow;";
            }),
            found);
}

TEST(BuildKey, AMissingSourceStillHasAKey) {
  EXPECT_EQ(key_with([](Inputs& in) { in.source = "none.cu"; }).size(), 64u);
}

}  // namespace
}  // namespace mgtune
