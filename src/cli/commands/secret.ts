import { resolve } from 'node:path';
import { localActor, MIN_SCRUBBED_BYTES, SECRET_KINDS, type SecretInfo } from '../../app.ts';
import { EXIT, SkillboxError, visibleLine } from '../../base/index.ts';
import { type Argument, type Command, columns, type Input, type Option } from '../command.ts';
import { withSkillbox } from '../connect.ts';
import type { Io } from '../io.ts';
import { readSecretValue } from '../secret-value.ts';

const NAME: Argument = {
  name: 'NAME',
  help: 'a provider, as in anthropic, or custom/KEY',
  required: true,
  many: false,
};
const JSON_OPTION: Option = { help: 'print one JSON document' };
const FROM_FILE: Option = { help: 'take the value from a file instead of the prompt or standard input', value: 'FILE' };
const NOT_HERE =
  'a value does not belong on the command line, where everybody can read it; type it when asked, or use standard input or --from-file';

export const secretSet: Command = {
  name: 'secret set',
  summary: 'Store a secret, or replace it. The value is typed unseen, or comes by standard input or from a file.',
  args: [NAME],
  options: {
    class: { help: 'say which it must be', value: 'CLASS', choices: SECRET_KINDS },
    host: { help: 'bind it to a host: it is put into requests to it and never released', value: 'HOST', many: true },
    unbound: { help: 'bind it to no host: skills that are granted it get the value' },
    'from-file': FROM_FILE,
    json: JSON_OPTION,
  },
  examples: [
    'skillbox secret set anthropic',
    'skillbox secret set custom/deploy-token --host deploy.example.com < token.txt',
  ],
  surplus: NOT_HERE,
  run: (input, io) =>
    withSkillbox(io, async skillbox => {
      const name = input.args[0] ?? '';
      skillbox.secrets.requireKnown(name);
      requireClass(name, input.value('class'));
      const value = await readSecretValue(input.value('from-file'), io);
      try {
        const stored = await skillbox.secrets.set(name, value, hostsOf(input), localActor());
        report(stored, value.length, input, io);
      } finally {
        value.fill(0);
      }
      return EXIT.ok;
    }),
};

export const secretRotate: Command = {
  name: 'secret rotate',
  summary: 'Give a secret a new value. Runs that have begun keep the old one.',
  args: [NAME],
  options: { 'from-file': FROM_FILE, json: JSON_OPTION },
  examples: ['skillbox secret rotate anthropic'],
  surplus: NOT_HERE,
  run: (input, io) =>
    withSkillbox(io, async skillbox => {
      const name = input.args[0] ?? '';
      if ((await skillbox.secrets.get(name)) === null) {
        throw new SkillboxError('NOT_FOUND', 'there is no secret of that name', {
          hint: '`skillbox secret list` shows them; `skillbox secret set` stores a new one.',
        });
      }
      const value = await readSecretValue(input.value('from-file'), io);
      try {
        report(await skillbox.secrets.rotate(name, value, localActor()), value.length, input, io);
      } finally {
        value.fill(0);
      }
      return EXIT.ok;
    }),
};

export const secretList: Command = {
  name: 'secret list',
  summary: 'List the secrets: names, classes, hosts and times, never values.',
  args: [],
  options: { json: JSON_OPTION },
  examples: [],
  run: (input, io) =>
    withSkillbox(io, async skillbox => {
      const secrets = await skillbox.secrets.list();
      if (input.flag('json')) io.out(`${JSON.stringify({ secrets: secrets.map(toJson) }, null, 2)}\n`);
      else if (secrets.length === 0) io.err('There are no secrets yet; see `skillbox secret set --help`.\n');
      else io.out(`${columns(secrets.map(each => [each.name, rowOf(each)])).join('\n')}\n`);
      return EXIT.ok;
    }),
};

