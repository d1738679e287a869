import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { skipUnless } from '../support/require.ts';
import { bootSystemd, type Systemd, whyNoSystemd } from '../support/systemd.ts';
import { tidy } from '../support/temp.ts';

tidy();
const root = join(import.meta.dirname, '../..');
const UNIT = readFileSync(join(root, 'deploy/skillbox.service'), 'utf8');
const why = whyNoSystemd();
const skip = skipUnless(why === null, 'systemd', why ?? '');

/** The options that the unit says it leaves out. */
const LEFT_OUT = UNIT.split('\n').flatMap(line => /^# {3}([A-Z]\w+(?:, [A-Z]\w+)*)/.exec(line)?.[1]?.split(', ') ?? []);

/** As an installation would have it: the program on the path with its Node, and an account. */
const PREPARE = `
cp ${realpathSync(process.execPath)} "$1/usr/local/bin/node"
mkdir -p "$1/opt/skillbox"
cp -r ${root}/dist ${root}/examples ${root}/package.json "$1/opt/skillbox/"
ln -sf /opt/skillbox/dist/cli/skillbox.cjs "$1/usr/local/bin/skillbox"
echo 'skillbox:x:10001:10001::/var/lib/skillbox:/usr/sbin/nologin' >> "$1/etc/passwd"
echo 'skillbox:x:10001:' >> "$1/etc/group"
rm -rf "$1/var/lib/skillbox" "$1/etc/skillbox"
`;
/** What a client does, with nothing but Node. */
const USE = `
import { readFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
const url = 'http://127.0.0.1:8080';
for (let tries = 0; tries < 100 && !(await fetch(url + '/ready').then(a => a.ok, () => false)); tries++) await new Promise(go => setTimeout(go, 100));
const authorization = 'Bearer ' + readFileSync('/var/lib/skillbox/first-key', 'utf8').trim();
execFileSync('skillbox', ['skill', 'package', '/opt/skillbox/examples/skillbox/word-count', '-o', '/tmp/skill.zip'], { stdio: 'ignore' });
const zip = { authorization, 'content-type': 'application/zip' };
await fetch(url + '/v1/skills', { method: 'POST', headers: zip, body: readFileSync('/tmp/skill.zip') });
const json = { authorization, 'content-type': 'application/json' };
const body = JSON.stringify({ skill: 'word-count', input: { text: 'a b' } });
console.log(await (await fetch(url + '/v1/executions', { method: 'POST', headers: json, body })).text());
`;
const RUN = `run /opt/skillbox/examples/skillbox/word-count --input '{"text":"a b"}' --json`;

describe.skipIf(skip)(
  'deploy/skillbox.service',
  () => {
    let systemd: Systemd;
    beforeAll(async () => {
      systemd = await bootSystemd(PREPARE);
    }, 60_000);
    afterAll(() => systemd.close());

    /** The unit with another command, which ends; and with further options. */
    function inUnit(words: string, ...options: string[]): { code: number | null; out: string; err: string } {
      const [out, err] = [join(systemd.exchange, 'out'), join(systemd.exchange, 'err')];
      for (const path of [out, err]) writeFileSync(path, '', { mode: 0o666 });
      writeFileSync(join(systemd.exchange, 'words'), `skillbox ${words}\n`);
      const once = UNIT.replace('Type=exec', 'Type=oneshot')
        .replace('Restart=on-failure', 'Restart=no')
        .replace('exec skillbox serve', 'exec sh /run/exchange/words')
        .replace(
          '[Install]',
          `${options.join('\n')}\nStandardOutput=file:/run/exchange/out\nStandardError=file:/run/exchange/err\n[Install]`,
        );
      systemd.writeUnit('skillbox-try.service', once);
      const { code } = systemd.systemctl('start', 'skillbox-try.service');
      systemd.systemctl('reset-failed', 'skillbox-try.service');
      return { code, out: readFileSync(out, 'utf8'), err: readFileSync(err, 'utf8') };
    }

    test('a skill runs in bubblewrap under everything that the unit restricts', () => {
      const { code, out, err } = inUnit(RUN);
      expect([code, err]).toEqual([0, expect.any(String)]);
      expect(JSON.parse(out)).toMatchObject({
        status: 'success',
        output: { words: 2 },
        sandbox: { driver: 'bubblewrap', enforces: { files: 'kernel-tree', syscalls: 'kernel-tree' } },
      });
    });

    test('the server makes room for the cgroups of runs', () => {
      const { code, out } = inUnit('--version; cat /proc/self/cgroup');
      expect(code).toBe(0);
      expect(out).toMatch(/^0::.*\/skillbox-try\.service\/server$/m);
    });

    test("its configuration is right, and its data is nobody else's", () => {
      const { code, out } = inUnit('config check --for server');
      expect([code, out]).toEqual([0, 'valid (no file)\n']);
      expect(inUnit('config show --for server').out).toContain('/var/lib/skillbox  (SKILLBOX_DATA_DIR)');
    });

    test('it serves as it stands, runs a skill of a tenant, and ends when it is told to', () => {
      // Where systemd cannot hand cgroups over (v1), the operator says that less will do.
      systemd.run('mkdir -p /etc/skillbox && cp /run/exchange/policy.yaml /etc/skillbox/', {
        'policy.yaml': 'version: 1\nlower: { memory: kernel-process, cpu: kernel-process }\n',
      });
      systemd.writeUnit('skillbox.service', UNIT);
      expect(systemd.systemctl('start', 'skillbox.service')).toEqual({ code: 0, out: '' });
      const { out } = systemd.run('node /run/exchange/use.mjs', { 'use.mjs': USE });
      expect(JSON.parse(out)).toMatchObject({
        status: 'success',
        output: { words: 2 },
        sandbox: { driver: 'bubblewrap' },
      });
      expect(systemd.systemctl('stop', 'skillbox.service').code).toBe(0);
      expect(systemd.systemctl('show', 'skillbox.service', '-p', 'Result').out).toBe('Result=success\n');
    });

    test.each([
      'RestrictNamespaces=yes',
      'ProtectHostname=yes',
      'RestrictSUIDSGID=yes',
      'ProcSubset=pid',
      'MemoryDenyWriteExecute=yes',
      'SystemCallFilter=~@mount',
      'RestrictAddressFamilies=~AF_NETLINK',
    ])('with %s nothing would run, as the unit says', option => {
      const name = option.split('=')[0] ?? '';
      expect([...LEFT_OUT, 'SystemCallFilter', 'RestrictAddressFamilies']).toContain(name);
      const { code, out } = inUnit(RUN, option);
      expect(code).not.toBe(0);
      expect(out).not.toContain('"success"');
    });
  },
  60_000,
);

describe('what the unit leaves out', () => {
  test('is not in it', () => {
    expect(LEFT_OUT.length).toBeGreaterThan(8);
    for (const name of LEFT_OUT) expect(UNIT).not.toMatch(new RegExp(`^${name}=`, 'm'));
  });

  const analyze = existsSync('/usr/bin/systemd-analyze');
  test.skipIf(!analyze)('systemd understands every line of it', () => {
    const path = join(process.env.TMPDIR ?? '/tmp', `skillbox-verify-${process.pid}.service`);
    writeFileSync(path, UNIT);
    const { stderr } = spawnSync('systemd-analyze', ['verify', '--recursive-errors=no', path], { encoding: 'utf8' });
    rmSync(path);
    expect(stderr).toBe('');
  });

  test.skipIf(skip)('something over /proc keeps a sandbox from its own, whatever systemd makes of it', () => {
    const words =
      'setpriv --reuid 10001 --regid 10001 --clear-groups bwrap --unshare-all --ro-bind / / --proc /proc -- true';
    const inMounts = (before: string) =>
      spawnSync('unshare', ['-m', 'sh', '-c', `mount --make-rprivate / && ${before} ${words}`], { encoding: 'utf8' });
    expect(inMounts('').status).toBe(0);
    expect(inMounts('mount --bind /proc/sys /proc/sys &&').stderr).toContain("Can't mount proc");
  });
});
