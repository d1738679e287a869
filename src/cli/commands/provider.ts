import { resolve } from 'node:path';
import { type KnownProvider, localActor, noProvider, type ProviderDiagnostic } from '../../app.ts';
import { EXIT, SkillboxError, visible, visibleLine } from '../../base/index.ts';
import { type Argument, type Command, columns, type Option } from '../command.ts';
import { withSkillbox } from '../connect.ts';
import type { Io } from '../io.ts';

const NAME: Argument = {
  name: 'NAME',
  help: 'a provider, as `skillbox provider list` shows it',
  required: true,
  many: false,
};
const JSON_OPTION: Option = { help: 'print one JSON document' };

export const providerList: Command = {
  name: 'provider list',
  summary: 'List the providers, where they are, and whether their key is set.',
  args: [],
  options: { json: JSON_OPTION },
  examples: [],
  run: (input, io) =>
    withSkillbox(io, async skillbox => {
      const set = new Set((await skillbox.secrets.list()).map(({ name }) => name));
      const providers = skillbox.providers.list();
      if (input.flag('json')) {
        const rows = providers.map(each => ({ ...toJson(each), key: set.has(each.name) ? 'set' : 'missing' }));
        io.out(`${JSON.stringify({ providers: rows }, null, 2)}\n`);
      } else {
        const rows = providers.map((each): [string, string] => [
          each.name,
          `${set.has(each.name) ? 'key set  ' : 'no key   '}${originOf(each)}  ${each.endpoints.map(({ name }) => name).join(' ')}`,
        ]);
        io.out(`${columns(rows).join('\n')}\n`);
      }
      return EXIT.ok;
    }),
};

export const providerShow: Command = {
  name: 'provider show',
  summary: 'Show what each capability of a provider stands for.',
  args: [NAME],
  options: { json: JSON_OPTION },
  examples: ['skillbox provider show anthropic'],
  run: (input, io) =>
    withSkillbox(io, async skillbox => {
      const name = input.args[0] ?? '';
      const provider = skillbox.providers.get(name);
      if (provider === null) {
        throw noProvider(name, skillbox.providers.list());
      }
      if (input.flag('json')) io.out(`${JSON.stringify(toJson(provider), null, 2)}\n`);
      else io.out(renderProvider(provider));
      return EXIT.ok;
    }),
};

export const providerAdd: Command = {
  name: 'provider add',
  summary: 'Add a provider of your own from a YAML or JSON file, or replace it.',
  args: [{ name: 'FILE', help: 'its data; docs/secrets.md shows the form', required: true, many: false }],
  options: { json: JSON_OPTION },
  examples: ['skillbox provider add acme.yaml'],
  run: (input, io) =>
    withSkillbox(io, async skillbox => {
      const before = skillbox.providers.list();
      const json = input.flag('json');
      let provider: KnownProvider;
      try {
        provider = await skillbox.providers.add(resolve(io.cwd, input.args[0] ?? ''), localActor());
      } catch (error) {
        if (json || !(error instanceof SkillboxError) || error.code !== 'PROVIDER_INVALID') throw error;
        return tellFaults(error, io);
      }
      if (json) io.out(`${JSON.stringify({ added: toJson(provider) }, null, 2)}\n`);
      else {
        const known = before.find(({ name }) => name === provider.name);
        io.out(
          `${io.paint('green', '✔')} ${known === undefined ? 'added' : 'replaced'} ${provider.name}\n${renderProvider(provider)}`,
        );
        if (known !== undefined && originOf(known) !== originOf(provider))
          io.err(
            `${io.paint('yellow', 'note')}: its key goes to ${originOf(provider)} now, no longer to ${originOf(known)}\n`,
          );
        if ((await skillbox.secrets.get(provider.name)) === null)
          io.err(`Store its key with: skillbox secret set ${provider.name}\n`);
      }
      return EXIT.ok;
    }),
};

