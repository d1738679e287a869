import { resolve } from 'node:path';
import { localActor, type RekeyWish, SECRET_KINDS } from '../../app.ts';
import { EXIT, SkillboxError, visibleLine } from '../../base/index.ts';
import type { Config } from '../../config/index.ts';
import type { Argument, Command, Input, Option } from '../command.ts';
import { withSkillbox } from '../connect.ts';
import type { Io } from '../io.ts';
import { orOnServer, SERVER_OPTION } from '../on-server.ts';
import { hostsOf, refusedHere, report, requireClass, showRemoved, showSecrets } from '../secret-report.ts';
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
    ...SERVER_OPTION,
    json: JSON_OPTION,
  },
  examples: [
    'skillbox secret set anthropic',
    'skillbox secret set custom/deploy-token --host deploy.example.com < token.txt',
  ],
  surplus: NOT_HERE,
  run: orOnServer(setHere, async () => (await import('../remote/secret.ts')).setThere),
};

function setHere(input: Input, io: Io, config: Config): Promise<number> {
  return withSkillbox(
    io,
    async skillbox => {
      const name = input.args[0] ?? '';
      skillbox.secrets.requireKnown(name);
      requireClass(name, input.value('class'));
      const value = await readSecretValue(input.value('from-file'), io);
      try {
        const stored = await skillbox.secrets.set(name, value, hostsOf(input), localActor());
        report(stored, value.length, refusedHere(stored, skillbox, config), input, io);
      } finally {
        value.fill(0);
      }
      return EXIT.ok;
    },
    { config },
  );
}

export const secretRotate: Command = {
  name: 'secret rotate',
  summary: 'Give a secret a new value. Runs that have begun keep the old one.',
  args: [NAME],
  options: { 'from-file': FROM_FILE, ...SERVER_OPTION, json: JSON_OPTION },
  examples: ['skillbox secret rotate anthropic'],
  surplus: NOT_HERE,
  run: orOnServer(rotateHere, async () => (await import('../remote/secret.ts')).rotateThere),
};

function rotateHere(input: Input, io: Io, config: Config): Promise<number> {
  return withSkillbox(
    io,
    async skillbox => {
      const name = input.args[0] ?? '';
      if ((await skillbox.secrets.get(name)) === null) {
        throw new SkillboxError('NOT_FOUND', 'there is no secret of that name', {
          hint: '`skillbox secret list` shows them; `skillbox secret set` stores a new one.',
        });
      }
      const value = await readSecretValue(input.value('from-file'), io);
      try {
        const stored = await skillbox.secrets.rotate(name, value, localActor());
        report(stored, value.length, refusedHere(stored, skillbox, config), input, io);
      } finally {
        value.fill(0);
      }
      return EXIT.ok;
    },
    { config },
  );
}

export const secretList: Command = {
  name: 'secret list',
  summary: 'List the secrets: names, classes, hosts and times, never values.',
  args: [],
  options: { ...SERVER_OPTION, json: JSON_OPTION },
  examples: [],
  run: orOnServer(
    (input, io, config) =>
      withSkillbox(io, async skillbox => showSecrets(await skillbox.secrets.list(), input, io), { config }),
    async () => (await import('../remote/secret.ts')).listThere,
  ),
};

export const secretRemove: Command = {
  name: 'secret remove',
  summary: 'Remove a secret.',
  args: [NAME],
  options: { ...SERVER_OPTION, json: JSON_OPTION },
  examples: ['skillbox secret remove custom/deploy-token'],
  surplus: 'one secret is removed at a time, and nothing but its name is said',
  run: orOnServer(
    (input, io, config) =>
      withSkillbox(
        io,
        async skillbox => {
          const name = input.args[0] ?? '';
          await skillbox.secrets.remove(name, localActor());
          return showRemoved(name, input, io);
        },
        { config },
      ),
    async () => (await import('../remote/secret.ts')).removeThere,
  ),
};

export const secretRekey: Command = {
  name: 'secret rekey',
  summary: 'Put all secrets under a new master key, all at once or not at all.',
  args: [],
  options: {
    'key-file': { help: 'the new key, made there if nothing is; needed where the key is not our own', value: 'FILE' },
    to: {
      help: 'move the key: own (a file in the data directory) or the keyring of the system',
      value: 'PLACE',
      choices: ['own', 'keyring'],
    },
    json: JSON_OPTION,
  },
  examples: [
    'skillbox secret rekey',
    'skillbox secret rekey --to keyring',
    'skillbox secret rekey --key-file /etc/skillbox/master.key',
  ],
  run: (input, io) =>
    withSkillbox(io, async skillbox => {
      const wish = wishOf(input, io);
      const count = await skillbox.secrets.rekey(wish, localActor());
      const keyFile = typeof wish === 'object' ? (wish?.file ?? null) : null;
      const to = typeof wish === 'string' ? wish : null;
      if (input.flag('json')) io.out(`${JSON.stringify({ rekeyed: count, keyFile, to })}\n`);
      else {
        io.out(`${count} ${count === 1 ? 'secret is' : 'secrets are'} under a new master key\n`);
        if (wish !== null) io.err(`${advise(wish)} from now on; the old key opens nothing.\n`);
      }
      return EXIT.ok;
    }),
};

function wishOf(input: Input, io: Io): RekeyWish {
  const [file, to] = [input.value('key-file'), input.value('to')];
  if (file !== null && to !== null) throw new SkillboxError('USAGE', '--key-file and --to say two places; choose one');
  return file === null ? (to as 'own' | 'keyring' | null) : { file: resolve(io.cwd, file) };
}

/** What must be set so that the key is looked for where it is now. */
function advise(wish: Exclude<RekeyWish, null>): string {
  if (wish === 'keyring') return 'Say secrets.keyring: yes (or SKILLBOX_SECRETS_KEYRING=yes) and name no other key';
  if (wish === 'own')
    return 'Set none of SKILLBOX_MASTER_KEY, SKILLBOX_MASTER_KEY_FILE and SKILLBOX_SECRETS_KEYRING (secrets.masterKey, secrets.keyring)';
  return `Set SKILLBOX_MASTER_KEY_FILE=${visibleLine(wish.file)}`;
}
