import { createHash, randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Actor, AuditEvent } from '../audit/index.ts';
import { errnoOf, makePrivate, SkillboxError, suggest, visibleLine } from '../base/index.ts';
import { PROVIDER_NAME } from './names.ts';
import type { Provider } from './provider.ts';
import { SHIPPED_PROVIDERS } from './providers/index.ts';
import { MAX_PROVIDER_BYTES, readProvider } from './read-provider.ts';

/** `operator`: from a file that was added on this machine. */
export type KnownProvider = Provider & { origin: 'shipped' | 'operator' };

export interface Providers {
  /** By name. PROVIDER_INVALID when a file of the operator's cannot be read: nothing is granted on half of the data. */
  list(): KnownProvider[];
  get(name: string): KnownProvider | null;
  /** Checks the file and keeps a copy of it; a provider of the operator's with that name is replaced. */
  add(path: string, by: Actor): Promise<KnownProvider>;
  remove(name: string, by: Actor): Promise<void>;
}

export type ProvidersOptions = { dataDirectory: string; record: (event: AuditEvent) => Promise<void> };

const SUFFIX = '.provider';

/** SK-08: the shipped providers, and those that the operator added. */
export function openProviders({ dataDirectory, record }: ProvidersOptions): Providers {
  const directory = directoryOf(dataDirectory);
  const list = (): KnownProvider[] => {
    const own = readOwn(directory);
    const shipped = SHIPPED_PROVIDERS.map(provider => ({ ...provider, origin: 'shipped' as const }));
    return [...shipped, ...own].sort((a, b) => (a.name < b.name ? -1 : 1));
  };
  return {
    list,
    get: name => list().find(provider => provider.name === name) ?? null,
    async add(path, by) {
      const text = readText(path);
      const provider = requireProvider(text, path);
      if (isShipped(provider.name)) {
        throw new SkillboxError('PROVIDER_INVALID', `${provider.name} is a provider that Skillbox ships`, {
          hint: `Choose another name, such as ${provider.name}-own: skills then ask for that one.`,
        });
      }
      const taken = shippedCustom(provider);
      if (taken !== null) {
        throw new SkillboxError('PROVIDER_INVALID', `${taken}: Skillbox ships the hosts of that secret`, {
          hint: 'Choose another name for it, or say the hosts by hand: skillbox secret set NAME --host HOST.',
        });
      }
      await record({
        type: 'provider.added',
        actor: by,
        tenant: null,
        subject: provider.name,
        data: {
          sha256: createHash('sha256').update(text).digest('hex'),
          capabilities: provider.endpoints.map(({ name }) => `${provider.name}/${name}`),
          hosts: [`${provider.scheme}://${provider.host}:${provider.port}`],
        },
      });
      keep(directory, provider.name, text);
      return { ...provider, origin: 'operator' };
    },
    async remove(name, by) {
      if (isShipped(name)) {
        throw new SkillboxError('USAGE', `${name} is shipped with Skillbox and cannot be removed`, {
          hint: 'Without its key nothing can be done with it: skillbox secret remove.',
        });
      }
      const path = join(directory, `${name}${SUFFIX}`);
      if (!PROVIDER_NAME.test(name) || statSync(path, { throwIfNoEntry: false }) === undefined) {
        throw noProvider(name, list());
      }
      await record({ type: 'provider.removed', actor: by, tenant: null, subject: name, data: {} });
      rmSync(path, { force: true });
    },
  };
}

/** For lint, which looks and opens nothing else. */
export function readOwnCapabilities(dataDirectory: string): string[] {
  return capabilitiesOf(readOwn(directoryOf(dataDirectory)));
}

function directoryOf(dataDirectory: string): string {
  return join(dataDirectory, 'providers');
}

/** Every capability by its whole name. */
export function capabilitiesOf(providers: readonly Provider[]): string[] {
  return providers.flatMap(({ name, endpoints }) => endpoints.map(endpoint => `${name}/${endpoint.name}`));
}

