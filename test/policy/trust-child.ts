// Adds trust in a process of its own: DATA PREFIX COUNT. It says when it is ready, and begins with the first byte of input.
import { readSync } from 'node:fs';
import { openTrustStore } from '../../src/policy/index.ts';

const [data = '', prefix = '', count = '0'] = process.argv.slice(2);
const store = openTrustStore(data);
process.stdout.write('ready\n');
readSync(0, Buffer.alloc(1));
for (let index = 0; index < Number(count); index++) store.add('path', `/srv/${prefix}-${index}`);
