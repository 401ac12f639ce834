#include "family/catalog.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>

#include "tests/helpers/operators/golden_operators.h"
#include "tests/helpers/test_folder.h"

namespace mgtune {
namespace {

// Files in memory.
class FakeFileSystem final : public FileSystem {
 public:
  std::map<std::string, std::string> files;

  Result<std::string> read_file(const std::string& path) override {
    const auto found = files.find(path);
    if (found == files.end()) return not_found("cannot read " + path);
    return found->second;
  }
  Status write_file(const std::string& /*path*/, std::string_view /*content*/) override {
    return unsupported("write");
  }
  Status create_directories(const std::string& /*path*/, unsigned /*mode*/) override {
    return unsupported("create");
  }
  Status remove(const std::string& /*path*/) override { return unsupported("remove"); }
  bool is_directory(const std::string& path) override {
    const auto below = files.lower_bound(path + "/");
    return below != files.end() && below->first.starts_with(path + "/");
  }
  bool exists(const std::string& path) override { return files.contains(path); }
  Result<std::vector<std::string>> list_files(const std::string& directory) override {
    std::vector<std::string> paths;
    for (const auto& [path, content] : files) {
      if (path.starts_with(directory + "/")) paths.push_back(path.substr(directory.size() + 1));
    }
    return paths;
  }
};

class CatalogTest : public testing::Test {
 protected:
  CatalogTest() {
    for (const char* folder : {"/home/me/mine", "rmsnorm", "./rmsnorm"}) {
      const std::string prefix = std::string(folder) + "/";
      file_system_.files[prefix + "forward.json"] = golden_text("rmsnorm.forward");
      file_system_.files[prefix + "scale.json"] = golden_text("rmsnorm.forward");
      file_system_.files[prefix + "forward.cu"] = "";
      file_system_.files[prefix + "reference.cu"] = "";
      file_system_.files[prefix + "detail/steps.cuh"] = "";
      file_system_.files[prefix + "notes.txt"] = "";
    }
    file_system_.files["/home/me/dot.ted/a.cu"] = "";
  }

  // Of a catalog that reads the folders as they are now.
  std::string error(const std::string& kernel) {
    return Catalog(file_system_).find(kernel).status().message();
  }
  std::string names(const std::string& kernel) {
    const Result<std::vector<const Operator*>> found = catalog_.find(kernel);
    if (!found.ok()) return found.status().message();
    std::string text;
    for (const Operator* op : *found) text += (text.empty() ? "" : " ") + op->full_name();
    return text;
  }

