// What a fleet is planned to do, the scripts that Slurm gets, and how far its tasks are. A real
// Slurm runs such scripts in tests/fleet.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "fleet/fleet_request.h"
#include "fleet/fleet_status.h"
#include "fleet/slurm_scripts.h"
#include "store/store.h"
#include "tests/helpers/store_fixture.h"
#include "tests/helpers/test_folder.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(FleetWords, TimeLimitsAreThoseOfSlurm) {
  for (const auto& [text, expected] :
       std::vector<std::pair<std::string, std::int64_t>>{{"30", 1800},
                                                         {"30:15", 1815},
                                                         {"1:00:00", 3600},
                                                         {"2-12", 216000},
                                                         {"1-0:30", 88200},
                                                         {"1-0:0:5", 86405}}) {
    EXPECT_EQ(slurm_seconds(text).value(), expected) << text;
  }
  for (const char* text :
       {"", "0", "x", "1:2:3:4", "1:", "-1", "-5:00", "1h", "1-", "999999999999"}) {
    EXPECT_EQ(slurm_seconds(text).status().code(), StatusCode::invalid_argument) << text;
  }
}

TEST(FleetWords, AGpuSaysHowSlurmIsAskedForIt) {
  EXPECT_EQ(parse_fleet_gpu("H200:gres=gpu:h200:1")->slurm, "gres=gpu:h200:1");
  EXPECT_EQ(parse_fleet_gpu("L4:constraint=l4")->name, "L4");
  EXPECT_EQ(parse_fleet_gpu("H100")->slurm, "gres=gpu:1");
  EXPECT_EQ(parse_fleet_gpu("cpu")->slurm, "");
  for (const char* text : {"", ":gres=gpu", "L4:l4", "L4:", "L4:gres="}) {
    EXPECT_EQ(parse_fleet_gpu(text).status().code(), StatusCode::invalid_argument) << text;
  }
}

class FleetTest : public StoreTest {
 protected:
  FleetTest() : catalog_(FileSystem::real()) {
    request_.kernels = {"rmsnorm.forward", "swiglu"};
    request_.gpus = {"H200:gres=gpu:h200:1", "L4:constraint=l4"};
    request_.program = "/opt/mgtune";
  }

  FleetPlan plan() { return plan_fleet(request_, catalog_).value(); }
  std::string failure() { return plan_fleet(request_, catalog_).status().message(); }

  static std::string script(const FleetPlan& plan, const std::string& name) {
    for (const FleetScript& script : slurm_scripts(plan, "/shared/tuned")) {
      if (script.name == name) return script.content;
    }
    return "";
  }

  Catalog catalog_;
  FleetRequest request_;
};

TEST_F(FleetTest, APlanIsSizedToTheTimeLimit) {
  const FleetPlan hours = plan();
  ASSERT_EQ(hours.gpus.size(), 2U);
  for (const FleetGpu& gpu : hours.gpus) {
    EXPECT_GT(gpu.variants, 100);
    EXPECT_LE(gpu.seconds, static_cast<double>(gpu.tasks) * 3600);
  }
  request_.time = "1";
  const FleetPlan minutes = plan();
  EXPECT_GE(minutes.gpus[0].tasks, 10 * hours.gpus[0].tasks);
  request_.tasks = "7";
  EXPECT_EQ(plan().gpus[1].tasks, 7);
}

TEST_F(FleetTest, EveryVariantIsVisitedUnlessThereIsABudget) {
  ASSERT_EQ(plan().sweeps.size(), 2U);
  EXPECT_THAT(plan().sweeps[0], ElementsAre("rmsnorm.forward", "--budget", testing::_));
  request_.budget = "50";
  request_.problems = {"rmsnorm.forward:rows=4096,hidden=4096"};
  request_.dtype = "bf16";
  const FleetPlan limited = plan();
  EXPECT_THAT(limited.sweeps[0],
              ElementsAre("rmsnorm.forward", "--problem", "rows=4096,hidden=4096", "--dtype",
                          "bf16", "--budget", "50"));
  EXPECT_THAT(limited.sweeps[1], ElementsAre("swiglu", "--dtype", "bf16", "--budget", "50"));
}

TEST_F(FleetTest, WrongWordsAreRefused) {
  request_.problems = {"gemm.forward:m=1"};
  EXPECT_THAT(failure(), HasSubstr("--kernel does not name gemm.forward"));
  request_.problems.clear();
  request_.gpus = {"H200", "H200:constraint=h200"};
  EXPECT_THAT(failure(), HasSubstr("H200 is given twice"));
  request_.gpus = {"H2000"};
  EXPECT_THAT(failure(), HasSubstr("H2000"));
  request_.gpus = {"H200"};
  request_.tasks = "0";
  EXPECT_THAT(failure(), HasSubstr("--tasks: '0' is no number from 1"));
}

