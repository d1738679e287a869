import { EXIT, SkillboxError } from '../../base/index.ts';
import type { SecretInfo } from '../../service/index.ts';
import type { Input } from '../command.ts';
import type { Io } from '../io.ts';
import type { OnServer } from '../on-server.ts';
import { hostsOf, refusedThere, report, requireClass, showRemoved, showSecrets } from '../secret-report.ts';
import { readSecretValue } from '../secret-value.ts';

export const listThere: OnServer = async ({ secrets }, input, io) => showSecrets(await secrets.list(), input, io);

export const setThere: OnServer = async ({ secrets }, input, io) => {
  const name = input.args[0] ?? '';
  requireClass(name, input.value('class'));
  return send(input, io, value => secrets.set(name, value, hostsOf(input)));
};

export const rotateThere: OnServer = async ({ secrets }, input, io) => {
  const name = input.args[0] ?? '';
  if (!(await secrets.list()).some(each => each.name === name)) {
    throw new SkillboxError('NOT_FOUND', 'there is no secret of that name', {
      hint: '`skillbox secret list` shows them; `skillbox secret set` stores a new one.',
    });
  }
  return send(input, io, value => secrets.set(name, value, null));
};

export const removeThere: OnServer = async ({ secrets }, input, io) => {
  const name = input.args[0] ?? '';
  await secrets.remove(name);
  return showRemoved(name, input, io);
};

async function send(input: Input, io: Io, store: (value: string) => Promise<SecretInfo>): Promise<number> {
  const value = await readSecretValue(input.value('from-file'), io);
  try {
    const stored = await store(textOf(value));
    report(stored, value.length, refusedThere(stored), input, io);
  } finally {
    value.fill(0);
  }
  return EXIT.ok;
}

/** On the way it is JSON, which has no bytes. */
function textOf(value: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(value);
  } catch {
    throw new SkillboxError('SECRET_INVALID', 'the value is no text, so it cannot be sent to a server');
  }
}
