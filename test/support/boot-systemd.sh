#!/bin/bash
# A systemd of its own, to try a unit with: own namespaces, own cgroups, an overlay over /. Nothing that it does is seen outside.
#   boot-systemd.sh DIRECTORY     DIRECTORY/exchange is /run/exchange inside; what else is there is scratch
# PID 1 ends when whoever started this is killed, and everything with it.
set -eu
export scratch=$1
name=skillbox-try-$$
hierarchies=$(awk '{ for (i = 7; i <= NF; i++) if ($i == "-") { if ($(i+1) ~ /^cgroup2?$/) print $5, $(i+1), $(i+3); break } }' /proc/self/mountinfo)
export hierarchies

enter() {
  while read -r at kind _; do
    mkdir "$at/$name"
    if [ -e "$at/$name/cpuset.cpus" ] && [ "$kind" = cgroup ]; then
      cat "$at/cpuset.cpus" > "$at/$name/cpuset.cpus"
      cat "$at/cpuset.mems" > "$at/$name/cpuset.mems"
    fi
    echo "$1" > "$at/$name/cgroup.procs"
  done <<< "$hierarchies"
}

# A cgroup can be removed once the last of its processes is gone, a moment after it was killed.
leave() {
  while read -r at _; do
    for _ in $(seq 50); do
      find "$at/$name" -depth -type d -exec rmdir {} \; 2> /dev/null || true
      [ -e "$at/$name" ] || break
      sleep 0.1
    done
  done <<< "$hierarchies"
}

inside() {
  set -eu
  mount --make-rprivate /
  mkdir -p "$scratch/root" "$scratch/layer"
  mount -t tmpfs tmpfs "$scratch/layer"
  mkdir "$scratch/layer/upper" "$scratch/layer/work"
  new=$scratch/root
  mount -t overlay overlay -o "lowerdir=/,upperdir=$scratch/layer/upper,workdir=$scratch/layer/work" "$new"
  mount -t proc proc "$new/proc"
  mount --rbind /dev "$new/dev"
  mount -t sysfs sysfs "$new/sys"
  mount -t tmpfs tmpfs "$new/run"
  mount -t tmpfs tmpfs "$new/tmp"
  echo "$hierarchies" | grep -q '^/sys/fs/cgroup cgroup2' || mount -t tmpfs -o mode=755 tmpfs "$new/sys/fs/cgroup"
  while read -r at kind options; do
    mkdir -p "$new$at"
    if [ "$kind" = cgroup2 ]; then mount -t cgroup2 cgroup2 "$new$at"
    else
      words=$(echo "$options" | tr , '\n' | grep -vxE 'rw|ro|xattr|favordynmods|noprefix' | paste -sd,)
      case $words in name=*) words=none,$words ;; esac
      mount -t cgroup -o "$words" cgroup "$new$at"
    fi
  done <<< "$hierarchies"
  mkdir "$new/run/exchange"
  mount --bind "$scratch/exchange" "$new/run/exchange"
  rm -rf "$new/etc/systemd/system/"*.wants
  printf '[Unit]\nDescription=nothing\nDefaultDependencies=no\n' > "$new/etc/systemd/system/nothing.target"
  "$scratch/exchange/prepare" "$new"
  ip link set lo up 2> /dev/null || true
  cd "$new"
  mkdir -p old
  # Not chroot: the kernel makes no user namespace for whoever is in one.
  pivot_root . old
  umount -l /old
  exec env -i container=try PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    /lib/systemd/systemd --system --unit=nothing.target --log-target=console --show-status=no
}

export -f inside
trap leave EXIT
trap 'kill -KILL $child 2> /dev/null || true' TERM INT
# First into its cgroups, then into namespaces: a cgroup namespace begins where its maker is.
(
  enter "$BASHPID"
  exec unshare --cgroup --mount --pid --ipc --uts --net --fork --kill-child=SIGKILL bash -c inside
) &
child=$!
wait $child || true