export function noProvider(name: string, providers: readonly Provider[]): SkillboxError {
  const meant = suggest(
    name,
    providers.map(each => each.name),
  );
  return new SkillboxError('NOT_FOUND', `there is no provider "${visibleLine(name, 80)}"`, {
    hint: `${meant === null ? '' : `Did you mean ${meant}? `}\`skillbox provider list\` shows them.`,
  });
}

/** The hosts that a custom secret belongs to by the providers' data; empty when nobody knows it. */
export function knownHosts(providers: readonly Provider[], customKey: string): string[] {
  const found = providers.flatMap(({ customs }) => customs.filter(({ key }) => key === customKey));
  return [...new Set(found.flatMap(({ hosts }) => hosts))];
}

function isShipped(name: string): boolean {
  return SHIPPED_PROVIDERS.some(provider => provider.name === name);
}

/** Threat: another host for a secret that is shipped with its own, by a file that seems to be about something else. */
function shippedCustom({ customs }: Provider): string | null {
  const shipped = SHIPPED_PROVIDERS.flatMap(each => each.customs.map(({ key }) => key));
  const taken = customs.find(({ key }) => shipped.includes(key));
  return taken === undefined ? null : `custom/${taken.key}`;
}

function readOwn(directory: string): KnownProvider[] {
  let names: string[];
  try {
    names = readdirSync(directory).filter(name => name.endsWith(SUFFIX));
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return [];
    throw error;
  }
  return names.map(file => {
    const path = join(directory, file);
    const name = file.slice(0, -SUFFIX.length);
    const provider = requireProvider(
      readText(path),
      path,
      `Add ${name} anew with \`skillbox provider add\`, or remove it: skillbox provider remove ${name}.`,
    );
    // A copy under another name would be a second provider with the first one's key.
    if (provider.name !== name || isShipped(name)) {
      throw new SkillboxError('PROVIDER_INVALID', `${path} holds the provider ${provider.name}`, {
        hint: 'Remove the file, and add the provider with `skillbox provider add`.',
      });
    }
    const taken = shippedCustom(provider);
    if (taken !== null) {
      throw new SkillboxError('PROVIDER_INVALID', `${path} gives ${taken} hosts, which Skillbox ships`, {
        hint: `Add ${name} anew without it, or remove it: skillbox provider remove ${name}.`,
      });
    }
    return { ...provider, origin: 'operator' };
  });
}

/** `hint`: instead of what is to be corrected, where the file is not the operator's to edit. */
function requireProvider(text: string, path: string, hint: string | null = null): Provider {
  const { provider, diagnostics } = readProvider(text, path);
  if (provider !== null) return provider;
  const [first] = diagnostics;
  const place = first === undefined ? path : `${first.file}:${first.line}:${first.column}`;
  throw new SkillboxError('PROVIDER_INVALID', `${place}: ${first?.message ?? 'it cannot be read'}`, {
    ...(first === undefined && hint === null ? {} : { hint: hint ?? first?.hint ?? '' }),
    details: { diagnostics },
  });
}

function readText(path: string): string {
  try {
    const stats = statSync(path);
    if (!stats.isFile() || stats.size > MAX_PROVIDER_BYTES) {
      throw new SkillboxError('PROVIDER_INVALID', `${path} is no file of at most ${MAX_PROVIDER_BYTES} bytes`);
    }
    return readFileSync(path, 'utf8');
  } catch (cause) {
    if (cause instanceof SkillboxError) throw cause;
    throw new SkillboxError('NOT_FOUND', `cannot read ${path} (${errnoOf(cause) ?? 'unknown'})`, { cause });
  }
}

function keep(directory: string, name: string, text: string): void {
  const aside = join(directory, `.${randomUUID()}.part`);
  try {
    makePrivate(directory);
    writeFileSync(aside, text, { mode: 0o600, flag: 'wx', flush: true });
    renameSync(aside, join(directory, `${name}${SUFFIX}`));
  } catch (cause) {
    rmSync(aside, { force: true });
    throw new SkillboxError('UNWRITABLE', `cannot keep the provider in ${directory}`, { cause });
  }
}
