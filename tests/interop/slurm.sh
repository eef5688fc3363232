#!/usr/bin/env bash
# Runs the first example under srun, in a Slurm of one node that this script starts and stops.
#
#   tests/interop/slurm.sh build/sheaf build/examples/01_hello_group
#
# Needs root and the packages slurm-wlm and munge; exits 77 (ctest: skipped) where they are missing.
set -euo pipefail

readonly sheaf=$(realpath "$1")
readonly example=$(realpath "$2")

skip() {
  echo "skipped: $1"
  exit 77
}

require_programs() {
  [[ $EUID -eq 0 ]] || skip "starting Slurm's daemons needs root"
  local program
  for program in munged mungekey slurmctld slurmd srun scontrol; do
    PATH=$PATH:/usr/sbin command -v "$program" >/dev/null ||
      skip "$program is missing: apt-get install slurm-wlm munge"
  done
}

# Prints a port on which nobody listens, below those that the system gives to connections.
free_port() {
  local port
  while :; do
    port=$((10000 + RANDOM % 5000))
    (: >"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
  done
  echo "$port"
}

write_configuration() {
  local host
  host=$(hostname -s)
  mkdir -p "$folder/state" "$folder/spool"
  cat >"$folder/slurm.conf" <<CONF
ClusterName=sheaf
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
SlurmctldPort=$(free_port)
SlurmdPort=$(free_port)
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
ReturnToService=2
SlurmdParameters=config_overrides
NodeName=$host NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP
CONF
}

# Each daemon stays a child of this script and writes its own log.
daemons=()
start() {
  local name=$1
  shift
  "$@" >"$folder/$name.log" 2>&1 &
  daemons+=("$!")
}

# Looks again and again until a command succeeds; fails after a minute, or when the daemon that was
# started last has ended.
eventually() {
  local try
  for ((try = 0; try < 600; ++try)); do
    "$@" >/dev/null 2>&1 && return 0
    kill -0 "${daemons[-1]}" 2>/dev/null || break
    sleep 0.1
  done
  echo "gave up waiting for: $*" >&2
  return 1
}

node_is_idle() {
  [[ $(sinfo --noheader --format=%T) == idle ]]
}

stop() {
  local status=$?
  trap - EXIT
  # Last started, first stopped.
  local i
  for ((i = ${#daemons[@]} - 1; i >= 0; --i)); do
    kill "${daemons[i]}" 2>/dev/null || true
    wait "${daemons[i]}" 2>/dev/null || true
  done
  if [[ $status -ne 0 && $status -ne 77 ]]; then tail -n 20 "$folder"/*.log >&2 || true; fi
  rm -rf "$folder"
  exit "$status"
}

start_slurm() {
  mungekey --create --keyfile="$folder/munge.key"
  start munged munged --foreground --key-file="$folder/munge.key" --socket="$folder/munge.socket" \
    --pid-file="$folder/munged.pid" --log-file="$folder/munged-own.log" \
    --seed-file="$folder/munged.seed"
  eventually munge --socket="$folder/munge.socket" --no-input
  start slurmctld slurmctld -D
  eventually scontrol ping
  start slurmd slurmd -D
  eventually node_is_idle
}

# Without the launcher's prefixes and in one order.
lines() {
  sed -E 's/^\[[0-9]+\] //' | sort
}

require_programs
readonly folder=$(mktemp -d "${TMPDIR:-/tmp}/sheaf_slurm.XXXXXX")
trap stop EXIT
chmod 711 "$folder" # munged wants its socket to be reachable by all
PATH=$PATH:/usr/sbin
export SLURM_CONF=$folder/slurm.conf
write_configuration
start_slurm

expected=$("$sheaf" launch --ranks 4 -- "$example" | lines)
actual=$(srun --ntasks=4 "$example" | lines)
echo "$actual"
if [[ $actual != "$expected" ]]; then
  echo "srun and sheaf launch differ; sheaf launch printed:" >&2
  echo "$expected" >&2
  exit 1
fi
