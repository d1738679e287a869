import { readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createBubblewrap } from '../../src/sandbox/index.ts';
import { sandboxContract } from '../contracts/sandbox.ts';
import { BUBBLEWRAPS, optionsFor } from '../support/drivers.ts';
import { QUIET, specOf } from '../support/sandbox-spec.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

for (const driver of BUBBLEWRAPS) sandboxContract(driver);

it.skipIf(BUBBLEWRAPS[0]?.skip !== null)(
  'a state directory behind a link, and one that does not exist yet',
  async () => {
    const link = join(tempDir('link'), 'link');
    symlinkSync(tempDir('target'), link);
    const sandbox = createBubblewrap(optionsFor(join(link, 'a/b')));
    const handle = await sandbox.prepare(specOf(['bash', '-c', 'echo x > /sandbox/out/x']));
    expect((await handle.start(QUIET)).end).toEqual({ kind: 'exited', code: 0 });
    expect(readFileSync(join(handle.path('/sandbox/out'), 'x'), 'utf8')).toBe('x\n');
    await handle.dispose();
  },
);
