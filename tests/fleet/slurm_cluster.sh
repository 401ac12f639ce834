# Sourced. A Slurm cluster of several nodes on this machine alone, for tests: it listens on the loopback
# device, needs no privileges beyond those of the user, and changes nothing outside its folder.
#   slurm_cluster_up FOLDER NODES   starts munged, slurmctld and a slurmd per node; sets SLURM_CONF
#   slurm_cluster_down FOLDER       cancels all jobs, and ends what was started, by process id

cluster_start() {  # FOLDER NAME COMMAND...
  local folder=$1 name=$2
  shift 2
  setsid "$@" >"$folder/log/$name.out" 2>&1 </dev/null &
  echo $! >>"$folder/pids"
}

cluster_wait() {  # SECONDS COMMAND...: until the command succeeds
  local end=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    [ "$SECONDS" -lt "$end" ] || return 1
    sleep 0.2
  done
}

all_nodes_idle() { [ "$(sinfo -h -t idle -o %D)" = "$1" ]; }

no_jobs() { [ -z "$(squeue -h 2>/dev/null)" ]; }

# A port with free ones behind it: for slurmctld and the nodes.
free_ports() {
  python3 - "$1" <<'PYTHON'
import random, socket, sys
for _ in range(100):
    first = random.randrange(20000, 32000)
    try:
        for port in range(first, first + int(sys.argv[1])):
            with socket.socket() as s:
                s.bind(("127.0.0.1", port))
        print(first)
        sys.exit(0)
    except OSError:
        continue
sys.exit("there are no free ports")
PYTHON
}

slurm_cluster_up() {
  local folder=$1 nodes=$2 port node
  mkdir -p "$folder"/{state,spool,log,run}
  chmod 755 "$folder" "$folder"/*
  : >"$folder/pids"
  port=$(free_ports $((nodes + 1)))
  export SLURM_CONF=$folder/slurm.conf
  cat >"$SLURM_CONF" <<CONF
ClusterName=mgtune-test
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort=$port
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/munge
CredType=cred/munge
# A requeued job waits until its old credential has expired: 2 minutes without cred_expire.
AuthInfo=socket=$folder/run/munge.socket,cred_expire=5
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool/%n
SlurmctldPidFile=$folder/run/slurmctld.pid
SlurmdPidFile=$folder/run/slurmd-%n.pid
SlurmctldLogFile=$folder/log/slurmctld.log
SlurmdLogFile=$folder/log/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
MpiDefault=none
MailProg=/bin/true
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0
KillWait=2
NodeName=n[1-$nodes] NodeAddr=127.0.0.1 NodeHostname=localhost Port=[$((port + 1))-$((port + nodes))] CPUs=1 RealMemory=500 State=UNKNOWN
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=test Nodes=ALL Default=YES MaxTime=INFINITE State=UP PriorityTier=1 GraceTime=2
PartitionName=urgent Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=2
CONF
  (umask 077 && head -c 128 /dev/urandom >"$folder/run/munge.key")
  cluster_start "$folder" munged munged --foreground --force --num-threads=1 \
    --key-file="$folder/run/munge.key" --socket="$folder/run/munge.socket" \
    --pid-file="$folder/run/munged.pid" --log-file="$folder/log/munged.log" \
    --seed-file="$folder/run/munge.seed"
  cluster_wait 10 munge -S "$folder/run/munge.socket" -n || return 1
  cluster_start "$folder" slurmctld slurmctld -D -c -f "$SLURM_CONF"
  for ((node = 1; node <= nodes; node++)); do
    mkdir -p "$folder/spool/n$node"
    cluster_start "$folder" "slurmd-n$node" slurmd -D -N "n$node" -f "$SLURM_CONF"
  done
  cluster_wait 30 all_nodes_idle "$nodes"
}

# The processes that have our slurm.conf in their environment: tasks and what they started.
cluster_processes() {
  local process
  for process in /proc/[0-9]*; do
    grep -qz "^SLURM_CONF=$1/slurm.conf\$" "$process/environ" 2>/dev/null || continue
    process=${process#/proc/}
    [ "$process" -eq $$ ] || [ "$process" -eq "$BASHPID" ] || echo "$process"
  done
}

slurm_cluster_down() {
  local folder=$1 process
  [ -f "$folder/pids" ] || return 0
  scancel --user="$(id -un)" >/dev/null 2>&1 || true
  cluster_wait 10 no_jobs || true
  tac "$folder/pids" | while read -r process; do kill "$process" 2>/dev/null || true; done
  while read -r process; do
    cluster_wait 5 eval "! kill -0 $process" || kill -9 "$process" 2>/dev/null || true
  done <"$folder/pids"
  unset SLURM_CONF
  for process in $(cluster_processes "$folder"); do kill -9 "$process" 2>/dev/null || true; done
  rm -f "$folder/pids"
}
