import { existsSync } from 'node:fs';
import { chmod, mkdir, rename } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import type { BuildOptions } from 'esbuild';
import { SkillboxError } from '../base/index.ts';
import { discard, partPath, type Writer } from '../store/index.ts';
import type { Snapshot } from './snapshot.ts';

/**
 * WS-02: a TypeScript script of a snapshot as one plain module, made once per digest and kept beside it. Relative imports
 * are bundled, but only from inside the skill; packages stay imports and come from the dependency layer.
 */
export async function compileScript(
  snapshot: Snapshot,
  path: string,
  directory: string,
  writer: Writer,
): Promise<string> {
  const target = join(directory, snapshot.digest.replace(':', '-'), path.replace(/\.ts$/i, '.mjs'));
  if (existsSync(target)) return target;
  const aside = partPath(directory, writer);
  try {
    await mkdir(dirname(target), { recursive: true, mode: 0o700 });
    await bundle({
      // So that a message names the file as the skill does, and nothing of the host.
      absWorkingDir: snapshot.path,
      entryPoints: [join(snapshot.path, path)],
      outfile: aside,
      bundle: true,
      format: 'esm',
      platform: 'node',
      target: 'node20',
      // The skill's own tsconfig could name files anywhere; nothing in it is needed to drop types.
      tsconfigRaw: '{}',
      loader: { '.TS': 'ts' },
      logLevel: 'silent',
      plugins: [
        {
          name: 'inside-the-skill',
          setup: hooks => hooks.onResolve({ filter: /.*/ }, args => resolveInside(args, snapshot.path)),
        },
      ],
    });
    await chmod(aside, 0o444);
    await rename(aside, target);
    return target;
  } catch (cause) {
    await discard(aside);
    throw new SkillboxError(
      'INVALID_SKILL',
      `${path} cannot be compiled: ${cause instanceof Error ? cause.message : String(cause)}`,
      {
        hint: 'Correct the TypeScript; relative imports must stay inside the skill.',
        cause,
      },
    );
  }
}

const MAX_MS = 60_000;
let last: Promise<unknown> = Promise.resolve();

/**
 * Threat: a text that is nested deeply enough ends the compiler's process, and esbuild does not start another by itself: one
 * skill would take TypeScript from all the others. One at a time, so that nobody else's is lost with it.
 */
async function bundle(options: BuildOptions): Promise<void> {
  const { build, stop } = await import('esbuild');
  const mine = last.then(async () => {
    const timer = setTimeout(() => void stop(), MAX_MS);
    try {
      await build(options);
    } catch (cause) {
      if (!(cause instanceof Error) || !/^The service (?:was stopped|is no longer running)/.test(cause.message))
        throw cause;
      await stop();
      throw new Error('the compiler gave up on it; it is nested too deeply, or takes too long', { cause });
    } finally {
      clearTimeout(timer);
    }
  });
  last = mine.catch(() => undefined);
  return mine;
}

type Resolve = { path: string; importer: string; kind: string };

/** Threat: an import of a host file would carry its content into the run. */
function resolveInside(
  args: Resolve,
  snapshot: string,
): { path?: string; external?: boolean; errors?: { text: string }[] } {
  if (args.kind === 'entry-point') return { path: args.path };
  if (!args.path.startsWith('.')) {
    return args.path.startsWith('/')
      ? { errors: [{ text: `an absolute import: ${args.path}` }] }
      : { path: args.path, external: true };
  }
  const wanted = resolve(dirname(args.importer), args.path);
  const inner = relative(snapshot, wanted);
  if (inner.split(sep)[0] === '..') return { errors: [{ text: `${args.path} leads out of the skill` }] };
  const candidates = [wanted, wanted.replace(/\.js$/, '.ts'), `${wanted}.ts`, `${wanted}.js`, join(wanted, 'index.ts')];
  const found = candidates.find(path => existsSync(path) && /\.(?:[cm]?[jt]s|json)$/.test(path));
  return found === undefined ? { errors: [{ text: `${args.path} is not in the skill` }] } : { path: found };
}
