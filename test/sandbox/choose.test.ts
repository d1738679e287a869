import { expect, it } from 'vitest';
import { chooseSandbox, diagnose, tabulate } from '../../src/sandbox/choose.ts';
import { createBubblewrap } from '../../src/sandbox/index.ts';
import { createProcess } from '../../src/sandbox/process.ts';
import { BUBBLEWRAPS, optionsFor } from '../support/drivers.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();
const allowed = { byConfiguration: true, byCaller: true };
const processes = () => createProcess({ stateDir: tempDir('choose'), search: [], allowed });
const broken = () => createBubblewrap({ ...optionsFor(tempDir('choose')), bwrap: '/nowhere' });

it.skipIf(BUBBLEWRAPS[0]?.skip !== null)('takes the strongest that works', async () => {
  const bubblewrap = createBubblewrap(optionsFor(tempDir('choose')));
  expect((await chooseSandbox([bubblewrap, processes()], null)).name).toBe('bubblewrap');
});

it('never falls down to no isolation, though it be allowed', async () => {
  await expect(chooseSandbox([broken(), processes()], null)).rejects.toMatchObject({
    code: 'SANDBOX_UNAVAILABLE',
    hint: 'apt-get install bubblewrap',
  });
  expect((await chooseSandbox([broken(), processes()], 'process')).name).toBe('process');
});

it('a named one is that one or nothing', async () => {
  await expect(chooseSandbox([broken(), processes()], 'bubblewrap')).rejects.toThrow(/not installed/);
  await expect(chooseSandbox([processes()], 'docker')).rejects.toThrow(/no sandbox named docker/);
});

it('tells doctor what each holds and what is missing', async () => {
  const found = await diagnose([broken(), processes()]);
  expect(found.map(({ driver, usable }) => [driver, usable])).toEqual([
    ['bubblewrap', false],
    ['process', true],
  ]);
  expect(found[0]?.problems[0]).toEqual({
    what: 'bubblewrap is not installed',
    fix: 'apt-get install bubblewrap',
    fatal: true,
  });
  expect(tabulate(found).find(({ guarantee }) => guarantee === 'open-files')?.levels).toEqual([
    'none',
    'kernel-process',
  ]);
});
