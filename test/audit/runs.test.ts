import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Entry, Skillbox } from '../../src/app.ts';
import { openStore } from '../../src/store/index.ts';
import { ALL } from '../contracts/journal.ts';
import { breaksJournal, verifyJournal } from '../support/journals.ts';
import { newRecord, WRITER } from '../support/record.ts';
import { NO_SANDBOX, newSkill, openSkillbox, PROBES, runSkill, script } from '../support/skillbox.ts';
import { tempDir, tidy } from '../support/temp.ts';
import { writeFiles } from '../temp.ts';

tidy();

const SECRET = 'hunter2-never-to-be-written';

async function open(data: string): Promise<Skillbox> {
  const skillbox = await openSkillbox(data);
  onTestFinished(() => skillbox.close());
  return skillbox;
}

async function entriesOf(skillbox: Skillbox): Promise<Entry[]> {
  return (await skillbox.audit.list(ALL, 1000)).entries;
}

/** A workspace skill whose script leaves a mark in the workspace: whether it ran can be seen. */
function markingSkill(): string {
  return writeFiles(tempDir('skill', 0o755), {
    'SKILL.md': '---\nname: marks\ndescription: leaves a mark\ntags: [test]\n---\nbody\n',
    'scripts/mark.sh*': '#!/bin/bash\ntouch "$1"\n',
  });
}

function sabotage(data: string, when: string): void {
  const database = new DatabaseSync(join(data, 'skillbox.db'));
  database.exec(
    `CREATE TRIGGER sabotage BEFORE INSERT ON audit WHEN ${when} BEGIN SELECT raise(ABORT, 'no room'); END`,
  );
  database.close();
}

describe.skipIf(NO_SANDBOX)('what the journal says of a run', () => {
  test('AS-14 accepted, started, ended: what ran, in what, and what came of it', async () => {
    const skillbox = await open(tempDir('journal'));
    const skill = newSkill('bash', `echo out > "$SANDBOX_FILES_DIR/a.txt"; echo '{}' > "$SANDBOX_OUTPUT"\n`);
    const record = await runSkill(skillbox, skill, { env: { MY_VARIABLE: 'value-of-it' } });
    const entries = await entriesOf(skillbox);
    expect(entries.map(({ type }) => type)).toEqual([
      'trust.added',
      'decision.made',
      'run.accepted',
      'run.started',
      'run.ended',
    ]);
    const [, decided, accepted, started, ended] = entries;
    expect(decided?.data).toMatchObject({ verdict: 'allow', rule: { source: 'default', name: 'least-power' } });
    for (const entry of [decided, accepted, started, ended])
      expect(entry).toMatchObject({
        subject: record.id,
        tenant: null,
        actor: { id: `uid:${process.getuid?.()}`, channel: 'local' },
      });
    expect(accepted?.data).toMatchObject({
      skill: record.skill,
      target: 'main',
      argv: [expect.any(String), expect.stringContaining('main.sh')],
      env: expect.arrayContaining(['MY_VARIABLE', 'SANDBOX_INPUT']),
      mounts: expect.arrayContaining([expect.objectContaining({ kind: 'bind', writable: false })]),
      limits: expect.objectContaining({ memoryBytes: expect.any(Number), milliCpus: expect.any(Number) }),
      network: { kind: 'none' },
      image: null,
      requires: expect.objectContaining({ files: 'kernel-tree' }),
      driver: 'bubblewrap',
    });
    expect(started?.data).toMatchObject({ driver: 'bubblewrap', enforces: { files: 'kernel-tree' } });
    expect(ended?.data).toMatchObject({
      state: 'success',
      ending: { kind: 'exited', code: 0 },
      held: record.sandbox?.enforces,
      artifacts: record.artifacts,
      artifactCount: 1,
      archive: record.archive?.sha256,
    });
  });

  test('values of the environment, the input and secret arguments are in no file of the journal', async () => {
    const data = tempDir('journal');
    const skillbox = await openSkillbox(data);
    const workspace = tempDir('workspace');
    await runSkill(skillbox, newSkill('bash', `echo '{}' > "$SANDBOX_OUTPUT"\n`), {
      env: { API_TOKEN: SECRET },
      input: { password: SECRET },
      callerEnv: { OTHER: SECRET },
    });
    await runSkill(skillbox, markingSkill(), { target: script('scripts/mark.sh', '--token', SECRET), workspace });
    await skillbox.audit.rotate(Number.MAX_SAFE_INTEGER, { id: 'uid:0', channel: 'test' });
    const told = JSON.stringify(await entriesOf(skillbox));
    await skillbox.close();
    expect(told).not.toContain(SECRET);
    expect(told).toContain('API_TOKEN');
    expect(told).toContain('[cut]');
    expect(readFileSync(join(data, 'skillbox.db')).includes(SECRET)).toBe(false);
  });

  test('a command is its own target: what is decided about it names no secret either', async () => {
    const skillbox = await open(tempDir('journal'));
    const command = { kind: 'command' as const, argv: ['echo', '--token', SECRET] };
    // Allowed, and ended where the secret that it wants is not there; and left waiting.
    await expect(runSkill(skillbox, join(PROBES, 'seks-probe'), { target: command })).rejects.toMatchObject({
      code: 'SECRET_MISSING',
    });
    await runSkill(skillbox, join(PROBES, 'seks-probe'), { target: command, ask: null });
    const told = JSON.stringify(await entriesOf(skillbox));
    expect(told).not.toContain(SECRET);
    expect(told).toContain('"name":"echo --token [cut]"');
  });

  test('a run that failed to start, was canceled, or lost its process is told as that', async () => {
    const data = tempDir('journal');
    const skillbox = await open(data);
    const skill = newSkill('bash', 'sleep 20\n');
    const canceled = await runSkill(skillbox, skill, {
      onState: ({ id, state }) => void (state === 'running' && skillbox.cancelRun(id)),
    });
    const store = openStore(data, WRITER);
    const dead = newRecord({ owner: '{}', state: 'running' });
    await store.runs.insert(dead, []);
    await store.close();
    await skillbox.listRuns({ states: null, limit: 1 });
    const told = (await entriesOf(skillbox)).map(({ type, subject }) => `${type} ${subject}`);
    expect(told).toEqual([
      `trust.added ${skill}`,
      `decision.made ${canceled.id}`,
      `run.accepted ${canceled.id}`,
      `run.started ${canceled.id}`,
      `run.canceled ${canceled.id}`,
      `run.ended ${canceled.id}`,
      `run.interrupted ${dead.id}`,
    ]);
  });
});