  FakeFileSystem file_system_;
  Catalog catalog_{file_system_};
};

TEST_F(CatalogTest, FoldersAreFamilies) {
  EXPECT_EQ(names("/home/me/mine"), "mine.forward mine.scale");
  EXPECT_EQ(names("/home/me/mine/"), "mine.forward mine.scale");
  EXPECT_EQ(names("/home/me/mine.scale"), "mine.scale");
  EXPECT_EQ(names("./rmsnorm"), "rmsnorm.forward rmsnorm.scale");
}

TEST_F(CatalogTest, AnOperatorsFileAndItsPathNameTheOperator) {
  for (const char* word :
       {"/home/me/mine/scale", "/home/me/mine/scale.json", "/home/me/mine.scale"}) {
    EXPECT_EQ(names(word), "mine.scale") << word;
  }
  EXPECT_EQ(names("swiglu/forward"), "swiglu.forward");
  EXPECT_EQ(names("swiglu/forward.json"), "swiglu.forward");
  EXPECT_EQ(names("swiglu.forward"), "swiglu.forward");
  // There is a folder of this name, which has the operator `scale`; the shipped family has none.
  EXPECT_EQ(names("rmsnorm/scale"), "rmsnorm.scale");
  EXPECT_EQ(names("swiglu/foward"),
            "swiglu has no operator 'foward'; did you mean 'forward'? It must be one of: backward, "
            "forward, gate_up, packed_backward, packed_forward");
}

TEST_F(CatalogTest, FamiliesAreLoadedOnceAndStayWhereTheyAre) {
  const Operator* first = catalog_.find("/home/me/mine.forward")->front();
  EXPECT_EQ(catalog_.find("/home/me/mine")->front(), first);
  EXPECT_EQ(*catalog_.find_operator("mine.forward"), first);
  EXPECT_EQ(first->sources->folder, "/home/me/mine");
  EXPECT_TRUE(first->sources->files.contains("detail/steps.cuh"));
  EXPECT_FALSE(first->sources->files.contains("notes.txt"));
}

TEST_F(CatalogTest, UnknownWords) {
  EXPECT_EQ(error("/home/me/none"),
            "no folder '/home/me/none', and no operator's file of that name");
  EXPECT_EQ(error("/home/me/mine.scales"),
            "/home/me/mine has no operator 'scales'; did you mean 'scale'? It must be one of: "
            "forward, scale");
  EXPECT_EQ(error("/home/me/dot.ted"),
            "/home/me/dot.ted: no operator file (*.json) in this folder");
  std::string families;
  for (const std::string& family : Catalog::shipped_families()) {
    families += (families.empty() ? "" : ", ") + family;
  }
  EXPECT_EQ(error("no_such_family"), "unknown kernel 'no_such_family'; it must be one of: " +
                                         families + ", or the path of a family's folder");
  EXPECT_EQ(catalog_.find("no_such_family").status().code(), StatusCode::not_found);
  EXPECT_EQ(catalog_.find_operator("no_such.forward").status().message(),
            "unknown operator 'no_such.forward'");
}

TEST_F(CatalogTest, FillsNameOperatorsThatAreThere) {
  const auto fill_with = [&](const std::string& op, const std::string& output) {
    file_system_.files["/home/me/mine/scale.json"] =
        replaced(golden_text("rmsnorm.forward"), R"(["hidden"], "fill": "normal")",
                 R"(["hidden"], "fill": {"op": ")" + op + R"(", "output": ")" + output + R"("})");
    return error("/home/me/mine");
  };
  const std::string place = "/home/me/mine/scale.json: /tensors/weight/fill/";
  EXPECT_EQ(fill_with("mine.foward", "rstd"),
            place + "op: unknown operator 'mine.foward'; did you mean 'mine.forward'?");
  EXPECT_EQ(fill_with("rmsnorm.forwrd", "rstd"),
            place + "op: unknown operator 'rmsnorm.forwrd'; did you mean 'rmsnorm.forward'?");
  EXPECT_EQ(fill_with("family.nonexistent", "y"),
            place + "op: unknown operator 'family.nonexistent'");
  EXPECT_EQ(fill_with("rmsnorm.forward", "rst"),
            place + "output: rmsnorm.forward has no output 'rst'; did you mean 'rstd'?");
  EXPECT_EQ(fill_with("rmsnorm.forward", "rstd"), "");
}

TEST_F(CatalogTest, AFamilysNameIsNoOperator) {
  const auto unknown = [&](const std::string& name) {
    return catalog_.find_operator(name).status().message();
  };
  EXPECT_EQ(unknown("rmsnorm"),
            "unknown operator 'rmsnorm'; an operator is named family.operator: "
            "rmsnorm.add_backward, rmsnorm.add_forward, rmsnorm.backward, rmsnorm.forward");
  EXPECT_EQ(unknown("nothing"), "unknown operator 'nothing'; an operator is named family.operator");
  EXPECT_EQ(unknown("rmsnrm.forward"),
            "unknown operator 'rmsnrm.forward'; did you mean 'rmsnorm.forward'?");
  EXPECT_EQ(unknown("rmsnorm.foward"),
            "rmsnorm has no operator 'foward'; did you mean 'forward'? It must be one of: "
            "add_backward, add_forward, backward, forward");
}

TEST_F(CatalogTest, SourcesHaveToBeThere) {
  file_system_.files.erase("/home/me/mine/reference.cu");
  EXPECT_EQ(error("/home/me/mine"),
            "/home/me/mine/forward.json: /check/reference: no file 'reference.cu' in "
            "/home/me/mine");
  file_system_.files["/home/me/mine/reference.cu"] = "";
  file_system_.files.erase("/home/me/mine/forward.cu");
  EXPECT_EQ(error("/home/me/mine"),
            "/home/me/mine/forward.json: /designs/row/source: no file 'forward.cu' in "
            "/home/me/mine");
}

TEST_F(CatalogTest, OperatorsOfAFolderMayExtendEachOther) {
  file_system_.files["/home/me/mine/wide.json"] =
      R"({"extends": "forward.json", "dims": {"hidden": "dynamic"}, "designs": {"row": null, "all": {
        "source": "wide.cu", "params": {}, "launches": [{"kernel": "wide<T>", "grid": [1],
        "block": [32], "args": ["x", "weight", "y", "rows:i64"]}], "defaults": [{}]}}})";
  file_system_.files["/home/me/mine/wide.cu"] = "";
  EXPECT_EQ(names("/home/me/mine"), "mine.forward mine.scale mine.wide");
  file_system_.files.erase("/home/me/mine/wide.cu");
  EXPECT_EQ(error("/home/me/mine.wide"),
            "/home/me/mine/wide.json: /designs/all/source: no file 'wide.cu' in /home/me/mine");
  file_system_.files.erase("/home/me/mine/reference.cu");
  EXPECT_EQ(error("/home/me/mine.wide"),
            "/home/me/mine/forward.json: /check/reference: no file 'reference.cu' in "
            "/home/me/mine");
}

