# As an ordinary user to whom no cgroup was handed: logged in, and nothing else.
files=${1:-test/sandbox/cgroup.test.ts test/sandbox/bubblewrap.test.ts test/attacks/processes.test.ts}
exec su -l alice -c "export PATH=$PATH NO_COLOR=1; sh /opt/skillbox/test/vm/suites.sh kernel-process '$files'"
