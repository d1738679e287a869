import { execFileSync } from 'node:child_process';
import { readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createProcess } from '../../src/sandbox/process.ts';
import { rewriter } from '../../src/sandbox/process-place.ts';
import { run } from '../../src/sandbox/sandbox.ts';
import { sandboxContract } from '../contracts/sandbox.ts';
import { QUIET, specOf, text } from '../support/sandbox-spec.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();
const make = (byConfiguration: boolean, byCaller: boolean) =>
  createProcess({ stateDir: tempDir('process'), search: [], allowed: { byConfiguration, byCaller } });

sandboxContract({
  name: 'process',
  skip: process.platform === 'linux' ? null : 'not tried elsewhere',
  hostRuntime: true,
  async make() {
    const sandbox = make(true, true);
    await sandbox.check();
    return {
      sandbox,
      stateDir: '',
      give: () => undefined,
      residentBytes: () => process.memoryUsage().rss,
      close: async () => undefined,
    };
  },
});

it.each([
  [false, false],
  [true, false],
  [false, true],
])('is refused unless configuration (%s) and caller (%s) both ask', async (byConfiguration, byCaller) => {
  const sandbox = make(byConfiguration, byCaller);
  expect((await sandbox.check())[0]?.fatal).toBe(true);
  expect(sandbox.enforces.size).toBe(0);
  await expect(sandbox.prepare(specOf(['true']))).rejects.toMatchObject({ code: 'SANDBOX_UNAVAILABLE' });
});

it('claims no isolation', async () => {
  const sandbox = make(true, true);
  await sandbox.check();
  for (const guarantee of [
    'files',
    'network',
    'processes',
    'syscalls',
    'privileges',
    'memory',
    'pids',
    'workspace',
  ] as const) {
    expect(sandbox.enforces.get(guarantee)).toBe('none');
    await expect(
      sandbox.prepare(specOf(['true'], { requires: new Map([[guarantee, 'polled']]) })),
    ).rejects.toMatchObject({ code: 'SANDBOX_CANNOT_ENFORCE' });
  }
});

it('copies what can be copied of a folder to be read; what fails before the start leaves nothing', async () => {
  const stateDir = tempDir('process');
  const sandbox = createProcess({ stateDir, search: [], allowed: { byConfiguration: true, byCaller: true } });
  await sandbox.check();
  const source = tempDir('folder');
  writeFileSync(join(source, 'a.txt'), 'a');
  symlinkSync('a.txt', join(source, 'link'));
  execFileSync('mkfifo', [join(source, 'pipe')]);
  const bind = (at: string, from: string) =>
    ({ kind: 'bind', source: from, at, writable: false, exec: false, protect: null }) as const;
  const spec = (from: string) => specOf(['/bin/ls', '/given'], { mounts: [bind('/given', from)], requires: new Map() });
  expect(text(await run(sandbox, spec(source), QUIET))).toBe('a.txt\nlink\n');
  await expect(sandbox.prepare(spec(join(source, 'gone')))).rejects.toThrow();
  expect(readdirSync(join(stateDir, 'processes'))).toEqual([]);
});

it('rewrites a path only where one begins', () => {
  const rewrite = rewriter(
    new Map([
      ['/tmp', '/r/tmp'],
      ['/sandbox', '/r/s'],
      ['/sandbox/out', '/r/out'],
    ]),
  );
  expect(rewrite('/tmp')).toBe('/r/tmp');
  expect(rewrite('cat /sandbox/out/a > /tmp/b; ls /sandbox')).toBe('cat /r/out/a > /r/tmp/b; ls /r/s');
  expect(rewrite('--file=/tmp/x')).toBe('--file=/r/tmp/x');
  expect(rewrite('/usr/tmp /tmpfile x/sandbox')).toBe('/usr/tmp /tmpfile x/sandbox');
});
