// Builds dist/: the command line as a bundle that loads each command on demand, the library as modules with types,
// the client as one file for browsers.
import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildClient } from './build-client.mjs';
import { buildHelper, buildScanner } from './build-helper.mjs';
import { buildPrograms } from './build-programs.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
rmSync(join(root, 'dist'), { recursive: true, force: true });
await buildPrograms(root);
await buildClient(root, 'dist/client/index.js');
const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');
execFileSync(process.execPath, [tsc, '-p', 'tsconfig.build.json'], { cwd: root, stdio: 'inherit' });
buildHelper();
buildScanner();
