import { EXIT, SkillboxError, visible } from '../base/index.ts';
import { type Command, parseInput, renderHelp } from './command.ts';
import type { Io } from './io.ts';

/** One command with its words: its help, or what it does. */
export async function perform(command: Command, words: string[], io: Io): Promise<number> {
  const end = words.indexOf('--');
  const own = end === -1 ? words : words.slice(0, end);
  if (own.includes('--help') || own.includes('-h')) {
    io.out(renderHelp(command));
    return EXIT.ok;
  }
  return command.run(parseInput(command, words), io);
}

/** Whatever goes wrong in the body is told, and becomes the exit code. */
export async function reporting(words: string[], io: Io, body: () => Promise<number>): Promise<number> {
  const json = words.includes('--json');
  try {
    return await body();
  } catch (error) {
    return reportError(error, json, io);
  }
}

function reportError(error: unknown, json: boolean, io: Io): number {
  const known =
    error instanceof SkillboxError
      ? error
      : new SkillboxError('INTERNAL', error instanceof Error ? error.message : String(error), { cause: error });
  if (json) {
    const { code, message, hint, details } = known;
    io.out(`${JSON.stringify({ error: code, message, hint, details })}\n`);
  } else {
    io.err(
      `${io.paint('red', 'error')}: ${visible(known.message)}\n${known.hint === '' ? '' : `  ${visible(known.hint)}\n`}`,
    );
    for (const line of toolLines(known)) io.err(`  ${io.paint('dim', visible(line))}\n`);
    if (known.code === 'INTERNAL' && error instanceof Error) io.err(`${visible(error.stack ?? '')}\n`);
  }
  return known.exit;
}

/** SB-07: what the package manager said last, where a build failed. */
function toolLines({ code, details }: SkillboxError): string[] {
  if (code !== 'DEPENDENCIES_FAILED' || !Array.isArray(details.lines)) return [];
  return details.lines.filter(line => typeof line === 'string').slice(-8);
}
