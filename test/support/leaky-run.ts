/** Started with descriptor 200 open: tells its flags here, and what a run sees of it. */
import { readFileSync } from 'node:fs';
import { createBubblewrap, run } from '../../src/sandbox/index.ts';
import { QUIET, specOf, text } from './sandbox-spec.ts';

const flags = /flags:\s*(\d+)/.exec(readFileSync('/proc/self/fdinfo/200', 'utf8'))?.[1];
const sandbox = createBubblewrap(JSON.parse(process.argv[2] ?? '{}'));
const outcome = await run(sandbox, specOf(['bash', '-c', 'ls /proc/self/fd']), QUIET);
console.log(JSON.stringify({ flags, inside: text(outcome) }));
