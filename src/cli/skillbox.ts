// The entry of the program: kept to what any Node can parse and load at once, so that an old Node gets a sentence
// instead of a stack trace, and `--version` costs no more than starting Node.
import { useCompileCache } from './compile-cache.ts';
import { BUNDLED, VERSION } from './version.ts';

const WANTED = [22, 13];

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < (WANTED[0] ?? 0) || (major === WANTED[0] && minor < (WANTED[1] ?? 0))) {
  process.stderr.write(`skillbox needs Node ${WANTED.join('.')} or newer; this is ${process.versions.node}\n`);
  process.exitCode = 2;
} else if (process.argv.length === 3 && (process.argv[2] === '--version' || process.argv[2] === '-V')) {
  process.stdout.write(`${VERSION}\n`);
} else {
  void start();
}

async function start(): Promise<void> {
  useCompileCache(process.env);
  // A reader that goes away (`skillbox … | head`) ends the output, not the program with a stack trace.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });
  const { main, processIo } = await loadProgram(process.argv[2], process.argv[3]);
  process.exitCode = await main(process.argv.slice(2), processIo(), VERSION);
}

type Program = Pick<typeof import('./main.ts') & typeof import('./io.ts'), 'main' | 'processIo'>;

async function loadProgram(command: string | undefined, next: string | undefined): Promise<Program> {
  // Not imported: Node would then load all that this module could ever need.
  const { createRequire } = process.getBuiltinModule('node:module');
  if (BUNDLED && command === 'run') return createRequire(import.meta.url)('./run.cjs');
  if (BUNDLED && command === 'catalog' && next !== 'why') return createRequire(import.meta.url)('./catalog.cjs');
  const [{ main }, { processIo }] = await Promise.all([import('./main.ts'), import('./io.ts')]);
  return { main, processIo };
}
