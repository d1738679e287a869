import type { Script } from 'node:vm';

/** As in compile-cache.ts: what is not imported is not loaded, and no Node is too old to get as far as saying that it is. */
const fs = () => process.getBuiltinModule('node:fs');
const path = () => process.getBuiltinModule('node:path');

/** The first runs of a program do not all do the same: what each of so many compiled is kept. */
const RUNS = 3;
/** Of one program: of several installations, or of one home that several machines have. */
const MAX_KEPT = 4;
/** V8 refuses what it made with other flags. What it refuses so often in a row is not made again: that takes longer than it saves. */
const MAX_REFUSED = 3;
/** Before the code: how many runs it is of, and how often in a row it was refused. V8 wants the code itself at a multiple of eight. */
const HEAD_BYTES = 8;

type Loaded = { script: Script; kept: string; runs: number; refused: number };

/** Programs that are one file each. */
export type Programs = {
  /** What the file beside us exports. */
  load: (name: string) => unknown;
  /** After a run that did what it was to do: keeps what V8 made of each. */
  keep: () => void;
};

/**
 * Node's own cache has what V8 compiles as it reads a file, which is the least of it: a function is compiled when it is first called,
 * again in every process, and that was a tenth of a run. Here it is what V8 had at the end of a run. `directory` is one that nobody
 * else can write to, for what is in it becomes code of this process; null: there is none, and all is left to Node. `build` is another for
 * other programs.
 */
export function openPrograms(directory: string | null, home: string, build: string): Programs {
  const { createRequire, Module } = process.getBuiltinModule('node:module');
  const require = createRequire(path().join(home, 'programs.cjs'));
  const all: Loaded[] = [];
  // V8 takes nothing that it made with other flags; who sets some has Node's own cache.
  const isPlain = process.execArgv.length === 0 && process.env.NODE_OPTIONS === undefined;
  return {
    load(name) {
      const file = path().join(home, name);
      if (directory === null || !isPlain) return require(file);
      const { Script } = process.getBuiltinModule('node:vm');
      const kept = path().join(directory, keptName(file, build));
      const known = readKept(kept);
      const refused = known?.refused ?? 0;
      if (refused >= MAX_REFUSED) return require(file);
      // One byte is one character in it, and nothing in it says `import(`: scripts/build-programs.mjs sees to both.
      const script = new Script(Module.wrap(fs().readFileSync(file, 'latin1')), {
        filename: file,
        ...(known === null ? {} : { cachedData: known.code }),
      });
      if (script.cachedDataRejected === true) all.push({ script, kept, runs: 0, refused: refused + 1 });
      else all.push({ script, kept, runs: known?.runs ?? 0, refused: 0 });
      const module = new Module(file);
      module.filename = file;
      require.cache[file] = module;
      script.runInThisContext().call(module.exports, module.exports, createRequire(file), module, file, home);
      module.loaded = true;
      return module.exports;
    },
    keep() {
      for (const { script, kept, runs, refused } of all)
        if (runs < RUNS) writeKept(kept, [runs + 1, refused], script.createCachedData());
    },
  };
}

/**
 * V8 itself compares no more than the length of the source, so the name says which file it was: no change leaves its ctime, and where
 * times are all the same, as in images, the build is another.
 */
function keptName(file: string, build: string): string {
  const { dev, ino, size, ctimeMs } = fs().statSync(file);
  return `${path().basename(file)}-${build}-${[dev, ino, size, Math.round(ctimeMs * 1000)].join('-')}`;
}

type Kept = { runs: number; refused: number; code: Buffer };

/**
 * V8 runs what it is given without looking whether it is whole. So it is there twice: to compare the two takes a fraction of what
 * any sum takes in a process that has loaded nothing yet.
 */
function readKept(kept: string): Kept | null {
  try {
    const all = fs().readFileSync(kept);
    const [runs = 0, refused = 0] = all;
    const half = (all.length - HEAD_BYTES) / 2;
    const code = all.subarray(HEAD_BYTES, HEAD_BYTES + half);
    const isWhole = half > 0 && Number.isInteger(half) && code.equals(all.subarray(HEAD_BYTES + half));
    return isWhole && runs <= RUNS && refused <= MAX_REFUSED ? { runs, refused, code } : null;
  } catch {
    return null;
  }
}

/** It only saves time: what cannot be written is written by a later run. Flushed, because nothing looks at it again before it is run. */
function writeKept(kept: string, head: readonly number[], code: Buffer): void {
  const aside = `${kept}.${process.pid}-${Math.random().toString(36).slice(2)}.part`;
  try {
    fs().writeFileSync(aside, Buffer.concat([Buffer.from(head), Buffer.alloc(HEAD_BYTES - head.length), code, code]), {
      mode: 0o600,
      flush: true,
      flag: 'wx',
    });
    fs().renameSync(aside, kept);
    removeOlder(kept);
  } catch {
    fs().rmSync(aside, { force: true });
  }
}

function removeOlder(kept: string): void {
  const directory = path().dirname(kept);
  const program = path()
    .basename(kept)
    .replace(/[^.]*$/, '');
  const aged = fs()
    .readdirSync(directory)
    .filter(name => name.startsWith(program))
    .map(name => ({ file: path().join(directory, name), at: fs().statSync(path().join(directory, name)).mtimeMs }))
    .sort((a, b) => b.at - a.at);
  for (const { file } of aged.slice(MAX_KEPT)) fs().rmSync(file, { force: true });
}
