#include "fleet/slurm_scripts.h"

#include <fmt/format.h>

#include "core/text.h"

namespace mgtune {
namespace {

// Slurm sends the signal up to a minute earlier than it is asked to.
constexpr int kWarningSeconds = 60;
// A task that has been requeued this many times makes no progress.
constexpr int kMaxRestarts = 100;

std::string command_text(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += " " + shell_word(word);
  return text;
}

std::string header(const FleetPlan& plan, const FleetGpu* gpu, const std::string& job) {
  std::string text = "#!/usr/bin/env bash\n# Written by 'mgtune fleet plan'.\n";
  const auto option = [&](const std::string& words) { text += "#SBATCH " + words + "\n"; };
  option("--job-name=mgtune-" + job);
  option("--time=" + plan.time);
  option("--requeue");
  option("--open-mode=append");
  for (const std::string& words : plan.sbatch) option(words);
  if (gpu == nullptr) return text;
  option(fmt::format("--cpus-per-task={}", plan.cpus));
  if (gpu->name == "cpu") option("--exclusive");  // one emulation at a time on a node
  if (!gpu->slurm.empty()) option("--" + gpu->slurm);
  if (gpu->slurm.starts_with("constraint=")) option("--gres=gpu:1");
  return text;
}

// The lock of the cpu device is in the user's home folder, which nodes may share.
std::string environment(const FleetGpu& gpu) {
  if (gpu.name != "cpu") return "";
  return "export XDG_DATA_HOME=\"$folder/node-${SLURMD_NODENAME:-local}\"\n";
}

FleetScript tasks_script(const FleetPlan& plan, const FleetGpu& gpu, const std::string& folder) {
  const std::string name = folder_name(gpu);
  std::string text = header(plan, &gpu, name);
  text +=
      fmt::format("#SBATCH --array=1-{}\n#SBATCH --signal=B:USR1@{}\n", gpu.tasks, kWarningSeconds);
  text += "#SBATCH --output=" + folder + "/" + name + "/task-%a.log\n";
  text += fmt::format(R"SH(
set -u
mgtune={}
folder={}
task=${{SLURM_ARRAY_TASK_ID:?this script is a job array: submit it with sbatch}}
state=$folder/{}/task-$task
[ -e "$state.done" ] && exit 0  # submitted again
rm -f "$state.failed"
{}
# Slurm sends USR1 shortly before the time limit. The sweep stops after its variant, and the task
# takes its place in the queue again.
child= requeue= stopped=
trap 'requeue=1; [ -z "$child" ] || kill -TERM "$child"' USR1
trap 'stopped=1; [ -z "$child" ] || kill -TERM "$child"' TERM

record() {{ # ENDING CODE: the exit code and the seconds, as one step
  echo "$2 $SECONDS" >"$state.part" && mv "$state.part" "$state.$1"
}}

leave_if_asked() {{
  [ -n "$stopped$requeue" ] || return 0
  # A task that is preempted still runs for Slurm; one that a user cancelled does not, and stays away.
  # SLURM_JOB_ID cannot be used here: the last task of an array has the number of the whole array.
  local job=${{SLURM_ARRAY_JOB_ID}}_$task
  [ "$(squeue -h -j "$job" -o %T)" = RUNNING ] || exit 143
  if [ "${{SLURM_RESTART_COUNT:-0}}" -ge {} ]; then record failed 124; exit 124; fi
  scontrol requeue "$job"
  exit 143
}}

worst=0
sweep() {{
  leave_if_asked
  "$mgtune" sweep "$@" &
  child=$!
  local code
  while true; do  # a signal ends `wait` early
    wait "$child"
    code=$?
    kill -0 "$child" 2>/dev/null || break
  done
  child=
  leave_if_asked
  case $code in
    0 | 3) [ "$code" -le "$worst" ] || worst=$code ;;  # 3: some variants failed
    129 | 130 | 137 | 143)  # somebody ended the sweep: signals of Slurm reach it as well
      stopped=1
      leave_if_asked
      ;;
    *) record failed "$code"; exit "$code" ;;
  esac
}}

)SH",
                      shell_word(plan.program), shell_word(folder), shell_word(name),
                      environment(gpu), kMaxRestarts);
  for (const std::vector<std::string>& words : plan.sweeps) {
    text += fmt::format("sweep{} --gpu {} --db {} --shard \"$task/{}\"\n", command_text(words),
                        shell_word(gpu.name), shell_word(database_of(folder, gpu)), gpu.tasks);
  }
  text += "record done \"$worst\"\n";
  return {name + "/tasks.sbatch", text};
}

