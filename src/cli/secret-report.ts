import { isNeverReached, MIN_SCRUBBED_BYTES, refusedHosts, type Skillbox } from '../app.ts';
import { EXIT, SkillboxError, visibleLine } from '../base/index.ts';
import type { Config } from '../config/index.ts';
import type { SecretInfo } from '../service/index.ts';
import { columns, type Input } from './command.ts';
import type { Io } from './io.ts';

/** What `skillbox secret` reads and prints, of secrets on this machine and on a server alike. */

export function showSecrets(secrets: readonly SecretInfo[], input: Input, io: Io): number {
  if (input.flag('json')) io.out(`${JSON.stringify({ secrets: secrets.map(toJson) }, null, 2)}\n`);
  else if (secrets.length === 0) io.err('There are no secrets yet; see `skillbox secret set --help`.\n');
  else {
    const width = Math.max(...secrets.map(each => placeOf(each).length));
    io.out(`${columns(secrets.map(each => [each.name, rowOf(each, width)])).join('\n')}\n`);
  }
  return EXIT.ok;
}

export function showRemoved(name: string, input: Input, io: Io): number {
  io.out(input.flag('json') ? `${JSON.stringify({ removed: name })}\n` : `removed ${name}\n`);
  return EXIT.ok;
}

export function requireClass(name: string, wanted: string | null): void {
  const found = name.startsWith('custom/') ? 'custom' : 'provider';
  if (wanted === null || wanted === found) return;
  throw new SkillboxError('SECRET_INVALID', `by its name it is a ${found} secret, not a ${wanted} one`, {
    hint: 'Custom secrets are called custom/KEY, the key of a provider like the provider.',
  });
}

/** null: as they were, or as the providers' data says. */
export function hostsOf(input: Input): string[] | null {
  const hosts = input.values('host');
  if (hosts.length > 0 && input.flag('unbound'))
    throw new SkillboxError('USAGE', '--host and --unbound exclude each other');
  return hosts.length > 0 ? hosts : input.flag('unbound') ? [] : null;
}

/** Hosts of a custom secret that nothing will be sent to, as far as that shows. */
export function refusedHere({ kind, hosts }: SecretInfo, { providers }: Skillbox, config: Config): string[] {
  if (kind !== 'custom' || hosts.length === 0) return [];
  const own = providers.list().filter(({ allowPrivate }) => allowPrivate);
  return refusedHosts(hosts, [...config.get('broker.pins'), ...own]);
}

/** The same on a server, whose pins and networks are not known here. */
export function refusedThere({ kind, hosts }: SecretInfo): string[] {
  return kind === 'custom' ? refusedHosts(hosts, [], []) : [];
}

export function report(stored: SecretInfo, length: number, refused: readonly string[], input: Input, io: Io): void {
  const isShort = length < MIN_SCRUBBED_BYTES;
  if (isShort) {
    io.err(
      `${io.paint('yellow', 'warning')}: a value of less than ${MIN_SCRUBBED_BYTES} bytes cannot be scrubbed from what a run prints; runs that need it will not start\n`,
    );
  }
  const never = refused.filter(isNeverReached);
  const inside = refused.filter(host => !never.includes(host));
  if (inside.length > 0) {
    io.err(
      `${io.paint('yellow', 'note')}: the broker sends nothing into private networks, and so not to ${visibleLine(inside.join(', '))}, unless the operator says where that is (broker.pins)\n`,
    );
  }
  if (never.length > 0) {
    io.err(
      `${io.paint('yellow', 'note')}: the broker sends nothing to link-local and other special addresses, and so not to ${visibleLine(never.join(', '))}; no setting opens them\n`,
    );
  }
  if (input.flag('json')) io.out(`${JSON.stringify({ stored: toJson(stored) }, null, 2)}\n`);
  else {
    const what = isShort ? 'too short for any run' : whatHappens(stored);
    io.out(`${io.paint('green', '✔')} ${stored.name} is stored, version ${stored.version}: ${what}\n`);
  }
}

function whatHappens({ kind, hosts }: SecretInfo): string {
  if (kind === 'provider') return 'the broker puts it into requests; no skill gets it';
  if (hosts.length > 0) return `the broker puts it into requests to ${hosts.join(', ')}; no skill gets it`;
  return 'skills that declare it and are granted it get the value; bind it with --host if you can';
}

/** Where its value goes. */
function placeOf({ kind, hosts }: SecretInfo): string {
  if (kind === 'provider') return 'in the broker';
  return hosts.length === 0 ? 'to skills' : visibleLine(hosts.join(', '));
}

function rowOf(secret: SecretInfo, width: number): string {
  const { kind, version, createdAt, changedAt, usedAt } = secret;
  const used = usedAt === null ? 'never used' : `used ${dayOf(usedAt)}`;
  const changed = version === 1 ? '' : `, version ${version} since ${dayOf(changedAt)}`;
  return `${kind.padEnd(8)}  ${placeOf(secret).padEnd(width)}  created ${dayOf(createdAt)}${changed}, ${used}`;
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
