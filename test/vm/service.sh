# deploy/skillbox.service as it stands: its server runs a skill of a tenant with every limit held by the kernel, before and after a
# restart; then the tests of the sandbox, in the same unit with another command.
set -eu
cp deploy/skillbox.service /etc/systemd/system/
mkdir -p /etc/skillbox
systemctl daemon-reload

cat > /run/use.mjs <<'USE'
import { readFileSync } from 'node:fs';
const url = 'http://127.0.0.1:8080';
for (let tries = 0; tries < 120 && !(await fetch(url + '/ready').then(a => a.ok, () => false)); tries++) await new Promise(go => setTimeout(go, 1000));
const authorization = 'Bearer ' + readFileSync('/var/lib/skillbox/first-key', 'utf8').trim();
const zip = { authorization, 'content-type': 'application/zip' };
await fetch(url + '/v1/skills', { method: 'POST', headers: zip, body: readFileSync('/run/skill.zip') });
const json = { authorization, 'content-type': 'application/json' };
const body = JSON.stringify({ skill: 'word-count', input: { text: 'a b' } });
const answer = await (await fetch(url + '/v1/executions', { method: 'POST', headers: json, body })).json();
const { memory, cpu, pids } = answer.sandbox?.enforces ?? {};
console.log('vm: the server ran a skill:', JSON.stringify({ status: answer.status, output: answer.output, memory, cpu, pids, error: answer.error }));
const held = [memory, cpu, pids].every(level => level === 'kernel-tree');
process.exitCode = answer.status === 'success' && answer.output.words === 2 && held ? 0 : 1;
USE
skillbox skill package examples/skillbox/word-count -o /run/skill.zip > /dev/null
for _ in 1 2; do
  systemctl start skillbox.service
  node /run/use.mjs || { journalctl --no-pager -n 20 -u skillbox.service; exit 1; }
  echo "vm: $(find /sys/fs/cgroup/system.slice/skillbox.service -type d | tr '\n' ' ')"
  systemctl stop skillbox.service
  [ "$(systemctl show skillbox.service -p Result)" = Result=success ]
  [ ! -e /sys/fs/cgroup/system.slice/skillbox.service ]
done

files=${1:-test/sandbox/cgroup.test.ts test/sandbox/bubblewrap.test.ts test/attacks/processes.test.ts}
sed -e 's/Type=exec/Type=oneshot/' -e 's/Restart=on-failure/Restart=no/' -e 's/^TimeoutStopSec=.*/TimeoutStartSec=infinity/' \
  -e "s#exec skillbox serve#exec sh /opt/skillbox/test/vm/suites.sh kernel-tree \"$files\"#" -e "s#^Environment=NODE_ENV=production#Environment=PATH=$PATH NO_COLOR=1#" \
  -e 's#^\[Install\]#StandardOutput=file:/run/suites.log\nStandardError=inherit\n[Install]#' deploy/skillbox.service > /etc/systemd/system/skillbox-try.service
systemctl daemon-reload
: > /run/suites.log
tail -f /run/suites.log &
status=0
systemctl start skillbox-try.service || status=1
kill $!
exit $status