TEST_F(CatalogTest, MalformedOperatorsNameTheirFile) {
  file_system_.files["/home/me/mine/scale.json"] = "{}";
  EXPECT_EQ(error("/home/me/mine"), "/home/me/mine/scale.json: missing key 'format'");
}

// One that nobody asks for costs nothing and hinders nobody.
TEST_F(CatalogTest, AnOperatorIsDecodedWhenItIsAskedFor) {
  file_system_.files["/home/me/mine/scale.json"] = "{}";
  EXPECT_EQ(names("/home/me/mine.forward"), "mine.forward");
  EXPECT_TRUE(catalog_.find_operator("mine.forward").ok());
  const std::string malformed = "/home/me/mine/scale.json: missing key 'format'";
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(names("/home/me/mine"), malformed);
    EXPECT_EQ(names("/home/me/mine.scale"), malformed);
    const Status status = catalog_.find_operator("mine.scale").status();
    EXPECT_EQ(status.code(), StatusCode::invalid_argument);
    EXPECT_EQ(status.message(), malformed);
  }
}

TEST_F(CatalogTest, FillsMayGoRoundInACircle) {
  const auto filled_from = [](const std::string& op, const std::string& output) {
    return replaced(
        golden_text("rmsnorm.forward"), R"(["hidden"], "fill": "normal")",
        R"(["hidden"], "fill": {"op": ")" + op + R"(", "output": ")" + output + R"("})");
  };
  file_system_.files["/home/me/mine/forward.json"] = filled_from("mine.scale", "rstd");
  file_system_.files["/home/me/mine/scale.json"] = filled_from("mine.forward", "rst");
  const std::string refused =
      "/home/me/mine/scale.json: /tensors/weight/fill/output: mine.forward has no output 'rst'; "
      "did you mean 'rstd'?";
  for (const char* kernel : {"/home/me/mine.forward", "/home/me/mine.scale", "/home/me/mine"}) {
    EXPECT_EQ(error(kernel), refused) << kernel;
  }
  file_system_.files["/home/me/other/forward.json"] = filled_from("other.scale", "rstd");
  file_system_.files["/home/me/other/scale.json"] = filled_from("other.forward", "rstd");
  for (const char* source : {"forward.cu", "reference.cu"}) {
    file_system_.files[std::string("/home/me/other/") + source] = "";
  }
  EXPECT_EQ(names("/home/me/other"), "other.forward other.scale");
}

