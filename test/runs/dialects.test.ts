import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Skillbox } from '../../src/app.ts';
import { EXAMPLES, logOf, NO_SANDBOX, openSkillbox, runSkill, script, textOf, tool } from '../support/skillbox.ts';
import { tempDir, tidy } from '../support/temp.ts';
import { writeFiles } from '../temp.ts';

tidy();

const example = (path: string) => join(EXAMPLES, path);

/** A repository with two commits, a tag between them. */
function newRepository(): string {
  const path = tempDir('repository', 0o755);
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.c', ...args], { cwd: path, stdio: 'pipe' });
  git('init', '-q', '-b', 'main');
  writeFiles(path, { 'readme.md': 'hello\nworld\n' });
  git('add', '.');
  git('commit', '-q', '-m', 'feat: first');
  git('tag', 'v1');
  git('commit', '-q', '--allow-empty', '-m', 'fix: second');
  return path;
}

describe.skipIf(NO_SANDBOX)('every example runs in bubblewrap', () => {
  let skillbox: Skillbox;
  beforeAll(async () => {
    skillbox = await openSkillbox(tempDir('data'));
  });
  afterAll(() => skillbox?.close());
  const run = (path: string, wish: Parameters<typeof runSkill>[2] = {}) => runSkill(skillbox, example(path), wish);

  test('SB-05…10 skillbox/word-count: python, output and artifact', async () => {
    const record = await run('skillbox/word-count', { input: { text: 'to be or not to be', top: 1 } });
    expect(record).toMatchObject({
      state: 'success',
      exitCode: 0,
      ending: { kind: 'exited', code: 0 },
      error: null,
      warnings: [],
      output: { words: 6, lines: 1, characters: 18, top: [{ word: 'to', count: 2 }] },
      artifacts: [{ path: 'report.md', bytes: 42 }],
      sandbox: { driver: 'bubblewrap', runtime: expect.stringMatching(/^python3 3\.\d+\.\d+, host$/) },
      usage: { cpuMs: expect.any(Number), maxMemoryBytes: expect.any(Number) },
    });
    expect(await logOf(skillbox, record)).toEqual([{ stream: 'stdout', text: 'counted 6 words\n' }]);
  });

  test('SB-05/09 skillbox/csv-report: node with a sibling module; X-14 names the runtime', async () => {
    const record = await run('skillbox/csv-report', { input: { csv: 'name,price\nbolt,2\nnut,4' } });
    expect(record.output).toEqual({ columns: { price: { count: 2, min: 2, max: 4, mean: 3, median: 3 } } });
    expect(record.artifacts.map(({ path }) => path)).toEqual(['means.svg']);
    expect(record.sandbox?.runtime).toBe(`node ${process.versions.node}, host`);
  });

  test('SB-10 skillbox/failing: its exit code, its log on both streams and what it wrote are kept', async () => {
    const record = await run('skillbox/failing');
    expect(record).toMatchObject({
      state: 'failed',
      exitCode: 3,
      error: { code: 'EXITED' },
      output: { complete: false, missing: ['order'] },
    });
    expect(await logOf(skillbox, record)).toEqual(
      expect.arrayContaining([
        { stream: 'stdout', text: 'checking the order\n' },
        { stream: 'stderr', text: 'the input has no order\n' },
      ]),
    );
    expect(await run('skillbox/failing', { input: { order: 'x' } })).toMatchObject({ state: 'success', exitCode: 0 });
  });

  test('SB-10 skillbox/slow-steps: what a time limit leaves', async () => {
    const record = await run('skillbox/slow-steps', { input: { steps: 100, seconds: 0.05 }, timeoutMs: 700 });
    expect(record).toMatchObject({
      state: 'timeout',
      exitCode: null,
      ending: { kind: 'timeout' },
      error: { code: 'TIMEOUT' },
    });
    expect(record.output).toMatchObject({ complete: false });
    expect(record.artifacts.map(({ path }) => path)).toEqual(['steps.txt']);
    expect(await textOf(skillbox, record)).toMatch(/^step 1 of 100\n[\s\S]*asked to end\n$/);
  });

  test('WS-02/03 workspace/log-summary: python in the workspace', async () => {
    const workspace = writeFiles(tempDir('workspace', 0o755), { 'app.log': 'ERROR: disk 7 full\nINFO: ok\n' });
    const target = script('summarise.py', '--input', 'app.log', '--output', 'sub mary.json');
    const record = await run('workspace/log-summary', { target, workspace });
    expect(await textOf(skillbox, record)).toBe('written to sub mary.json\n');
    expect(JSON.parse(readFileSync(join(workspace, 'sub mary.json'), 'utf8')).levels).toEqual({ ERROR: 1, INFO: 1 });
  });

  test('WS-02 workspace/json-tools: TypeScript and node', async () => {
    const workspace = writeFiles(tempDir('workspace', 0o755), { 'a.json': '{"b":{"c":[1]},"a":2}' });
    const flat = await run('workspace/json-tools', { target: script('scripts/flatten.ts', 'a.json'), workspace });
    expect(await textOf(skillbox, flat)).toBe('b.c.0 = 1\na = 2\n');
    const sorted = await run('workspace/json-tools', { target: script('sort-keys.js', 'a.json'), workspace });
    expect(sorted.state).toBe('success');
    expect(Object.keys(JSON.parse(readFileSync(join(workspace, 'a.json'), 'utf8')))).toEqual(['a', 'b']);
  });

  test('AS-14 agent-skills/changelog-writer: bash and git in a repository', async () => {
    const workspace = newRepository();
    const record = await run('agent-skills/changelog-writer', { target: script('commits.sh'), workspace });
    expect(record.state, await textOf(skillbox, record)).toBe('success');
    expect(await textOf(skillbox, record)).toMatch(/^[0-9a-f]+ fix: second\n$/);
  });

  test('AS-14 agent-skills/code-review has instructions only, and says so', async () => {
    await expect(run('agent-skills/code-review', { target: script('x.sh') })).rejects.toMatchObject({
      code: 'INVALID_CALL',
    });
  });

  test('GB-06…14 gibberish/git: status, log and diff of the repository', async () => {
    const workspace = newRepository();
    writeFileSync(join(workspace, 'readme.md'), 'changed\n');
    const log = await run('gibberish/git', { target: tool('git_log', { count: 1 }), workspace });
    expect(log.output).toMatchObject({
      success: true,
      exit_code: 0,
      output: expect.stringMatching(/^[0-9a-f]+ fix: second\n$/),
    });
    const status = await run('gibberish/git', { target: tool('git_status'), workspace });
    expect(status.output).toMatchObject({ success: true, output: '## main\n M readme.md\n' });
    const diff = await run('gibberish/git', { target: tool('git_diff', { staged: true }), workspace });
    expect(diff.output).toMatchObject({ success: true, output: '' });
  });

  test('GB-10/14 gibberish/text-tools: a script of the skill, whose JSON is parsed', async () => {
    const workspace = writeFiles(tempDir('workspace', 0o755), { 'a b.txt': '1\n2\n', '-n': 'x $HOME\n' });
    const counted = await run('gibberish/text-tools', {
      target: tool('count_lines', { files: ['a b.txt', '-n'] }),
      workspace,
    });
    expect(counted.output).toMatchObject({ success: true, parsed: { 'a b.txt': 2, '-n': 1 } });
    const found = await run('gibberish/text-tools', { target: tool('find_text', { text: '$HOME' }), workspace });
    expect(found.output).toMatchObject({ output: './-n:1:x $HOME\n' });
  });

  test('SK-06 seksbot examples do not start without the secrets that they need', async () => {
    for (const [path, input] of [
      ['seksbot/daily-note', 'met Ada'],
      ['seksbot/weather-lookup', 'Lisbon'],
    ] as const) {
      await expect(run(path, { input }), path).rejects.toMatchObject({ code: 'SECRET_MISSING' });
    }
  });
});