// The arguments of a sweep, without the arguments that say what to search.
std::vector<std::string> words_of_finals(const std::vector<std::string>& words) {
  std::vector<std::string> left;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--budget" || word == "--strategy" || word == "--target") {
      ++i;
    } else {
      left.push_back(word);
    }
  }
  return left;
}

FleetScript merge_script(const FleetPlan& plan, const FleetGpu& gpu, const std::string& folder) {
  const std::string name = folder_name(gpu);
  std::string text = header(plan, &gpu, name + "-merge");
  text += "#SBATCH --output=" + folder + "/" + name + "/merge.log\n";
  text += fmt::format(R"SH(
set -eu
mgtune={}
folder={}
{}shopt -s nullglob
parts=("$folder"/{}.shard-*-of-{}.db)
[ ${{#parts[@]}} -gt 0 ] || {{ echo "no task has left results" >&2; exit 1; }}
"$mgtune" merge {} "${{parts[@]}}"
)SH",
                      shell_word(plan.program), shell_word(folder), environment(gpu), name,
                      gpu.tasks, shell_word(database_of(folder, gpu)));
  for (const std::vector<std::string>& words : plan.sweeps) {
    text += fmt::format("\"$mgtune\" sweep{} --gpu {} --db {} --finals || [ $? -eq 3 ]\n",
                        command_text(words_of_finals(words)), shell_word(gpu.name),
                        shell_word(database_of(folder, gpu)));
  }
  text += "\"$mgtune\" fleet status \"$folder\"\n";
  return {name + "/merge.sbatch", text};
}

FleetScript all_script(const FleetPlan& plan, const std::string& folder) {
  std::string text = header(plan, nullptr, "all");
  text += "#SBATCH --output=" + folder + "/all.log\n\nset -eu\n" + shell_word(plan.program) +
          " merge " + shell_word(fleet_file(folder, "fleet.db"));
  for (const FleetGpu& gpu : plan.gpus) text += " " + shell_word(database_of(folder, gpu));
  return {"all.sbatch", text + "\n"};
}

FleetScript submit_script(const FleetPlan& plan, const std::string& folder) {
  std::string text = fmt::format(R"SH(#!/usr/bin/env bash
# Written by 'mgtune fleet plan'. Submits all jobs. Submitted again, tasks that are done end at once.
set -euo pipefail
folder={}
submit() {{ local job; job=$(sbatch --parsable "$@") || return; echo "${{job%%;*}}"; }}
merges=
)SH",
                                 shell_word(folder));
  for (const FleetGpu& gpu : plan.gpus) {
    const std::string name = folder_name(gpu);
    text += fmt::format(R"SH(
array=$(submit "$folder/{0}/tasks.sbatch")
merge=$(submit --dependency=afterany:"$array" "$folder/{0}/merge.sbatch")
merges=$merges:$merge
echo "{0}: array $array, then merge $merge"
)SH",
                        name);
  }
  text += R"SH(
all=$(submit --dependency=afterok"$merges" "$folder/all.sbatch")
echo "all: $all"
)SH";
  return {"submit.sh", text, true};
}

}  // namespace

std::vector<FleetScript> slurm_scripts(const FleetPlan& plan, const std::string& folder) {
  std::vector<FleetScript> scripts = {submit_script(plan, folder), all_script(plan, folder)};
  for (const FleetGpu& gpu : plan.gpus) {
    scripts.push_back(tasks_script(plan, gpu, folder));
    scripts.push_back(merge_script(plan, gpu, folder));
  }
  return scripts;
}

}  // namespace mgtune
