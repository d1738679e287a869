import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';

/** Changes a folder as a command would, and stops dead before a given rename, so that a test can kill it there. */
const [, , root = '', data = '', steps = '0'] = process.argv;
const rename = fs.renameSync;
let left = Number(steps);
fs.renameSync = (from, to) => {
  if (left-- === 0) {
    fs.writeSync(1, 'stopped\n');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  }
  rename(from, to);
};
syncBuiltinESMExports();

const { projectScope } = await import('../../src/install/index.ts');
const { change } = await import('../../src/install/transaction.ts');
await change(
  projectScope(root, '/nowhere', data),
  async staging => {
    for (const name of ['a', 'b']) {
      fs.mkdirSync(join(staging, name));
      fs.writeFileSync(join(staging, name, 'file'), 'new');
    }
    fs.writeFileSync(join(staging, 'lock'), 'new');
    return [
      { path: join(root, 'old-folder'), staged: 'a' },
      { path: join(root, 'deep/down/fresh'), staged: 'b' },
      { path: join(root, 'lock'), staged: 'lock' },
    ];
  },
  async () => undefined,
);
fs.writeSync(1, 'ended\n');
setInterval(() => undefined, 1000);
