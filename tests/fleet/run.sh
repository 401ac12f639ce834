#!/usr/bin/env bash
# A fleet on a real Slurm of three nodes, all on this machine and on the cpu device: a plan is submitted,
# one task is killed, one is requeued, one reaches its time limit, a node is drained; the merged results are
# those of one process. As CTest runs it if MGTUNE_LONG_TESTS is set (scripts/test.sh --all); otherwise,
# or where Slurm cannot run, the exit code is 77, which means skipped.
#   tests/fleet/run.sh BUILD_FOLDER
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: $0 BUILD_FOLDER" >&2; exit 2; }
skip() { echo "SKIPPED, NOTHING WAS TESTED: $1"; exit 77; }
[ -n "${MGTUNE_LONG_TESTS:-}" ] || skip "scripts/test.sh --all runs a Slurm; MGTUNE_LONG_TESTS=1 does it here"
build=$(realpath "$1")
here=$(realpath "$(dirname "$0")")
mgtune=$build/mgtune
family=$here/../families/vector_add
for program in munged slurmctld slurmd sbatch; do
  command -v "$program" >/dev/null || PATH=$PATH:/usr/sbin command -v "$program" >/dev/null ||
    skip "there is no $program: install slurm-wlm and munge (scripts/packages.sh)"
done
export PATH=$PATH:/usr/sbin
. "$here/slurm_cluster.sh"

