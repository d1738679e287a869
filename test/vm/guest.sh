#!/bin/sh
# Inside the virtual machine, as root: runs the suites that the kernel's command line names, and says how each ended.
set -u
cd /opt/skillbox
export PATH=/opt/skillbox/node_modules/.bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin HOME=/root TERM=dumb NO_COLOR=1 LANG=C.UTF-8
ln -sf /opt/skillbox/node_modules/.bin/node /usr/local/bin/node
ln -sf /opt/skillbox/dist/cli/skillbox.cjs /usr/local/bin/skillbox
# For the architecture of this machine, unless it came along.
node scripts/build-helper.mjs
word() { tr ' ' '\n' < /proc/cmdline | sed -n "s/^skillbox\.$1=//p"; }

# Swap, because a limit that swap can get around is none.
fallocate -l 512M /swap && chmod 600 /swap && mkswap -q /swap && swapon /swap

echo "vm: $(uname -srm), node $(node --version), $(bwrap --version), cgroup $(stat -fc %T /sys/fs/cgroup), swap $(sed -n 2p /proc/swaps)"
for suite in $(word suites | tr , ' '); do
  echo "vm: $suite begins at $(date +%T)"
  # Through a pipe: on a terminal the tests would draw.
  { sh "test/vm/$suite.sh" "$(word files | tr , ' ')" < /dev/null; echo $? > /run/status; } 2>&1 | cat
  if [ "$(cat /run/status)" = 0 ]; then echo "vm: $suite passed"; else echo "vm: $suite failed"; fi
done
