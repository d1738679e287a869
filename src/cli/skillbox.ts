// The entry of the program: kept to what any Node can parse and load at once, so that an old Node gets a sentence
// instead of a stack trace, and `--version` costs no more than starting Node.
import { dirname } from 'node:path';
import { openPrograms, type Programs } from './code-cache.ts';
import { useCompileCache } from './compile-cache.ts';
import { BUILD, BUNDLED, VERSION } from './version.ts';

const WANTED = [22, 13];

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < (WANTED[0] ?? 0) || (major === WANTED[0] && minor < (WANTED[1] ?? 0))) {
  process.stderr.write(`skillbox needs Node ${WANTED.join('.')} or newer; this is ${process.versions.node}\n`);
  process.exitCode = 2;
} else if (process.argv.length === 3 && (process.argv[2] === '--version' || process.argv[2] === '-V')) {
  process.stdout.write(`${VERSION}\n`);
} else if (!isSomewhere()) {
  process.stderr.write('error: the current directory is gone\n  Change to one that is there.\n');
  process.exitCode = 2;
} else {
  void start();
}

/** Node remembers the answer. */
function isSomewhere(): boolean {
  try {
    process.cwd();
    return true;
  } catch {
    return false; // removed, or in a folder that is closed to us
  }
}

async function start(): Promise<void> {
  hideSqliteWarning();
  const programs = openPrograms(useCompileCache(process.env), dirname(import.meta.url), BUILD);
  const { main, processIo } = await loadProgram(process.argv[2], process.argv[3], programs);
  // A reader that goes away (`skillbox … | head`) ends the output, and so does a full disk; neither with a stack trace.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    // The terminal was closed: what was begun is still ended in order.
    if (error.code === 'EIO' && process.stdout.isTTY) return;
    process.stderr.write(`error: cannot write to standard output (${error.code})\n`);
    process.exit(1);
  });
  // Where nobody can be told, nothing is said.
  process.stderr.on('error', () => undefined);
  process.exitCode = await main(process.argv.slice(2), processIo(), VERSION);
  if (process.exitCode === 0) programs.keep();
  // Node hears now of programs that have ended meanwhile. Unheard, they would be left to the first process of the machine.
  await new Promise(resolve => setImmediate(resolve));
  // Left to itself Node takes everything apart first, piece by piece, while somebody waits.
  if (isProgram(process.argv[2], process.argv[3]) && hasWritten(process.stdout) && hasWritten(process.stderr))
    process.exit();
}

/** Node 22 says of every program that uses its SQLite that this is new; whoever runs ours can do nothing about it. */
function hideSqliteWarning(): void {
  const warn = process.emitWarning.bind(process) as (...words: unknown[]) => void;
  process.emitWarning = (...words: unknown[]) => {
    if (!String(words[0]).startsWith('SQLite is an experimental feature')) warn(...words);
  };
}

function hasWritten({ writableLength }: NodeJS.WriteStream): boolean {
  return writableLength === 0;
}

/** The two that agents and people wait for most are programs of their own, in few files. */
function isProgram(command: string | undefined, next: string | undefined): boolean {
  return BUNDLED && (command === 'run' || (command === 'catalog' && next !== 'why'));
}

/** As the build makes it. */
type EarlyRun = { 'src/cli/early-run.ts': typeof import('./early-run.ts') };
type RunProgram = { 'src/cli/run-program.ts': Program };
type Program = Pick<typeof import('./main.ts') & typeof import('./io.ts'), 'main' | 'processIo'>;

async function loadProgram(
  command: string | undefined,
  next: string | undefined,
  { load }: Programs,
): Promise<Program> {
  if (isProgram(command, next)) {
    const words = process.argv.slice(3);
    const place = { env: process.env, cwd: process.cwd() };
    // Before the rest of each is loaded, which takes as long as a sandbox to start, and as a quarter of a large scan.
    if (command === 'run') {
      const { 'src/cli/early-run.ts': early } = load('early-run.cjs') as EarlyRun;
      await early.startEarly(words, place);
      return (load('run.cjs') as RunProgram)['src/cli/run-program.ts'];
    }
    (load('early-scan.cjs') as typeof import('./early-scan.ts')).startEarly(words, place);
    return load('catalog.cjs') as Program;
  }
  const [{ main }, { processIo }] = await Promise.all([import('./main.ts'), import('./io.ts')]);
  return { main, processIo };
}