/** All of them at once, as lint does; JSON has them in the details of the error. */
function tellFaults(error: SkillboxError, io: Io): number {
  const { diagnostics = [] } = error.details as { diagnostics?: ProviderDiagnostic[] };
  if (diagnostics.length === 0) throw error;
  for (const { file, line, column, message, hint } of diagnostics)
    io.err(`${io.paint('red', 'error')}: ${visible(`${file}:${line}:${column}: ${message}\n  ${hint}`)}\n`);
  return error.exit;
}

export const providerTest: Command = {
  name: 'provider test',
  summary:
    'Check that a provider can be used: its data and its key. No network unless asked for, and the key is never sent.',
  args: [NAME],
  options: { online: { help: 'also reach its host' }, json: JSON_OPTION },
  examples: ['skillbox provider test anthropic', 'skillbox provider test acme --online'],
  run: (input, io) =>
    withSkillbox(io, async skillbox => {
      const checked = await skillbox.providers.test(input.args[0] ?? '', input.flag('online'));
      const ok = checked.every(({ fault }) => fault === null);
      if (input.flag('json')) io.out(`${JSON.stringify({ ok, checked }, null, 2)}\n`);
      else {
        for (const { what, fault } of checked) {
          const mark = fault === null ? io.paint('green', '✔') : io.paint('red', '✖');
          io.out(`${mark} ${what}${fault === null ? '' : `: ${visibleLine(fault, 300)}`}\n`);
        }
      }
      return ok ? EXIT.ok : EXIT.failed;
    }),
};

export const providerRemove: Command = {
  name: 'provider remove',
  summary: 'Remove a provider of your own. Its key stays until `skillbox secret remove`.',
  args: [NAME],
  options: { json: JSON_OPTION },
  examples: ['skillbox provider remove acme'],
  run: (input, io) =>
    withSkillbox(io, async skillbox => {
      const name = input.args[0] ?? '';
      await skillbox.providers.remove(name, localActor());
      io.out(input.flag('json') ? `${JSON.stringify({ removed: name })}\n` : `removed ${name}\n`);
      if (!input.flag('json') && (await skillbox.secrets.get(name)) !== null)
        io.err(`Its key is kept; remove it with: skillbox secret remove ${name}\n`);
      return EXIT.ok;
    }),
};

function originOf({ scheme, host, port }: KnownProvider): string {
  const usual = port === (scheme === 'https' ? 443 : 80);
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}${usual ? '' : `:${port}`}`;
}

function renderProvider(provider: KnownProvider): string {
  const { name, title, auth, allowPrivate, origin, endpoints, customs } = provider;
  const place = `${originOf(provider)}${allowPrivate ? ', may be private' : ''}`;
  const form = 'name' in auth ? `${auth.form} ${auth.name}` : 'user' in auth ? `${auth.form} ${auth.user}` : auth.form;
  const lines = [`${name}: ${visibleLine(title)} (${origin})`, `  ${place}, key by ${form}`];
  for (const endpoint of endpoints) {
    lines.push(
      `  ${name}/${endpoint.name}: ${visibleLine(endpoint.what)}${endpoint.carriesOut ? '; others can read it' : ''}`,
    );
    for (const { methods, path } of endpoint.requests) lines.push(`    ${methods.join(',')} ${path}`);
    const limits = Object.entries(endpoint.limits).filter(([, most]) => most !== null);
    if (limits.length > 0)
      lines.push(`    at most ${limits.map(([what, most]) => `${most} ${what}`).join(', ')} a run`);
  }
  for (const { key, hosts } of customs) lines.push(`  custom/${key}: bound to ${hosts.join(', ')}`);
  return `${lines.join('\n')}\n`;
}

function toJson(provider: KnownProvider): object {
  const { name, title, origin, auth, allowPrivate, endpoints, customs } = provider;
  return {
    name,
    title,
    origin,
    url: originOf(provider),
    private: allowPrivate,
    auth,
    capabilities: endpoints.map(endpoint => ({
      name: `${name}/${endpoint.name}`,
      what: endpoint.what,
      carries_out: endpoint.carriesOut,
      requests: endpoint.requests,
      limits: endpoint.limits,
    })),
    customs: customs.map(({ key, hosts }) => ({ name: `custom/${key}`, hosts })),
  };
}