describe.skipIf(NO_SANDBOX)('what cannot be told does not start', () => {
  test.each(['run.accepted', 'run.started'])('%s cannot be written: the program never runs', async type => {
    const data = tempDir('journal');
    const skillbox = await open(data);
    const workspace = tempDir('workspace');
    const skill = markingSkill();
    const run = (mark: string) => runSkill(skillbox, skill, { target: script('scripts/mark.sh', mark), workspace });
    await run('before');
    sabotage(data, `new.type = '${type}'`);
    await expect(run('during')).rejects.toThrow(/no room/);
    expect(readdirSync(workspace)).toEqual(['before']);
    const runs = await skillbox.listRuns({ states: null, limit: 10 });
    // Without its first event there is no record either; without its second the record tells that it was interrupted.
    expect(runs.map(({ state }) => state)).toEqual(type === 'run.accepted' ? ['success'] : ['failed', 'success']);
    expect((await skillbox.audit.verify(null, null)).wrong).toBeNull();
  });

  test('an image is not taken in or removed untold', async () => {
    const data = tempDir('journal');
    const skillbox = await open(data);
    sabotage(data, 'TRUE');
    const place = tempDir('image');
    mkdirSync(join(place, 'bin'));
    writeFileSync(join(place, 'bin/x'), 'x');
    execFileSync('tar', ['-C', place, '-cf', join(place, 'image.tar'), 'bin']);
    const hooks = { onProgress: () => undefined, signal: null };
    await expect(skillbox.importImage('tools:1', join(place, 'image.tar'), hooks)).rejects.toThrow(/no room/);
    expect(await skillbox.listImages()).toEqual([]);
  });

  test('nothing is trusted untold', async () => {
    const data = tempDir('journal');
    const skillbox = await open(data);
    const [before, during] = [tempDir('trusted'), tempDir('not-trusted')];
    await skillbox.trust.add(before, '/');
    sabotage(data, 'TRUE');
    await expect(skillbox.trust.add(during, '/')).rejects.toThrow(/no room/);
    await expect(skillbox.trust.remove(before, '/')).rejects.toThrow(/no room/);
    expect(skillbox.trust.list().entries.map(({ value }) => value)).toEqual([before]);
  });

  const noMount = spawnSync('unshare', ['--mount', 'true']).status !== 0 ? 'mounts cannot be made here' : null;
  test.skipIf(noMount !== null)(
    'a full disk: no run starts, and the journal goes on when there is room',
    { timeout: 60_000 },
    () => {
      const [disk, workspace] = [tempDir('disk'), tempDir('workspace')];
      const child = join(import.meta.dirname, '../support/full-disk-child.ts');
      const output = execFileSync(
        'unshare',
        [
          '--mount',
          'sh',
          '-c',
          'mount -t tmpfs -o size=6m,mode=0700 none "$1" && shift && exec "$@"',
          'sh',
          disk,
          process.execPath,
          child,
          disk,
          markingSkill(),
          workspace,
        ],
        { encoding: 'utf8' },
      );
      expect(JSON.parse(output)).toEqual({
        before: 'success',
        during: 'UNWRITABLE',
        after: 'success',
        wrong: null,
        told: ['trust.added', ...[1, 2].flatMap(() => ['decision.made', 'run.accepted', 'run.started', 'run.ended'])],
        marks: ['after', 'before'],
      });
    },
  );

  test.skipIf(noMount !== null)(
    'a run whose log fills the disk: its end is written all the same, and what ran can be looked at',
    { timeout: 60_000 },
    () => {
      const disk = tempDir('disk');
      const skill = newSkill('bash', 'for ((i = 0; i < 200; i++)); do printf "%065536d" "$i"; done\n');
      const program = [process.execPath, join(import.meta.dirname, '../support/full-log-child.ts'), disk, skill];
      const mounting = 'mount -t tmpfs -o size=8m,mode=0700 none "$1" && shift && exec "$@"';
      const output = execFileSync('unshare', ['--mount', 'sh', '-c', mounting, 'sh', disk, ...program], {
        encoding: 'utf8',
      });
      const failed = [['failed', 'UNWRITABLE']];
      expect(JSON.parse(output)).toEqual({
        told: 'UNWRITABLE',
        listed: failed,
        wrong: null,
        whenFull: expect.arrayContaining([...failed, ['running', null]]),
      });
    },
  );
});