TEST_F(CatalogTest, HugeFilesAreRefused) {
  file_system_.files["/home/me/mine/huge.cuh"] = std::string((4 << 20) + 1, ' ');
  EXPECT_EQ(error("/home/me/mine"),
            "/home/me/mine/huge.cuh: 4194305 bytes; a file of a family has at most 4 MiB");
}

TEST_F(CatalogTest, ShippedFamilies) {
  const std::vector<std::string> families = Catalog::shipped_families();
  EXPECT_TRUE(std::ranges::is_sorted(families));
  EXPECT_EQ(std::ranges::count(families, "common"), 0);
  ASSERT_EQ(std::ranges::count(families, "rmsnorm"), 1);
  const std::string misspelt = error("rmsnrom");
  EXPECT_TRUE(
      misspelt.starts_with("unknown kernel 'rmsnrom'; did you mean 'rmsnorm'? It must be "
                           "one of: "))
      << misspelt;
  EXPECT_EQ(names("rmsnorm.forward"), "rmsnorm.forward");
  const Result<const Operator*> found = catalog_.find_operator("rmsnorm.forward");
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ((*found)->file, "kernels/rmsnorm/forward.json");  // not the folder of that name
}

TEST_F(CatalogTest, AFolderThatWasAskedForGoesBeforeAShippedFamilyOfItsName) {
  for (const auto& [path, content] : std::map(file_system_.files)) {
    if (path.starts_with("./rmsnorm/")) file_system_.files["zoo/" + path.substr(2)] = content;
  }
  for (const char* folder : {"./rmsnorm", "zoo/rmsnorm"}) {
    for (const bool shipped_first : {false, true}) {
      Catalog catalog(file_system_);
      ASSERT_TRUE(catalog.find(shipped_first ? "rmsnorm" : folder).ok());
      ASSERT_TRUE(catalog.find(shipped_first ? folder : "rmsnorm").ok());
      const Operator* mine = catalog.find(std::string(folder) + ".forward")->front();
      EXPECT_EQ(*catalog.find_operator("rmsnorm.forward"), mine) << folder << shipped_first;
    }
  }
}

TEST_F(CatalogTest, TwoFoldersOfOneNameWouldNotBeToldApart) {
  for (const auto& [path, content] : std::map(file_system_.files)) {
    if (path.starts_with("/home/me/mine/")) file_system_.files["/srv" + path.substr(8)] = content;
  }
  ASSERT_EQ(names("/home/me/mine"), "mine.forward mine.scale");
  EXPECT_EQ(
      names("/srv/mine"),
      "/srv/mine: the folder /home/me/mine has this name too, and operators of one name would "
      "not be told apart");
  EXPECT_EQ(catalog_.find("/srv/mine").status().code(), StatusCode::invalid_argument);
}

TEST_F(CatalogTest, ShippedFamiliesNeedNoCurrentFolder) {
  const std::filesystem::path before = std::filesystem::current_path();
  {
    const TestFolder folder;
    std::filesystem::current_path(folder.path());
  }
  EXPECT_EQ(names("rmsnorm.forward"), "rmsnorm.forward");
  EXPECT_EQ(names("/home/me/mine.scale"), "mine.scale");
  EXPECT_EQ(error("./none"), "no folder './none', and no operator's file of that name");
  EXPECT_EQ(names("./rmsnorm.scale"), "rmsnorm.scale");
  std::filesystem::current_path(before);
}

TEST_F(CatalogTest, AFolderIsTheSameOneHoweverItIsNamed) {
  const std::string absolute = std::filesystem::absolute("rmsnorm").string();
  for (const auto& [path, content] : std::map(file_system_.files)) {
    if (path.starts_with("rmsnorm/")) file_system_.files[absolute + path.substr(7)] = content;
  }
  const Operator* const first = catalog_.find("./rmsnorm.scale")->front();
  EXPECT_EQ(catalog_.find(absolute + ".scale")->front(), first);
}

}  // namespace
}  // namespace mgtune
