#!/bin/sh
# Makes the container's cgroup one that runs can have cgroups of their own in, then becomes an account without any power.
# Started as another user than root, or without a cgroup that may be written, it only starts the program; `skillbox doctor` then says
# which guarantees are weaker, and runs of tenants are refused unless a policy file lowers what they need.
set -eu
account=10001

# v2: only a cgroup without processes hands controllers down, so the processes move into one beside those of the runs.
prepare_unified() {
  mkdir -p /sys/fs/cgroup/server
  # One of them is the program that reads the list, and gone.
  for pid in $(cat /sys/fs/cgroup/cgroup.procs); do echo "$pid" > /sys/fs/cgroup/server/cgroup.procs; done 2> /dev/null || true
  # One that the engine did not hand on is none of ours: the others are held all the same, and `skillbox doctor` says what is missing.
  for controller in memory pids cpu; do echo "+$controller" > /sys/fs/cgroup/cgroup.subtree_control || true; done
  chown "$account" /sys/fs/cgroup /sys/fs/cgroup/cgroup.procs /sys/fs/cgroup/cgroup.subtree_control /sys/fs/cgroup/cgroup.threads
}

# v1: every controller has a tree of its own, and processes may stay where they are.
prepare_legacy() {
  for controller in memory pids cpu; do
    own=$(sed -n "s/^[0-9]*:\([^:]*,\)*$controller\(,[^:]*\)*:\(.*\)/\3/p" /proc/self/cgroup)
    at=/sys/fs/cgroup/$controller
    # What is mounted may begin further down than the root of all cgroups.
    root=$(awk -v at="$at" '$5 == at { print $4 }' /proc/self/mountinfo | tail -n 1)
    directory=$at${own#"$root"}
    mkdir -p "$directory/skillbox"
    chown "$account" "$directory/skillbox" "$directory/skillbox/cgroup.procs"
  done
}

if [ "$(id -u)" -ne 0 ]; then exec skillbox "$@"; fi
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
  if [ -w /sys/fs/cgroup/cgroup.procs ] && mkdir -p /sys/fs/cgroup/server 2> /dev/null; then prepare_unified; fi
elif mkdir -p /sys/fs/cgroup/memory/skillbox-probe 2> /dev/null; then
  rmdir /sys/fs/cgroup/memory/skillbox-probe
  prepare_legacy
fi
exec setpriv --reuid "$account" --regid "$account" --clear-groups --inh-caps=-all --ambient-caps=-all --bounding-set=-all \
  --no-new-privs skillbox "$@"