describe.skipIf(NO_SANDBOX)('the journal of many runs', () => {
  test('verifies, and names the entry in which any byte is flipped', async () => {
    const data = tempDir('journal');
    const skillbox = await openSkillbox(data);
    const [good, bad] = [newSkill('bash', `echo '{}' > "$SANDBOX_OUTPUT"\n`), newSkill('bash', 'exit 3\n')];
    for (const skill of [good, bad, good, bad, good]) await runSkill(skillbox, skill);
    const entries = await entriesOf(skillbox);
    // Two skills are trusted; each run is decided about, accepted, started and ended.
    expect(entries).toHaveLength(2 + 5 * 4);
    expect((await skillbox.audit.verify(null, null)).wrong).toBeNull();
    await skillbox.close();
    expect(existsSync(join(data, 'skillbox.db-wal'))).toBe(false);
    const file = readFileSync(join(data, 'skillbox.db'));
    for (const [at, { hash, seq }] of entries.entries()) {
      const flipped = Buffer.from(file);
      // Before each hash stands the text that it is over. Dead copies of a row are flipped as well.
      for (let end = file.indexOf(`}${hash}`); end !== -1; end = file.indexOf(`}${hash}`, end + 1)) {
        const place = end - ((at * 37) % 200);
        flipped[place] = (flipped[place] ?? 0) ^ 1;
      }
      const copy = breaksJournal(tempDir('flipped'));
      writeFileSync(join(copy, 'skillbox.db'), flipped, { mode: 0o600 });
      expect((await verifyJournal(copy)).wrong).toMatchObject({ seq });
    }
  });
});
