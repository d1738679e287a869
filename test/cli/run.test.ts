import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { run as runWords } from '../fake-io.ts';
import { EXAMPLES, NO_SANDBOX, newSkill, PROBES } from '../support/skillbox.ts';
import { tempDir, tidy } from '../support/temp.ts';
import { writeFiles } from '../temp.ts';

tidy();

const env = { SKILLBOX_DATA_DIR: join(tempDir('data'), 'data'), PATH: process.env.PATH ?? '' };
const cwd = tempDir('cwd', 0o755);
const WORDS = join(EXAMPLES, 'skillbox/word-count');
const run = (...words: string[]) => runWords(['run', ...words], { cwd, env, own: true });
const json = async (...words: string[]) => JSON.parse((await run(...words, '--json')).out);

describe.skipIf(NO_SANDBOX)('skillbox run', () => {
  test('--json prints one document of exactly this shape', async () => {
    const result = await json(WORDS, '--input', '{"text":"to be or not to be"}');
    expect(Object.keys(result)).toEqual([
      'execution_id',
      'status',
      'exit_code',
      'end',
      'output',
      'logs',
      'files_list',
      'files_url',
      'artifacts',
      'duration_ms',
      'error',
      'warnings',
      'usage',
      'skill',
      'decision',
      'approval',
      'sandbox',
    ]);
    expect(result).toMatchObject({
      execution_id: expect.stringMatching(/^[0-9a-z]{26}$/),
      status: 'success',
      exit_code: 0,
      end: { kind: 'exited', code: 0 },
      output: { words: 6 },
      logs: 'counted 6 words\n',
      files_list: ['report.md'],
      files_url: expect.stringMatching(/^file:\/\/\//),
      artifacts: [{ path: 'report.md', size: expect.any(Number), sha256: expect.stringMatching(/^[0-9a-f]{64}$/) }],
      duration_ms: expect.any(Number),
      error: null,
      skill: {
        name: 'word-count',
        version: '1.0.0',
        digest: expect.stringMatching(/^sb1-sha256:/),
        dialect: 'skillbox',
      },
      sandbox: { driver: 'bubblewrap', enforces: expect.objectContaining({ files: 'kernel-tree' }) },
    });
    const archive = execFileSync('tar', ['-tzf', new URL(result.files_url).pathname], { encoding: 'utf8' });
    expect(archive).toBe('report.md\n');
  });

  test('output without a line end gets one before the result, and only then', async () => {
    for (const [body, shown] of [
      ['printf "no line end"', 'no line end\n'],
      ['printf "one\\ntwo" >&2', 'one\ntwo\n'],
      ['echo whole', 'whole\n'],
      ['true', ''],
    ] as const)
      expect((await run(newSkill('bash', `${body}\n`))).err).toBe(shown);
    expect((await json(newSkill('bash', 'printf x\n'))).logs).toBe('x');
  });

  test('for a person: the log on stderr, the result on stdout, nothing that moves a cursor', async () => {
    const skill = newSkill('bash', `printf 'a\\e[2Jb\\n'; echo '"x\\u001b[0m"' > "$SANDBOX_OUTPUT"\n`);
    const { code, out, err } = await run(skill);
    expect(code).toBe(0);
    expect(err).toBe('a<U+001B>[2Jb\n');
    expect(out).toMatch(/✔ probe main: success/);
    expect(out).toContain('x<U+001B>[0m');
    expect(out).toMatch(/run [0-9a-z]{26} \(bubblewrap, bash 5/);
  });

  test('on a terminal the state and the last lines are shown while it runs, then taken away', async () => {
    const skill = newSkill('bash', 'for i in 1 2 3 4 5 6 7; do printf "line $i \\e[2J\\n"; done; sleep 0.5\n');
    const { err } = await runWords(['run', skill], { cwd, env, own: true, answers: [] });
    expect(err).toMatch(/running \d\.\ds\n {2}line 3 <U\+001B>\[2J\n[\s\S]*line 7 <U\+001B>/);
    const erasures = err.split('\u001b[').slice(1);
    expect(erasures.every(text => /^(?:\d+A$|J)/.test(text))).toBe(true);
    const { err: quiet } = await runWords(['run', skill, '--json'], { cwd, env, own: true, answers: [] });
    expect(quiet).toBe('');
  });

  test('characters that come in pieces of two streams are shown whole', async () => {
    const body =
      'import os, time\nfor b in "ö€😀".encode():\n  os.write(1, bytes([b])); time.sleep(0.01); os.write(2, b".")\n';
    const skill = newSkill('python', body);
    const { err } = await run(skill);
    expect(err.replaceAll('.', '')).toBe('ö€😀\n');
    expect((await json(skill)).logs.replaceAll('.', '')).toBe('ö€😀');
  });

  test.each([
    ['failing', 'exit 3\n', [], 1, { status: 'failed', exit_code: 3, error: { code: 'EXITED' } }],
    [
      'a signal',
      'kill -SEGV $$\n',
      [],
      1,
      { status: 'failed', error: { code: 'SIGNALED' }, end: { kind: 'signaled', signal: 'SIGSEGV' } },
    ],
    [
      'slow',
      'echo begun; sleep 20\n',
      ['--timeout', '300ms'],
      124,
      { status: 'timeout', exit_code: null, logs: 'begun\n' },
    ],
    ['bad output', 'echo no > "$SANDBOX_OUTPUT"\n', [], 1, { status: 'failed', error: { code: 'BAD_OUTPUT' } }],
    ['printing without end', 'yes\n', [], 1, { status: 'failed', error: { code: 'OUTPUT_LIMIT' } }],
  ])('X-13 the exit code of a skill that is %s', async (_name, body, words, exit, result) => {
    const { code, out } = await run(newSkill('bash', body), ...words, '--json');
    expect(code).toBe(exit);
    expect(JSON.parse(out)).toMatchObject(result);
  });

  test('logs over a megabyte are cut in the document, and it says so', async () => {
    const { logs, warnings } = await json(newSkill('bash', 'head -c 2000000 /dev/zero | tr "\\0" x\n'));
    expect(logs).toHaveLength(1024 ** 2);
    expect(warnings).toEqual([expect.stringMatching(/first 1048576 bytes; skillbox exec logs/)]);
  });

  test('--input takes JSON or @FILE, and refuses the rest with a hint', async () => {
    writeFileSync(join(cwd, 'input.json'), '{"text":"from a file"}');
    expect(await json(WORDS, '--input', '@input.json')).toMatchObject({ output: { words: 3 } });
    const bad = await run(WORDS, '--input', '{text: 1}');
    expect(bad).toMatchObject({ code: 2, err: expect.stringMatching(/--input is not JSON[\s\S]*@input\.json/) });
    expect(await run(WORDS, '--input', '@gone.json')).toMatchObject({ code: 5 });
    expect(await run(WORDS, '--input', '@/dev/zero')).toMatchObject({ code: 2 });
    expect(await run(WORDS, '--input', '['.repeat(5000) + ']'.repeat(5000))).toMatchObject({ code: 2 });
  });

  test('X-10 a zip runs as the folder does: same digest, same snapshot', async () => {
    await runWords(['skill', 'package', WORDS, '-o', join(cwd, 'words.zip')], { cwd, env });
    const [zipped, folder] = [
      await json('words.zip', '--input', '{"text":"a b"}'),
      await json(WORDS, '--input', '{"text":"a b"}'),
    ];
    expect(zipped).toMatchObject({ status: 'success', output: { words: 2 }, skill: folder.skill });
    expect(zipped.artifacts).toEqual(folder.artifacts);
  });

  test('--env reaches the run, and what decides what runs is refused', async () => {
    const skill = newSkill('bash', 'echo "$TITLE"\n');
    expect(await json(skill, '--env', 'TITLE=a=b c')).toMatchObject({ logs: 'a=b c\n' });
    expect(await run(skill, '--env', 'LD_PRELOAD=/x')).toMatchObject({
      code: 2,
      err: expect.stringContaining('LD_PRELOAD'),
    });
    expect(await run(skill, '--env', 'nothing')).toMatchObject({ code: 2, err: expect.stringContaining('NAME=VALUE') });
  });

  test('GB-05 --param is coerced by the type of the parameter; output is the envelope', async () => {
    const words = ['--param', 'words=a b', '--param', 'words=c'];
    const { output } = await json(join(PROBES, 'tool-probe'), 'report', ...words, '--yes');
    expect(Object.keys(output)).toEqual(['success', 'exit_code', 'output', 'truncated', 'duration_ms', 'parsed']);
    expect(output.parsed.argv).toEqual(['a b', 'c']);
    const bad = await run(join(PROBES, 'tool-probe'), 'print_much', '--param', 'lines=many');
    expect(bad).toMatchObject({ code: 2, err: expect.stringContaining('lines') });
    expect(await run(join(PROBES, 'tool-probe'), 'print_much')).toMatchObject({
      code: 2,
      err: expect.stringContaining('lines'),
    });
  });

  test('GB-11 a tool works in the repository that holds the caller', async () => {
    const repository = writeFiles(tempDir('repository', 0o755), { 'deep/er/file': 'x', 'top.txt': 'x' });
    execFileSync('git', ['init', '-q', repository]);
    symlinkSync(repository, join(cwd, 'linked'));
    const words = ['run', join(PROBES, 'tool-probe'), 'report', '--yes', '--json'];
    for (const at of [join(repository, 'deep/er'), join(cwd, 'linked/deep')]) {
      const { out } = await runWords(words, { cwd: at, env, own: true });
      expect(JSON.parse(out).output.parsed).toMatchObject({ cwd: '/workspace', here: ['.git', 'deep', 'top.txt'] });
    }
  });

  test('WS-03 arguments after -- reach a script as they are; its name may be left out when it is the only one', async () => {
    writeFiles(cwd, { 'ws/app.log': 'ERROR x\n' });
    const summary = join(EXAMPLES, 'workspace/log-summary');
    const { out } = await runWords(['run', summary, '--workspace', 'ws', '--json', '--', '--input', 'app.log'], {
      cwd,
      env,
    });
    expect(JSON.parse(JSON.parse(out).logs).levels).toEqual({ ERROR: 1 });
  });
});

describe.skipIf(NO_SANDBOX)('what is left out of a skill', () => {
  const link = (skill: string, name: string) => symlinkSync('/etc/hostname', join(skill, name));

  test('is told under the result and in the document', async () => {
    const skill = newSkill('bash', 'ls "$(dirname "$0")" "$(dirname "$0")/.."\n');
    link(skill, 'data.txt');
    execFileSync('mkfifo', [join(skill, 'queue')]);
    writeFileSync(join(skill, '.env'), 'A=b\n');
    // It is there all the same, as a copy.
    symlinkSync('SKILL.md', join(skill, 'README.md'));
    const warnings = [
      "of the skill's folder: .env usually holds secrets; it is left out",
      "of the skill's folder: data.txt is a link that leads out of the skill; it is left out",
      "of the skill's folder: queue is a device, a socket or a FIFO; it is left out",
    ];
    const shown = await run(skill);
    expect(shown.code).toBe(0);
    expect(shown.out).toContain(warnings.map(warning => `warning: ${warning}\n`).join(''));
    const { logs, ...result } = JSON.parse((await run(skill, '--json')).out);
    expect(result).toMatchObject({ status: 'success', warnings });
    expect(logs).toContain('README.md');
    expect(logs).not.toMatch(/data\.txt|queue/);
  });

  test('is told up to a number', async () => {
    const skill = newSkill('bash', 'true\n');
    for (let i = 0; i < 30; i++) link(skill, `link-${i}`);
    const { warnings } = JSON.parse((await run(skill, '--json')).out);
    expect(warnings).toHaveLength(11);
    expect(warnings.at(-1)).toBe("of the skill's folder: 20 more; see skillbox skill lint");
  });
});

describe.skipIf(NO_SANDBOX)('skillbox run --download', () => {
  const skill = newSkill('bash', 'cd "$SANDBOX_FILES_DIR"; mkdir -p sub; echo one > sub/one.txt; echo two > two.txt\n');

  test('writes the files, over what was there, and follows no link', async () => {
    const target = join(cwd, 'download');
    const outside = join(cwd, 'outside.txt');
    mkdirSync(target);
    writeFileSync(outside, 'untouched');
    symlinkSync(outside, join(target, 'two.txt'));
    expect((await run(skill, '--download', 'download')).code).toBe(0);
    expect(readFileSync(join(target, 'sub/one.txt'), 'utf8')).toBe('one\n');
    expect(readFileSync(join(target, 'two.txt'), 'utf8')).toBe('two\n');
    expect(readFileSync(outside, 'utf8')).toBe('untouched');
  });

  test('a directory of it that is a link is refused', async () => {
    mkdirSync(join(cwd, 'elsewhere'));
    mkdirSync(join(cwd, 'planted'));
    symlinkSync(join(cwd, 'elsewhere'), join(cwd, 'planted/sub'));
    const { code, err } = await run(skill, '--download', 'planted');
    expect(code).toBe(1);
    expect(err).toContain('it is a link or a file');
    expect(existsSync(join(cwd, 'elsewhere/one.txt'))).toBe(false);
  });

  test('what a program would obey is not written into a folder that somebody works in, and that is told', async () => {
    const names = [
      '.git/config',
      'sub/.GIT/config',
      '.vscode/tasks.json',
      '.claude/settings.json',
      'package.json',
      'a.txt',
    ];
    const makes = names.map(name => `mkdir -p "$(dirname ${name})"; echo x > ${name}`).join('; ');
    const planter = newSkill('bash', `cd "$SANDBOX_FILES_DIR"; ${makes}\n`);
    const project = join(cwd, 'project');
    mkdirSync(project);
    writeFileSync(join(project, 'package.json'), 'mine');
    const { code, out } = await run(planter, '--download', 'project');
    expect([code, readdirSync(project).sort()]).toEqual([0, ['a.txt', 'package.json']]);
    expect(readFileSync(join(project, 'package.json'), 'utf8')).toBe('mine');
    for (const name of names.slice(0, -1)) expect(out).toContain(`${name} was not written to ${project}`);
    const listed = out.split('\n').filter(line => line.endsWith('not written'));
    expect(listed.map(line => line.trim().split('  ')[0] ?? '').sort()).toEqual(names.slice(0, -1).sort());
    // Where there was nothing before, a package is a result like others.
    const { warnings } = JSON.parse((await run(planter, '--download', 'fresh', '--json')).out);
    expect([readdirSync(join(cwd, 'fresh')).sort(), warnings.length]).toEqual([['a.txt', 'package.json'], 4]);
  });

  test('who did not ask for the files before is told how to have them, and has them with exec show', async () => {
    const { out } = await run(skill);
    const [, id = ''] = /skillbox exec show (\w+) --download DIR/.exec(out) ?? [];
    const shown = await runWords(['exec', 'show', id, '--download', 'later'], { cwd, env });
    expect([shown.code, shown.out]).toEqual([0, expect.stringContaining(`files, in ${join(cwd, 'later')}:`)]);
    expect(shown.out).not.toContain('--download');
    expect(readFileSync(join(cwd, 'later/sub/one.txt'), 'utf8')).toBe('one\n');
    expect((await run(skill, '--download', 'again')).out).not.toContain('--download');
  });

  test('a directory that cannot be made or written to is told before anything runs', async () => {
    for (const target of ['/proc/nope', '/proc/nope/below', '/proc', '/dev/null/below']) {
      const before = (await runWords(['exec', 'list', '--json'], { cwd, env })).out;
      const { code, err } = await run(skill, '--download', target);
      expect([code, err]).toEqual([
        1,
        expect.stringMatching(/^error: --download: cannot write to \/.*\n {2}Name a dir/),
      ]);
      expect((await runWords(['exec', 'list', '--json'], { cwd, env })).out).toBe(before);
    }
    expect((await run(skill, '--download', 'dry', '--dry-run')).code).toBe(0);
    expect(existsSync(join(cwd, 'dry'))).toBe(false);
  });

  test('a name as long as the file system takes', async () => {
    const long = newSkill('bash', `echo x > "$SANDBOX_FILES_DIR/${'n'.repeat(255)}"\n`);
    expect((await run(long, '--download', 'long')).code).toBe(0);
    expect(existsSync(join(cwd, 'long', 'n'.repeat(255)))).toBe(true);
  });
});
