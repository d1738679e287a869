import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { isObject, type JsonObject, type JsonValue, SkillboxError, visibleLine } from '../base/index.ts';
import type { Manager } from './manifest.ts';
import { OUT, runStep, type Workshop } from './step.ts';
import { interpreterFor } from './tools.ts';

/** What an image has to build with: versions for the record, and where npm's own program lies in it. */
export type Inside = { versions: string; npmCli: string };

const MAX_BYTES = 4096;

/** Runs inside: an exit of 0 without `manager` means that the interpreter is there, and the package manager is not. */
const ASK_PYTHON = `
import json, platform
try:
    import pip
    manager = pip.__version__
except ImportError:
    manager = None
with open('${OUT}/inside.json', 'w') as file:
    json.dump({'interpreter': platform.python_version(), 'manager': manager, 'cli': ''}, file)
`;

/** npm's own file, wherever the image keeps it: beside node, where Debian puts it, or behind the name on PATH. */
const ASK_NODE = `
import { existsSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
const modules = [join(dirname(process.execPath), '../lib/node_modules'), '/usr/lib/node_modules', '/usr/share/nodejs'];
const named = (process.env.PATH ?? '').split(':').map(place => join(place, 'npm')).filter(path => existsSync(path));
const all = [...modules.map(place => join(place, 'npm/bin/npm-cli.js')), ...named.map(path => realpathSync(path))];
const cli = all.find(path => path.endsWith('/bin/npm-cli.js') && existsSync(path));
const manager = cli === undefined ? null : JSON.parse(readFileSync(join(dirname(cli), '../package.json'), 'utf8')).version;
writeFileSync('${OUT}/inside.json', JSON.stringify({ interpreter: process.versions.node, manager, cli: cli ?? '' }));
`;

const ASK: Record<Manager, { words: string[]; files: Record<string, string> }> = {
  pip: { words: ['-I', '/build/inside.py'], files: { 'inside.py': ASK_PYTHON } },
  npm: { words: ['/build/inside.mjs'], files: { 'inside.mjs': ASK_NODE } },
};

const HINTS: Record<Manager, string> = {
  pip: 'Use an image that has pip for its python3 (in Debian: the package python3-pip), or put the packages into the image.',
  npm: 'Use an image that has npm beside node (the official ones do), or put the packages into the image.',
};

/** Asked before anything is fetched: an image without a package manager is a fault of its own, not of the packages. */
export async function lookInside(workshop: Workshop, manager: Manager, image: string): Promise<Inside> {
  const { words, files } = ASK[manager];
  const handle = await runStep(workshop, {
    manager,
    doing: 'look for',
    argv: [workshop.interpreter, ...words],
    files,
    env: {},
    binds: [],
    network: false,
  });
  try {
    const said = parse(await readPlain(join(handle.path(OUT), 'inside.json')));
    if (said.manager === null)
      throw new SkillboxError(
        'RUNTIME_MISSING',
        `The image ${image} has ${interpreterFor(manager)} and no ${manager}.`,
        {
          hint: HINTS[manager],
          details: { image, manager, interpreter: said.interpreter },
        },
      );
    const versions = `${interpreterFor(manager)} ${said.interpreter}, ${manager} ${said.manager}`;
    return { versions: visibleLine(versions, 120), npmCli: said.cli };
  } finally {
    await handle.dispose();
  }
}

/** Written by a stranger's program: no more than three short texts. */
function parse(text: string): { interpreter: string; manager: string | null; cli: string } {
  const { interpreter, manager, cli } = objectIn(text);
  if (typeof interpreter === 'string' && typeof cli === 'string' && (manager === null || typeof manager === 'string'))
    return { interpreter, manager, cli };
  throw new SkillboxError('DEPENDENCIES_FAILED', 'the interpreter of the image does not say what it is', {
    hint: 'Use an image whose python3 or node is the one that its name says.',
  });
}

function objectIn(text: string): JsonObject {
  try {
    const value = JSON.parse(text) as JsonValue;
    return isObject(value) ? value : {};
  } catch {
    return {}; // said nothing that could be read
  }
}

/** A link, a pipe or nothing at all says nothing. */
async function readPlain(path: string): Promise<string> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(() => null);
  if (file === null) return '';
  try {
    if (!(await file.stat()).isFile()) return '';
    const { bytesRead, buffer } = await file.read(Buffer.alloc(MAX_BYTES), 0, MAX_BYTES, 0);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
}