TEST_F(FleetTest, ThePlanIsReadAsItWasWritten) {
  request_.sbatch = {"--partition=gpu", "--account=a"};
  const FleetPlan written = plan();
  const std::string folder = folder_.file("fleet");
  ASSERT_TRUE(write_fleet(FileSystem::real(), written, folder).ok());
  EXPECT_TRUE(write_fleet(FileSystem::real(), written, folder).ok()) << "the same again";
  EXPECT_EQ(fleet_document(read_fleet(FileSystem::real(), folder).value()),
            fleet_document(written));
  request_.tasks = "9";
  EXPECT_THAT(write_fleet(FileSystem::real(), plan(), folder).message(),
              HasSubstr("has the plan of another fleet"));
  EXPECT_THAT(write_fleet(FileSystem::real(), written, folder_.file("a b")).message(),
              HasSubstr("has blanks"));
  std::ofstream(folder + "/fleet.json") << R"({"format": 2})";
  EXPECT_FALSE(read_fleet(FileSystem::real(), folder).ok());
  EXPECT_EQ(read_fleet(FileSystem::real(), folder_.file("none")).status().code(),
            StatusCode::not_found);
}

TEST_F(FleetTest, TheScriptsSayWhatSlurmMustKnow) {
  request_.sbatch = {"--partition=gpu"};
  request_.tasks = "16";
  const std::string tasks = script(plan(), "H200/tasks.sbatch");
  for (const char* option :
       {"--array=1-16", "--gres=gpu:h200:1", "--requeue", "--signal=B:USR1@60", "--partition=gpu",
        "--time=1:00:00", "--open-mode=append", "--output=/shared/tuned/H200/task-%a.log"}) {
    EXPECT_THAT(tasks, HasSubstr(std::string("\n#SBATCH ") + option + "\n"));
  }
  EXPECT_THAT(tasks, HasSubstr("--gpu H200 --db /shared/tuned/H200.db --shard \"$task/16\""));
  // The last task of an array has the number of the whole array.
  EXPECT_THAT(tasks, HasSubstr("job=${SLURM_ARRAY_JOB_ID}_$task\n"));
  EXPECT_THAT(tasks, Not(HasSubstr("\"$SLURM_JOB_ID\"")));
  const std::string merge = script(plan(), "L4/merge.sbatch");
  EXPECT_THAT(merge, HasSubstr("\n#SBATCH --constraint=l4\n"));
  EXPECT_THAT(merge, HasSubstr(" --finals"));
  EXPECT_THAT(merge, Not(HasSubstr("--budget")));
}

// Stands in for sbatch: refuses what has `refused` in its arguments, and gives all others a number.
int submit(const std::string& script, const std::string& refused) {
  const TestFolder folder;
  std::ofstream(folder.file("submit.sh")) << script;
  std::ofstream(folder.file("sbatch"))
      << "#!/bin/sh\ncase \"$*\" in *" << refused << "*) exit 1 ;; esac\necho 7\n";
  std::filesystem::permissions(folder.file("sbatch"), std::filesystem::perms::owner_all);
  return std::system(
      ("PATH=\"" + folder.path() + ":$PATH\" bash \"" + folder.file("submit.sh") + "\" >/dev/null")
          .c_str());
}

TEST_F(FleetTest, SubmittingFailsIfSlurmRefusesAnyJob) {
  const std::string text = script(plan(), "submit.sh");
  EXPECT_EQ(submit(text, "nothing"), 0);
  for (const char* refused : {"H200/tasks.sbatch", "L4/merge.sbatch", "all.sbatch"}) {
    EXPECT_NE(submit(text, refused), 0) << refused;
  }
}

TEST_F(FleetTest, TheStatusIsReadFromTheFiles) {
  request_.gpus = {"H200"};
  request_.tasks = "4";
  const FleetPlan planned = plan();
  const std::string folder = folder_.file("fleet");
  ASSERT_TRUE(write_fleet(FileSystem::real(), planned, folder).ok());
  const FleetGpu& gpu = planned.gpus[0];
  for (const std::int64_t task : {1, 2, 3}) {
    Store store = Store::open(part_of(folder, gpu, task), Store::Mode::read_write).value();
    ASSERT_TRUE(store.record(outcome_in(store, kH200Record)).ok());
  }
  std::ofstream(task_file(folder, gpu, 1, "done")) << "3 120\n";
  std::ofstream(task_file(folder, gpu, 2, "failed")) << "4 1\n";
  const FleetGpuStatus status = fleet_status(FileSystem::real(), planned, folder).value().front();
  using State = FleetTask::State;
  EXPECT_EQ(status.tasks[0].state, State::done);
  EXPECT_EQ(status.tasks[0].exit_code, 3);
  EXPECT_EQ(status.tasks[1].state, State::failed);
  EXPECT_EQ(status.tasks[1].exit_code, 4);
  EXPECT_EQ(status.tasks[2].state, State::begun);
  EXPECT_EQ(status.tasks[3].state, State::missing);
  EXPECT_EQ(status.variants(), 3);
  EXPECT_FALSE(status.is_merged);
  EXPECT_NEAR(status.seconds_left, 360, 5) << "three tasks as long as the one that was timed";
  EXPECT_EQ(tasks_to_do(status), "2-4");

  std::ofstream(part_of(folder, gpu, 3)) << "torn";
  const FleetGpuStatus torn = fleet_status(FileSystem::real(), planned, folder).value().front();
  EXPECT_THAT(torn.tasks[2].problem, HasSubstr("shard-3-of-4.db"));
}

}  // namespace
}  // namespace mgtune
