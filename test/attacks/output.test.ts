import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Skillbox } from '../../src/app.ts';
import { DOCKER } from '../support/drivers.ts';
import { NO_SANDBOX, newSkill, openSkillbox, runSkill, textOf } from '../support/skillbox.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

const SECRET = 'host-secret-value';
const VARIABLES = ['HOST_SECRET', 'GITHUB_TOKEN', 'AWS_SECRET_ACCESS_KEY', 'SKILLBOX_API_KEY', 'SSH_AUTH_SOCK'];

const ON = [
  { sandbox: 'bubblewrap' as const, warm: 0, skip: NO_SANDBOX },
  { sandbox: 'bubblewrap' as const, warm: 4, skip: NO_SANDBOX },
  { sandbox: 'docker' as const, warm: 0, skip: DOCKER.skip !== null },
];

/** Until every key that was asked for has a spare: the next run of it then goes through the pool. */
async function refilled(skillbox: Skillbox): Promise<void> {
  await expect.poll(() => skillbox.warmth().keys.every(({ ready }) => ready > 0), { timeout: 10_000 }).toBe(true);
}

for (const { sandbox, warm, skip } of ON)
  describe.skipIf(skip)(`${sandbox}${warm > 0 ? ' warm' : ''}: output and artifacts of hostile skills`, () => {
    const data = tempDir('data');
    let skillbox: Skillbox;
    beforeAll(async () => {
      for (const name of VARIABLES) process.env[name] = SECRET;
      skillbox = await openSkillbox(data, sandbox, warm);
    });
    afterAll(async () => {
      for (const name of VARIABLES) delete process.env[name];
      await skillbox?.close();
    });
    const runWarm = async (path: string) => {
      if (warm > 0) await refilled(skillbox);
      return runSkill(skillbox, path);
    };
    const bash = (body: string) => runWarm(newSkill('bash', body));
    const python = (body: string) => runWarm(newSkill('python', `import os\nos.chdir("/sandbox/out")\n${body}\n`));
    const BAD = (message: string) => ({
      state: 'failed',
      ending: { kind: 'bad-output' },
      error: { code: 'BAD_OUTPUT', message: expect.stringContaining(message) },
      output: null,
    });

    test.each([
      ['a link to a file of the host', 'ln -s /etc/shadow output.json', 'is a link'],
      ['a link to its own input', 'ln -s ../input.json output.json', 'is a link'],
      ['a link to the memory of whoever reads it', 'ln -s /proc/self/environ output.json', 'is a link'],
      ['a hard link', 'echo 1 > x; ln x output.json', 'is a hard link'],
      ['a FIFO', 'mkfifo output.json', 'is not a regular file'],
      ['a directory', 'mkdir output.json', 'is not a regular file'],
      ['over the limit', 'head -c 10485761 /dev/zero > output.json', 'has 10485761 bytes'],
      ['sparse', 'truncate -s 200M output.json', 'has 209715200 bytes'],
      ['empty', ': > output.json', 'is empty'],
      ['invalid UTF-8', 'printf \'"\\xff"\' > output.json', 'not valid UTF-8'],
      ['NaN', 'echo \'{"a":NaN}\' > output.json', 'not JSON'],
      ['beyond every number', 'echo 1e999 > output.json', 'too large'],
      ['deep', "head -c 1000000 /dev/zero | tr '\\0' '[' > output.json", 'nested deeper'],
    ])(
      'SB-08 output.json that is %s fails the run with its own code, and the log is kept',
      async (_name, make, message) => {
        const record = await bash(`cd /sandbox/out; echo before; ${make}`);
        expect(record).toMatchObject(BAD(message));
        expect(await textOf(skillbox, record)).toBe('before\n');
      },
    );

    test('SB-08 a socket, and a device that cannot even be made', async () => {
      expect(await python('import socket; socket.socket(socket.AF_UNIX).bind("output.json")')).toMatchObject(
        BAD('not a regular file'),
      );
      const device = await bash('mknod /sandbox/out/output.json c 1 5 && echo made');
      expect(await textOf(skillbox, device)).not.toContain('made\n');
    });

    test('SB-08 a BOM, a key named __proto__ and a number beyond 2^53 are read as what they are', async () => {
      const record = await bash(
        `printf '\\xef\\xbb\\xbf{"__proto__":{"polluted":1},"n":9007199254740993}' > "$SANDBOX_OUTPUT"`,
      );
      expect(record.state).toBe('success');
      expect(Object.keys(Object(record.output))).toEqual(['__proto__', 'n']);
      expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
      expect(record.warnings).toEqual([expect.stringContaining('2^53')]);
      expect(JSON.stringify((await skillbox.getRun(record.id)).output)).toBe(JSON.stringify(record.output));
    });

    test('SB-08 a bad output beside a failure is a warning: the failure is what counts', async () => {
      const record = await bash('mkfifo /sandbox/out/output.json; exit 7');
      expect(record).toMatchObject({ state: 'failed', exitCode: 7, error: { code: 'EXITED' } });
      expect(record.warnings).toEqual(['output.json is not a regular file']);
    });

    test.each([
      ['/etc', 'rmdir files; ln -s /etc files'],
      ['the root of whoever reads it', 'rmdir files; ln -s /proc/self/root/etc files'],
      ['a file', 'rmdir files; echo x > files'],
    ])('SB-09 files/ in whose place stands %s is not entered', async (_name, make) => {
      const record = await bash(`cd /sandbox/out; ${make}`);
      expect(record).toMatchObject({ ...BAD('not a directory'), artifacts: [], archive: null });
    });

    test('SB-09 links, FIFOs, sockets, hard links and odd names are left out; what is good is kept', async () => {
      const record = await python(
        [
          'import socket',
          'os.chdir("files")',
          'os.symlink("/etc/passwd", "passwd"); os.symlink("/etc", "etc"); os.symlink("good.txt", "alias")',
          'os.mkfifo("fifo"); socket.socket(socket.AF_UNIX).bind("socket")',
          'open("good.txt", "w").write("good"); open("one", "w").write("x"); os.link("one", "two")',
          'os.mkdir("sub"); os.symlink("/etc/passwd", "sub/passwd"); open("sub/inner.txt", "w").write("inner")',
          'for name in [b"new\\nline", b"esc\\x1b[2J", b"bad\\xff", "bidi\\u202etxt".encode(), b"con", b"a:b", b"..."]: open(name, "w").close()',
        ].join('\n'),
      );
      expect(record.artifacts.map(({ path }) => path)).toEqual(['good.txt', 'sub/inner.txt']);
      expect(record.warnings).toHaveLength(15);
      expect(record.warnings.join('')).not.toMatch(/[\u0000-\u001f\u202e]/);
    });

    test('SB-09 thousands of files, deep ones, and sparse ones that would fill the store', {
      timeout: 40_000,
    }, async () => {
      const many = await python('for i in range(10_001): open(f"files/{i}", "w").close()');
      expect(many).toMatchObject({ ...BAD('more than 10000 files'), artifacts: [] });
      const deep = await python(
        'path = "files"\nfor i in range(60):\n  path += "/d"\n  os.mkdir(path)\n  open(path + "/f", "w").close()',
      );
      expect(deep.artifacts).toHaveLength(15);
      expect(deep.warnings).toEqual(expect.arrayContaining([expect.stringContaining('deeper than 16 levels')]));
      const sparse = await bash('cd /sandbox/out/files; for i in 1 2 3 4 5; do truncate -s $((60000000 + i)) $i; done');
      expect(sparse).toMatchObject({ ...BAD('more than'), artifacts: [], archive: null });
    });

    test('SB-09 directories that nobody may enter do not hide the rest, and are removed', async () => {
      const record = await bash(
        'cd /sandbox/out/files; mkdir closed; echo x > closed/x; chmod 000 closed; echo y > open',
      );
      expect(record.artifacts.map(({ path }) => path)).toContain('open');
      const left = () => readdirSync(join(data, 'sandbox'), { recursive: true, encoding: 'utf8' });
      await expect.poll(() => left().filter(name => /(?:closed|open)$/.test(name))).toEqual([]);
    });

    test("no secret of the host's environment is anywhere: not in the run, not in the data", async () => {
      const record = await bash(
        'env; tr "\\0" "\\n" < /proc/1/environ; tr "\\0" " " < /proc/1/cmdline; cat /proc/*/environ; env > "$SANDBOX_FILES_DIR/env"',
      );
      expect(record.artifacts).toHaveLength(1);
      expect(await textOf(skillbox, record)).toContain('SANDBOX_OUTPUT=');
      const files = readdirSync(data, { recursive: true, encoding: 'utf8' }).map(name => join(data, name));
      const leaking = files.filter(
        path => statSync(path, { throwIfNoEntry: false })?.isFile() && readFileSync(path).includes(SECRET),
      );
      expect(leaking).toEqual([]);
    });

    test.skipIf(warm === 0)('these runs went through the pool', () => {
      const count = (what: 'hits' | 'misses') => skillbox.warmth().keys.reduce((sum, key) => sum + key[what], 0);
      expect(count('hits')).toBeGreaterThan(count('misses') * 5);
    });

    test.each(['LD_PRELOAD', 'NODE_OPTIONS', 'PYTHONPATH', 'BASH_ENV', 'PATH', 'SANDBOX_OUTPUT', 'SANDBOX_INPUT'])(
      'a caller cannot set %s',
      async name => {
        const skill = newSkill('bash', 'echo ran\n');
        await expect(runSkill(skillbox, skill, { env: { [name]: '/tmp/x' } })).rejects.toMatchObject({ code: 'USAGE' });
      },
    );
  });
