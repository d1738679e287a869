import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Skillbox, skillboxOf } from '../../src/app.ts';
import { openParts } from '../../src/parts.ts';
import { requireOne, sweepRuns, thisWriter } from '../../src/runs/index.ts';
import { thisOwner } from '../../src/sandbox/index.ts';
import { openStore, sweepParts } from '../../src/store/index.ts';
import { newRecord, WRITER } from '../support/record.ts';
import { EXAMPLES, NO_SANDBOX, optionsOf, runSkill } from '../support/skillbox.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

const dead = { ...thisOwner(), startTime: thisOwner().startTime + 1 };

const KEEP_ALL = { runsMs: null, logsMs: null, artifactsMs: null, snapshotsMs: null, layersMs: null };

describe('sweeping', () => {
  test('SK-15 runs without a living owner are interrupted; the others are left as they are', async () => {
    const store = openStore(tempDir('store'), WRITER);
    onTestFinished(() => store.close());
    const make = async (owner: string, state: 'preparing' | 'running' | 'collecting' | 'waiting' | 'success') => {
      const record = newRecord({ owner, state });
      await store.runs.insert(record, []);
      return record.id;
    };
    const lost = [
      await make(JSON.stringify(dead), 'preparing'),
      await make(JSON.stringify(dead), 'running'),
      await make(JSON.stringify(dead), 'collecting'),
      await make(JSON.stringify({ ...thisOwner(), bootId: 'another boot' }), 'running'),
      await make('', 'running'),
      await make('null', 'running'),
      await make('{"pid":"1"}', 'running'),
    ];
    const kept = [
      await make(JSON.stringify(thisOwner()), 'running'),
      // Another pid namespace cannot be judged from here: in doubt it lives.
      await make(JSON.stringify({ ...dead, pidNamespace: '1' }), 'running'),
      await make(JSON.stringify(dead), 'waiting'),
      await make(JSON.stringify(dead), 'success'),
    ];
    expect((await sweepRuns(store)).sort()).toEqual([...lost].sort());
    for (const id of lost)
      expect(await store.runs.get(null, id)).toMatchObject({
        state: 'failed',
        ending: { kind: 'interrupted' },
        error: { code: 'INTERRUPTED' },
        endedAt: expect.any(Number),
      });
    for (const id of kept) expect(await store.runs.get(null, id)).toMatchObject({ endedAt: null, error: null });
    expect(await sweepRuns(store)).toEqual([]);
  });

  test('nobody is said to have died who lives: where only the end was lost, that is told', async () => {
    const store = openStore(tempDir('store'), WRITER);
    onTestFinished(() => store.close());
    const [lost, gone] = [thisOwner(), dead].map(owner =>
      newRecord({ owner: JSON.stringify(owner), state: 'running' }),
    );
    for (const record of [lost, gone]) if (record !== undefined) await store.runs.insert(record, []);
    await sweepRuns(store, { isAbandoned: () => true });
    const said = async (id = '') => (await store.runs.get(null, id))?.error?.message;
    expect(await said(lost?.id)).toContain('could not be written down');
    expect(await said(gone?.id)).toBe('the process that ran it died');
  });

  test('what an interrupted run had printed is counted, so that it is in the quota and goes in its time', async () => {
    const store = openStore(tempDir('store'), WRITER);
    onTestFinished(() => store.close());
    const record = newRecord({ owner: JSON.stringify(dead), state: 'running' });
    await store.runs.insert(record, []);
    const log = await store.logs.create(record);
    for (let line = 0; line < 30; line++) log.write(line % 2 === 0 ? 'stdout' : 'stderr', Buffer.alloc(100_000, 'x'));
    await sweepRuns(store);
    expect(await store.runs.get(null, record.id)).toMatchObject({ state: 'failed', logBytes: 3_000_000 });
    expect(await store.queue.usage(null)).toMatchObject({ storageBytes: 3_000_000 });
  });

  test('SK-15 what is half written goes with its writer', async () => {
    const directory = tempDir('parts');
    const uuid = '12345678-1234-1234-1234-123456789abc';
    const { instance, bootId, pidNamespace, pid, startTime } = dead;
    const gone = [
      `.${[instance, bootId, pidNamespace, pid, startTime].join('-')}.${uuid}.part`,
      `.older-form.${uuid}.part`,
    ];
    const stays = [`.${thisWriter().id}.${uuid}.part`, 'sb1-sha256-x', '.hidden', 'a.part'];
    for (const name of [...gone, ...stays]) {
      mkdirSync(join(directory, name));
      writeFileSync(join(directory, name, 'file'), 'x');
    }
    await sweepParts(directory, thisWriter());
    for (const name of gone) expect(existsSync(join(directory, name)), name).toBe(false);
    for (const name of stays) expect(existsSync(join(directory, name)), name).toBe(true);
    await sweepParts(join(directory, 'nothing'), thisWriter());
  });
});

describe('an import that was killed leaves as much as an image has', () => {
  /** A directory of data with what a dead process left of an import, and what a living one is about to import. */
  const prepare = () => {
    const parts = openParts(optionsOf(tempDir('half')));
    onTestFinished(() => parts.close());
    const { instance, bootId, pidNamespace, pid, startTime } = dead;
    const owners = {
      '.import-dead': [instance, bootId, pidNamespace, pid, startTime].join('-'),
      '.import-alive': thisWriter().id,
    };
    const images = join(parts.options.dataDirectory, 'images');
    for (const [name, owner] of Object.entries(owners)) {
      mkdirSync(join(images, name, 'pool'), { recursive: true });
      writeFileSync(join(images, name, 'owner'), owner);
      writeFileSync(join(images, name, 'pool/0'), 'half');
    }
    return { skillbox: skillboxOf(parts), left: () => readdirSync(images).filter(name => name.startsWith('.')) };
  };

  test.each([
    ['a list of the images', (skillbox: Skillbox) => skillbox.listImages()],
    ['the removal of what is old', (skillbox: Skillbox) => skillbox.sweepOld(KEEP_ALL)],
  ])('%s clears it', async (_what, act) => {
    const { skillbox, left } = prepare();
    await act(skillbox);
    expect(left()).toEqual(['.import-alive']);
  });

  test.skipIf(NO_SANDBOX)('a run clears it', async () => {
    const { skillbox, left } = prepare();
    const record = await runSkill(skillbox, join(EXAMPLES, 'skillbox/word-count'), {
      input: { text: 'to be', top: 1 },
    });
    expect([record.state, record.warnings, left()]).toEqual(['success', [], ['.import-alive']]);
  });
});

test('an id is found by a beginning that only it has', () => {
  expect(requireOne(['abc'], 'ab', 'run', 'x')).toBe('abc');
  expect(() => requireOne([], 'x', 'run', 'x')).toThrow(expect.objectContaining({ code: 'NOT_FOUND' }));
  expect(() => requireOne(['ab', 'ac'], 'a', 'run', 'x')).toThrow(expect.objectContaining({ code: 'USAGE' }));
});

test.skipIf(NO_SANDBOX)('a run that has ended is told of, though what others left could not be cleared', async () => {
  const parts = openParts(optionsOf(tempDir('unswept')));
  onTestFinished(() => parts.close());
  const swept = async () => {
    throw new Error('something is in the way');
  };
  const record = await runSkill(skillboxOf({ ...parts, swept }), join(EXAMPLES, 'skillbox/word-count'), {
    input: { text: 'to be', top: 1 },
  });
  expect(record).toMatchObject({
    state: 'success',
    warnings: [expect.stringContaining('something is in the way')],
  });
});
