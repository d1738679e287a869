# A container as engines make them: a cgroup namespace, whose root has the processes. Without deploy/entrypoint.sh no run gets a cgroup,
# and that is said; with it, every run gets one.
set -eu
# What an engine does: a cgroup for the container beside its own, then namespaces, in which the container's is the root.
cat > /run/engine.sh <<'ENGINE'
set -eu
own=/sys/fs/cgroup$(sed -n s/^0:://p /proc/self/cgroup)
mkdir "$own/engine" "$own/box"
echo $$ > "$own/engine/cgroup.procs"
for controller in $(cat "$own/cgroup.controllers"); do echo "+$controller" > "$own/cgroup.subtree_control"; done
export own
exec unshare --pid --fork sh -euc 'echo 0 > "$own/box/cgroup.procs"; exec unshare --cgroup --mount --mount-proc sh -euc "
  umount /sys/fs/cgroup; mount -t cgroup2 -o rw,nosuid,nodev,noexec,nsdelegate cgroup2 /sys/fs/cgroup; exec \"\$@\"" sh "$@"' sh "$@"
ENGINE
inside() { systemd-run --scope --quiet -p "Delegate=${handed:-yes}" sh /run/engine.sh "$@"; }
levels() { node -e 'const { drivers } = JSON.parse(require("fs").readFileSync(0)); const { memory, cpu, pids } = drivers.find(({ driver }) => driver === "bubblewrap").enforces; console.log(memory, cpu, pids)'; }
export SKILLBOX_DATA_DIR=/tmp/container-root
without=$(inside skillbox doctor --json | levels)
export SKILLBOX_DATA_DIR=/tmp/container-account HOME=/tmp/container-account
install -d -o 10001 -g 10001 -m 700 "$SKILLBOX_DATA_DIR"
with=$(inside sh deploy/entrypoint.sh doctor --json | levels)
less=$(handed='memory pids' inside sh deploy/entrypoint.sh doctor --json | levels)
echo "vm: memory, cpu and pids in a container: $without; with deploy/entrypoint.sh: $with; without processors handed on: $less"
inside sh deploy/entrypoint.sh run examples/skillbox/word-count --input '{"text":"a b"}'
[ "$without" = 'kernel-process kernel-process kernel-tree' ] && [ "$with" = 'kernel-tree kernel-tree kernel-tree' ]
# Another unit may have brought processors to where this one is.
case $less in 'kernel-tree kernel-process kernel-tree' | 'kernel-tree kernel-tree kernel-tree') ;; *) exit 1 ;; esac
