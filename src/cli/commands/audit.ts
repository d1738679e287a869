import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { describeWrong, localActor, type Verified } from '../../app.ts';
import { EXIT, errnoOf, SkillboxError, visible } from '../../base/index.ts';
import type { Config } from '../../config/index.ts';
import { readTime } from '../audit-filter.ts';
import type { Command, Input, Option } from '../command.ts';
import { withSkillbox } from '../connect.ts';
import type { Io } from '../io.ts';
import { orOnServer, SERVER_OPTION } from '../on-server.ts';
import { readBounded } from '../read-bounded.ts';
import { writeAside } from '../write-aside.ts';

const JSON_OPTION: Option = { help: 'print one JSON document' };
/** A checkpoint has one head for each tenant; this is room for a hundred thousand, or for as many small checkpoints. */
const MAX_CHECKPOINT_BYTES = 32 * 1024 ** 2;

export const auditVerify: Command = {
  name: 'audit verify',
  summary: 'Check every entry of the journal against its hash and its place; name the first that is wrong.',
  args: [],
  options: {
    against: {
      help: 'one checkpoint or several, kept outside: shows also what was cut off or rolled back',
      value: 'FILE',
    },
    key: { help: 'the public key that signed it; otherwise the one kept here', value: 'BASE64' },
    ...SERVER_OPTION,
    json: JSON_OPTION,
  },
  examples: ['skillbox audit verify', 'skillbox audit verify --against /mnt/elsewhere/checkpoint.json'],
  run: orOnServer(verifyHere, async () => (await import('../remote/audit.ts')).verifyThere),
};

function verifyHere(input: Input, io: Io, config: Config): Promise<number> {
  return withSkillbox(
    io,
    async skillbox => {
      const [path, key] = [input.value('against'), input.value('key')];
      if (path === null && key !== null) throw new SkillboxError('USAGE', '--key needs --against');
      const verified = await skillbox.audit.verify(
        path === null ? null : await readSmall(resolve(io.cwd, path), io),
        key,
      );
      const { wrong } = verified;
      if (input.flag('json')) io.out(`${JSON.stringify(toJson(verified), null, 2)}\n`);
      else if (wrong === null) io.out(`${io.paint('green', '✔')} ${renderRight(verified)}\n`);
      else io.err(`${io.paint('red', 'wrong')}: ${visible(describeWrong(wrong))}\n${renderBefore(verified)}`);
      return wrong === null ? EXIT.ok : EXIT.failed;
    },
    { config },
  );
}

function toJson({ wrong, entries, chains, checkpoint }: Verified) {
  return { ok: wrong === null, entries, chains, checkpoint, wrong };
}

function renderRight({ entries, chains, checkpoint }: Verified): string {
  const counted = `${entries} entries in ${chains.length} ${chains.length === 1 ? 'chain' : 'chains'} are whole and in order`;
  return checkpoint === null
    ? `${counted}; without --against nobody can tell whether the newest were cut off`
    : `${counted}, and hold all that the checkpoint of ${new Date(checkpoint.time).toISOString()} saw`;
}

function renderBefore({ entries }: Verified): string {
  return entries === 0 ? '' : `  The ${entries} entries before it are whole and in order.\n`;
}

export const auditCheckpoint: Command = {
  name: 'audit checkpoint',
  summary: 'Sign the heads of all chains. Keep the result where whoever could change the journal cannot write.',
  args: [],
  options: {
    output: { help: 'write it to this file instead of printing it', value: 'FILE', short: 'o' },
    to: { help: 'give it to this shell command on its standard input', value: 'COMMAND' },
    json: { help: 'print it as well' },
  },
  examples: [
    'skillbox audit checkpoint -o /mnt/elsewhere/checkpoint.json',
    "skillbox audit checkpoint --to 'ssh keeper tee -a checkpoints.jsonl'",
  ],
  run: (input, io) =>
    withSkillbox(io, async skillbox => {
      const [path, command] = [input.value('output'), input.value('to')];
      if (path !== null && command !== null) throw new SkillboxError('USAGE', 'give --output or --to, not both');
      const checkpoint = await skillbox.audit.checkpoint(localActor());
      const text = `${JSON.stringify(checkpoint)}\n`;
      if (path !== null) await writeAside(resolve(io.cwd, path), file => file.writeFile(text));
      else if (command !== null) send(command, text, io.env);
      if (input.flag('json') || (path === null && command === null)) io.out(text);
      io.err(`The public key is ${checkpoint.key}; keep it beside the checkpoint.\n`);
      return EXIT.ok;
    }),
};

/** The command is the operator's own, typed by them. */
function send(command: string, text: string, env: NodeJS.ProcessEnv): void {
  const { status, error } = spawnSync('/bin/sh', ['-c', command], {
    input: text,
    stdio: ['pipe', 'ignore', 'inherit'],
    env,
  });
  if (status === 0 && error === undefined) return;
  const why = status !== null && status !== 0 ? `exit code ${status}` : (error?.message ?? 'it was ended by a signal');
  throw new SkillboxError('UNWRITABLE', `the checkpoint did not reach its place: ${why}`, {
    hint: 'Try the command by itself.',
  });
}

export const auditRotate: Command = {
  name: 'audit rotate',
  summary: 'Move old entries into a sealed file beside the store; the chain goes on from its last hash.',
  args: [],
  options: {
    before: { help: 'entries before this time: a date, or how long ago; all when absent', value: 'TIME' },
    json: JSON_OPTION,
  },
  examples: ['skillbox audit rotate --before 720h'],
  run: (input, io) =>
    withSkillbox(io, async skillbox => {
      const before = readTime(input, 'before') ?? Number.MAX_SAFE_INTEGER;
      const rotation = await skillbox.audit.rotate(before, localActor());
      if (input.flag('json')) io.out(`${JSON.stringify({ rotation }, null, 2)}\n`);
      else if (rotation === null) io.err('There is nothing to move.\n');
      else io.out(`moved ${rotation.entries} entries to ${rotation.path}\n`);
      return EXIT.ok;
    }),
};

async function readSmall(path: string, { interrupt }: Io): Promise<string> {
  try {
    const content = await readBounded(path, MAX_CHECKPOINT_BYTES, interrupt);
    if (content !== null) return content.toString('utf8');
  } catch (cause) {
    if (cause instanceof SkillboxError) throw cause;
    const code = errnoOf(cause);
    throw new SkillboxError(
      code === 'ENOENT' ? 'NOT_FOUND' : 'UNREADABLE',
      `cannot read ${path} (${code ?? String(cause)})`,
      { cause },
    );
  }
  throw new SkillboxError('USAGE', `${path} is too large for a checkpoint`);
}
