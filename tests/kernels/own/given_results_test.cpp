// Inputs from files, and references that are files or a program. The programs are shell scripts, so
// that the test needs no Python.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "family/catalog.h"
#include "tensors/array_file.h"
#include "tests/helpers/kernels/checker_fixture.h"
#include "tests/helpers/replaced.h"

namespace mgtune {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr char kTwice[] = R"json({
  "format": 1,
  "dims": {"rows": "dynamic", "n": "static"},
  "dtypes": {"T": ["f32", "bf16"]},
  "scalars": {"factor": {"dtype": "f32", "check": 2}},
  "flags": {"exact": "bool"},
  "tensors": {
    "x": {"role": "in", "dtype": "T", "shape": ["rows", "n"], "fill": {"file": "data/x.npy"}},
    "y": {"role": "out", "dtype": "T", "shape": ["rows", "n"]}
  },
  "cost": {"bytes": "2 * rows * n * sizeof(T)", "flops": "rows * n"},
  "check": {"reference": {"files": {"y": "y.npy"}}, "measure": "relative_l2",
            "tolerance": {"f32": 1e-6, "bf16": 1e-2}},
  "designs": {"flat": {
    "source": "twice.cu",
    "params": {"THREADS": [32]},
    "launches": [{"kernel": "twice<T>", "grid": ["ceil_div(rows * n, THREADS)"],
                  "block": ["THREADS"], "args": ["x", "y", "factor", "rows * n:i64"]}],
    "defaults": [{"THREADS": 32}]}}
})json";

constexpr char kTwiceSource[] = R"(
#include <mg/convert.cuh>
template <class T>
__global__ void twice(const T* x, T* y, float factor, long long count) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] = mg::from_float<T>(mg::to_float(x[i]) * factor);
}
)";

constexpr char kFilesReference[] = R"({"files": {"y": "y.npy"}})";

class GivenResultsTest : public CheckerTest {
 protected:
  GivenResultsTest() {
    write("twice.cu", kTwiceSource);
    write_array("data/x.npy", {1, 2, 3, 4, 5, 6});
    write_array("y.npy", {2, 4, 6, 8, 10, 12});
  }

  std::string path(const std::string& name) const { return folder_.file("twice/" + name); }

  void write(const std::string& name, const std::string& content) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    std::ofstream(path(name)) << content;
  }

  void write_array(const std::string& name, const std::vector<float>& values,
                   std::vector<std::int64_t> shape = {2, 3}) const {
    write(name, npy_text({DType::f32, std::move(shape),
                          std::string(reinterpret_cast<const char*>(values.data()),
                                      values.size() * sizeof(float))}));
  }

  void use_twice(const std::string& reference = kFilesReference) {
    write("twice.json", replaced(kTwice, kFilesReference, reference));
    Catalog catalog(FileSystem::real());
    const auto found = catalog.find(folder_.file("twice"));
    ASSERT_TRUE(found.ok()) << found.status().message();
    op_ = std::make_unique<Operator>(*found.value().front());
  }

  std::string hash() {
    use_twice();
    return reference_hash(*op_);
  }

  TestFolder folder_;
};

const Values kTwoByThree{{"rows", "2"}, {"n", "3"}, {"T", "f32"}};

TEST_F(GivenResultsTest, InputsAndResultsFromFiles) {
  use_twice();
  bind(kTwoByThree);
  const CheckRecord record = check("flat THREADS=32");
  EXPECT_EQ(record.outcome, Outcome::ok) << record.message;
  bind({{"rows", "2"}, {"n", "3"}, {"T", "bf16"}});
  EXPECT_EQ(check("flat THREADS=32").outcome, Outcome::ok);

  write_array("y.npy", {2, 4, 6, 8, 10, 13});
  bind(kTwoByThree);
  expect_wrong("flat THREADS=32", "y[1, 2]");
}

TEST_F(GivenResultsTest, FilesThatDoNotFitAreNamed) {
  use_twice();
  EXPECT_THAT(making_status({{"rows", "3"}, {"n", "2"}, {"T", "f32"}}).message(),
              AllOf(HasSubstr("twice.json: /tensors/x/fill: data/x.npy: its shape is [2, 3], and x "
                              "has the shape [3, 2]")));
  write_array("y.npy", {2, 4, 6, 8, 10, 12}, {6});
  EXPECT_THAT(making_status(kTwoByThree).message(),
              HasSubstr("twice.json: /check/reference: y.npy: its shape is [6], and y has the "
                        "shape [2, 3]"));
  std::filesystem::remove(path("data/x.npy"));
  const Status missing = making_status(kTwoByThree);
  EXPECT_EQ(missing.code(), StatusCode::invalid_argument);
  EXPECT_THAT(missing.message(), AllOf(HasSubstr("/tensors/x/fill: "), HasSubstr("data/x.npy")));
}

TEST_F(GivenResultsTest, ResultsFromAProgram) {
  // Without Python, the program can only copy; what it was given is looked at here.
  write("reference.sh",
        "cp y.npy \"$1/y.npy\" && cp \"$1/problem.json\" problem.out && cp \"$1/x.npy\" x.out\n");
  use_twice(R"({"command": ["sh", "reference.sh"], "seconds": 20})");
  bind(kTwoByThree);
  EXPECT_EQ(check("flat THREADS=32").outcome, Outcome::ok);
  EXPECT_EQ(file_content(path("x.out")), file_content(path("data/x.npy")));
  const std::string problem = file_content(path("problem.out"));
  for (const char* part : {"\"operator\": \"twice.twice\"", "\"rows\": 2", "\"T\": \"f32\"",
                           "\"exact\": false", "\"factor\": 2", "\"dtype\": \"f32\""}) {
    EXPECT_THAT(problem, HasSubstr(part));
  }
}

TEST_F(GivenResultsTest, AProgramThatFailsIsQuoted) {
  const auto message = [&](const std::string& script, const char* seconds = "20") {
    write("reference.sh", script);
    use_twice("{\"command\": [\"sh\", \"reference.sh\"], \"seconds\": " + std::string(seconds) +
              "}");
    return making_status(kTwoByThree).message();
  };
  EXPECT_THAT(message("echo no module named torch >&2; exit 3\n"),
              HasSubstr("twice.json: /check/reference: 'sh reference.sh' ended with code 3: no "
                        "module named torch"));
  EXPECT_THAT(message("exit 0\n"), HasSubstr("y.npy"));
  EXPECT_THAT(message("echo 1 > \"$1/y.npy\"\n"), HasSubstr("it is no .npy file"));
  EXPECT_THAT(message("sleep 60\n", "1"),
              HasSubstr("'sh reference.sh' did not end within 1 s; \"seconds\" allows it more"));
  use_twice(R"({"command": ["mgtune_no_such_program"]})");
  EXPECT_THAT(making_status(kTwoByThree).message(), HasSubstr("mgtune_no_such_program"));
}

TEST_F(GivenResultsTest, ResultsAreKnownByTheContentOfTheFiles) {
  const std::string before = hash();
  EXPECT_EQ(hash(), before);
  write_array("y.npy", {2, 4, 6, 8, 10, 13});
  const std::string other_result = hash();
  EXPECT_NE(other_result, before);
  write_array("data/x.npy", {1, 2, 3, 4, 5, 7});
  EXPECT_NE(hash(), other_result);
  write("reference.sh", "true\n");
  use_twice(R"({"command": ["sh", "reference.sh"]})");
  const std::string with_script = reference_hash(*op_);
  write("reference.sh", "false\n");
  EXPECT_NE(reference_hash(*op_), with_script);
}

}  // namespace
}  // namespace mgtune
