# The tests of the sandbox, for whoever calls this. $1: how memory and processors must be held; $2: other files.
files=${2:-}
[ -n "$files" ] || files='test/sandbox test/attacks/processes.test.ts test/attacks/kernel.test.ts test/attacks/environment.test.ts
  test/attacks/output.test.ts test/attacks/syscalls.test.ts test/attacks/crash.test.ts'
cd /opt/skillbox
echo "vm: $(id -un) in $(sed -n s/^0:://p /proc/self/cgroup)"
skillbox doctor
for guarantee in memory cpu; do
  skillbox doctor | grep -q "^$guarantee  *$1 " || { echo "vm: $guarantee is not $1"; exit 1; }
done
# As root all must run; what only root can try is left out for others.
if [ "$(id -u)" = 0 ]; then export SKILLBOX_REQUIRE=bubblewrap,cgroups; fi
# What has no cgroups, or another account, is the same on every machine, or another suite here.
# The machine has neither pip nor npm, and as root its Linux 6.1 cannot show what is on a tmpfs, the small disk of a test, as a run's.
apart='without cgroups|ordinary user|with a spare|pip and npm install|a disk that is full'
# A test may take longer here; what a run may take is as everywhere.
exec vitest run --reporter=verbose --maxWorkers=1 --cache=false --configLoader=native --testTimeout=120000 --hookTimeout=120000 \
  -t "^(?!.*($apart))" $files