export const secretRemove: Command = {
  name: 'secret remove',
  summary: 'Remove a secret.',
  args: [NAME],
  options: { json: JSON_OPTION },
  examples: ['skillbox secret remove custom/deploy-token'],
  surplus: NOT_HERE,
  run: (input, io) =>
    withSkillbox(io, async skillbox => {
      const name = input.args[0] ?? '';
      await skillbox.secrets.remove(name, localActor());
      io.out(input.flag('json') ? `${JSON.stringify({ removed: name })}\n` : `removed ${name}\n`);
      return EXIT.ok;
    }),
};

export const secretRekey: Command = {
  name: 'secret rekey',
  summary: 'Put all secrets under a new master key, all at once or not at all.',
  args: [],
  options: {
    'key-file': { help: 'the new key, made there if nothing is; needed where the key is not our own', value: 'FILE' },
    json: JSON_OPTION,
  },
  examples: ['skillbox secret rekey', 'skillbox secret rekey --key-file /etc/skillbox/master.key'],
  run: (input, io) =>
    withSkillbox(io, async skillbox => {
      const given = input.value('key-file');
      const file = given === null ? null : resolve(io.cwd, given);
      const count = await skillbox.secrets.rekey(file, localActor());
      if (input.flag('json')) io.out(`${JSON.stringify({ rekeyed: count, keyFile: file })}\n`);
      else {
        io.out(`${count} ${count === 1 ? 'secret is' : 'secrets are'} under a new master key\n`);
        if (file !== null)
          io.err(`Set SKILLBOX_MASTER_KEY_FILE=${visibleLine(file)} from now on; the old key opens nothing.\n`);
      }
      return EXIT.ok;
    }),
};

function requireClass(name: string, wanted: string | null): void {
  const found = name.startsWith('custom/') ? 'custom' : 'provider';
  if (wanted === null || wanted === found) return;
  throw new SkillboxError('SECRET_INVALID', `by its name it is a ${found} secret, not a ${wanted} one`, {
    hint: 'Custom secrets are called custom/KEY, the key of a provider like the provider.',
  });
}

/** null: as they were, or as the providers' data says. */
function hostsOf(input: Input): string[] | null {
  const hosts = input.values('host');
  if (hosts.length > 0 && input.flag('unbound'))
    throw new SkillboxError('USAGE', '--host and --unbound exclude each other');
  return hosts.length > 0 ? hosts : input.flag('unbound') ? [] : null;
}

function report(stored: SecretInfo, length: number, input: Input, io: Io): void {
  if (length < MIN_SCRUBBED_BYTES) {
    io.err(
      `${io.paint('yellow', 'warning')}: with less than ${MIN_SCRUBBED_BYTES} bytes it cannot be scrubbed from what a run prints, so no run will get it\n`,
    );
  }
  if (input.flag('json')) io.out(`${JSON.stringify({ stored: toJson(stored) }, null, 2)}\n`);
  else
    io.out(`${io.paint('green', '✔')} ${stored.name} is stored, version ${stored.version}: ${whatHappens(stored)}\n`);
}

function whatHappens({ kind, hosts }: SecretInfo): string {
  if (kind === 'provider') return 'the broker puts it into requests; no skill gets it';
  if (hosts.length > 0) return `the broker puts it into requests to ${hosts.join(', ')}; no skill gets it`;
  return 'skills that declare it and are granted it get the value; bind it with --host if you can';
}

function rowOf({ kind, hosts, version, createdAt, changedAt, usedAt }: SecretInfo): string {
  const bound = kind === 'provider' ? 'in the broker' : hosts.length === 0 ? 'released' : hosts.join(', ');
  const used = usedAt === null ? 'never used' : `used ${dayOf(usedAt)}`;
  const changed = version === 1 ? '' : `, version ${version} ${dayOf(changedAt)}`;
  return `${kind.padEnd(8)}  ${visibleLine(bound)}  created ${dayOf(createdAt)}${changed}, ${used}`;
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 16).replace('T', ' ');
}

function toJson({ name, kind, hosts, version, createdAt, changedAt, usedAt }: SecretInfo): object {
  const iso = (ms: number) => new Date(ms).toISOString();
  return {
    name,
    class: kind,
    hosts,
    version,
    created: iso(createdAt),
    changed: iso(changedAt),
    last_used: usedAt === null ? null : iso(usedAt),
  };
}