work=$(mktemp -d)
chmod 755 "$work"
cluster=$work/cluster
fleet=$work/fleet
end() {
  local code=$?
  if [ "$code" -ne 0 ] && [ "$code" -ne 77 ]; then
    tail -n 20 "$fleet"/cpu/*.log; tail -n 80 "$cluster/log/slurmctld.log" 2>/dev/null || true
  fi
  slurm_cluster_down "$cluster" || true
  rm -rf "$work"
  exit "$code"
}
trap end EXIT
fail() { echo "FAILED: $1" >&2; exit 1; }
step() { printf '%3s s  %s\n' "$SECONDS" "$1"; }

if ! slurm_cluster_up "$cluster" 3; then
  grep -hE 'fatal|error' "$cluster"/log/* | sort -u | head -n 5 || true
  skip "Slurm does not start here, see above (uid $(id -u), $(uname -r))"
fi
step "Slurm $(sinfo --version | cut -d ' ' -f 2): 3 nodes"

export MGTUNE_CACHE_DIR=$work/cache XDG_DATA_HOME=$work/data
unset MGTUNE_DB
tasks=8
problems=()
for n in {400000..400007}; do problems+=(--problem "n=$n"); done  # a task takes two to five seconds
"$mgtune" fleet plan "$fleet" --kernel "$family" "${problems[@]}" --gpu cpu --tasks "$tasks" --time 10 --cpus 1
"$mgtune" fleet plan "$fleet" --kernel "$family" "${problems[@]}" --gpu cpu --tasks "$tasks" --time 10 --cpus 1 \
  >/dev/null || fail "the same plan twice"
! "$mgtune" fleet plan "$fleet" --kernel "$family" --gpu cpu 2>/dev/null || fail "another plan in the same folder"

submitted=$("$fleet/submit.sh")
array=$(sed -n 's/^cpu: array \([0-9]*\),.*/\1/p' <<<"$submitted")
[ -n "$array" ] || fail "submit.sh said: $submitted"

status() { "$mgtune" fleet status "$fleet" --json; }
# PYTHON EXPRESSION: over `tasks`, a list of {"task", "state", "variants", ...}.
holds() { status | python3 -c "
import json, sys
gpu = json.load(sys.stdin)['gpus'][0]
tasks = gpu['tasks']
sys.exit(0 if $1 else 1)"; }
state_of() { squeue -h -r -j "${array}_$1" -o %T 2>/dev/null || true; }
restarts_of() { scontrol show job "${array}_$1" | sed -n 's/.*Restarts=\([0-9]*\).*/\1/p' | head -n 1; }

# Tasks that nobody disturbs are soon done. So the first three run at once, and all others are held until one is
# needed.
held=4  # the first of those that are held
scontrol hold "${array}_[$held-$tasks]"
used=:  # numbers of tasks that were disturbed, with colons
# RESULTS COMMAND...: runs the command with the job id of a task that runs and has so many results or more, and
# sets `disturbed`. It first releases a held task, and another one every 6 s, in case a task is done too early.
disturb() {
  local end=$((SECONDS + 60)) release_at=$SECONDS results=$1 task
  shift
  while [ "$SECONDS" -lt "$end" ]; do
    if [ "$SECONDS" -ge "$release_at" ] && [ "$held" -le "$tasks" ]; then
      scontrol release "${array}_$held"
      held=$((held + 1)) release_at=$((SECONDS + 6))
    fi
    for task in $(status | python3 -c "
import json, sys
for task in sorted(json.load(sys.stdin)['gpus'][0]['tasks'], key=lambda task: task['variants']):
    if task['state'] == 'begun' and task['variants'] >= $results:
        print(task['task'])"); do
      [[ $used != *:$task:* ]] && [ "$(state_of "$task")" = RUNNING ] || continue
      timeout 5 "$@" "${array}_$task" >/dev/null 2>&1 || continue
      used+=$task: disturbed=$task
      return
    done
    sleep 0.1
  done
  fail "no task runs for: $*"
}

disturb 1 scancel --signal=KILL --full  # the script and its sweep
killed=$disturbed
recorded=$(status | python3 -c "
import json, sys
print(json.load(sys.stdin)['gpus'][0]['tasks'][$killed - 1]['variants'])")
step "task $killed was killed after $recorded variants"
scontrol update nodename=n3 state=drain reason=test
step "node n3 was drained"
disturb 1 scontrol requeue
requeued=$disturbed
step "task $requeued was requeued while it ran"
disturb 1 scancel --signal=USR1 --batch  # what Slurm sends shortly before the time limit
limited=$disturbed
step "task $limited is near its time limit"
scontrol update nodename=n3 state=resume
# The task must not be done before Slurm preempts it, which takes up to 3 s, nor in the GraceTime after that, in
# which Slurm lets it go on. So it is stopped both times. Then Slurm kills it and puts it into the queue again.
stop() { timeout 5 scancel --signal=STOP --full "$1"; }
preempt() {
  stop "$1"
  sbatch --partition=urgent --nodes=3 --exclusive --output=/dev/null --wrap='sleep 1'
}
export -f stop preempt
# TASK: whether Slurm has chosen it, or it does not run any more.
is_chosen() {
  scontrol show job "${array}_$1" | grep -qE 'PreemptTime=[0-9]|JobState=(COMPLET|PENDING|REQUEUE|PREEMPTED|FAILED)'
}
is_empty() { [ -z "$(squeue -h -p "$1" 2>/dev/null)" ]; }
preempted=
for _ in 1 2 3; do
  disturb 0 bash -ec 'preempt "$0"'
  restarts=$(restarts_of "$disturbed")
  cluster_wait 60 is_chosen "$disturbed" || fail "task $disturbed is not preempted: $(squeue)"
  stop "${array}_$disturbed" >/dev/null 2>&1 || true
  cluster_wait 60 is_empty urgent || fail "the urgent job does not end: $(squeue)"
  [ "$(restarts_of "$disturbed")" -gt "$restarts" ] || continue
  preempted=$disturbed
  break
done
[ -n "$preempted" ] || fail "three tasks were done before they were preempted"
step "task $preempted was preempted"
for (( ; held <= tasks; held++)); do scontrol release "${array}_$held"; done

cluster_wait 90 holds "sum(t['state'] == 'done' for t in tasks) == $((tasks - 1))" ||
  fail "the tasks do not end: $("$mgtune" fleet status "$fleet"; squeue)"
holds "tasks[$killed - 1]['state'] == 'begun'" || fail "task $killed is not the one that is left"
holds "tasks[$killed - 1]['variants'] >= $recorded > 0" || fail "task $killed has lost results"
for task in "$requeued" "$limited"; do
  [ "$(restarts_of "$task")" -ge 1 ] || fail "task $task was not requeued"
done
"$mgtune" fleet status "$fleet" | tee "$work/status"
grep -q "sbatch --array=$killed $fleet/cpu/tasks.sbatch" "$work/status" || fail "status does not say how to go on"
step "$((tasks - 1)) of $tasks tasks are done"

# What the status says, and the merges again: the first ones did not wait for the killed task.
again=$(sbatch --parsable --array="$killed" "$fleet/cpu/tasks.sbatch")
merge=$(sbatch --parsable --dependency="afterany:$again" "$fleet/cpu/merge.sbatch")
sbatch --dependency="afterok:$merge" "$fleet/all.sbatch" >/dev/null
cluster_wait 60 holds "all(t['state'] == 'done' for t in tasks) and gpu['merged']" ||
  fail "task $killed does not go on: $("$mgtune" fleet status "$fleet"; squeue)"
cluster_wait 60 is_empty test || fail "jobs are left: $(squeue)"
step "all tasks are done and merged"

"$mgtune" sweep "$family" "${problems[@]}" --gpu cpu --budget 100 --db "$work/one.db" >/dev/null 2>&1 || [ $? -eq 3 ]
python3 - "$work/one.db" "$fleet/cpu.db" "$fleet/fleet.db" "$fleet"/cpu.shard-*.db <<'PYTHON'
import sqlite3, sys

one, merged, parts = sys.argv[1], sys.argv[2:4], sys.argv[4:]

def rows(path, sql):
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        return database.execute(sql).fetchall()

def outcomes(path):
    # Which variant is stopped early depends on times.
    found = rows(path, """SELECT DISTINCT p.text, v.text, replace(o.outcome, 'raced_out', 'ok')
        FROM outcomes o JOIN problems p ON p.id = o.problem JOIN variants v ON v.id = o.variant""")
    return set(found)

def picked(path):
    return {row[0] for row in rows(path, "SELECT p.text FROM tuned t JOIN problems p ON p.id = t.problem")}

expected = outcomes(one)
assert len(expected) == 8 * 9, len(expected)
for path in merged:
    assert outcomes(path) == expected, (path, outcomes(path) ^ expected)
    assert picked(path) == picked(one), path
strategies = {row[0] for row in rows(merged[0], "SELECT DISTINCT s.strategy FROM tuned t JOIN sweeps s ON s.id = t.sweep")}
assert strategies <= {"finals", "exhaustive"}, strategies
for path in parts:
    twice = rows(path, """SELECT count(*) FROM measurements
        GROUP BY gpu, problem, build_sha256, launch_hash, method HAVING count(*) > 1""")
    assert not twice, f"{path}: something was measured again"
print(f"{len(expected)} outcomes of {len(parts)} tasks are those of one process; nothing was measured twice")
PYTHON
slurm_cluster_down "$cluster"
left=$(cluster_processes "$cluster")
[ -z "$left" ] || fail "processes are left: $left"
step "done"
