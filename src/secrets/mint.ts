import { randomBytes } from 'node:crypto';
import type { AuditEvent, Caller } from '../audit/index.ts';
import { SkillboxError } from '../base/index.ts';
import type { Auth, Brief, BrokerLimits, CustomSecret, Endpoint } from '../broker/index.ts';
import { type Capability, knownAmong, requireWhole, resolveCapabilities } from './capabilities.ts';
import type { Providers } from './catalog.ts';
import { MIN_SCRUBBED_BYTES } from './names.ts';
import type { AuthForm, Provider, ProviderEndpoint } from './provider.ts';
import type { NamedValue } from './redact.ts';
import type { Tokens } from './token.ts';
import type { OpenSecret, Vault } from './vault.ts';

/** After the run's own time: its last request may still be on its way. */
const GRACE_MS = 30_000;

export const DEFAULT_BROKER_LIMITS: BrokerLimits = {
  requestBytes: 32 * 1024 ** 2,
  responseBytes: 256 * 1024 ** 2,
  timeMs: 600_000,
  concurrent: 32,
};

export type MintRequest = {
  /** For whom: what is lent is the tenant's own. */
  caller: Caller;
  run: string;
  skill: { name: string; digest: string };
  /** What the skill's manifest asks for. */
  declared: readonly string[];
  /** What policy, and where needed a person, said yes to. */
  granted: readonly string[];
  /** Plain egress that was granted besides. */
  hosts: readonly string[];
  timeoutMs: number;
};

export type Minted = {
  /** For the run alone; it is kept nowhere. */
  token: string;
  /** For the broker of the run alone: it holds values. */
  brief: Brief;
  /** For the redactor: every value that the run or its broker gets. */
  values: NamedValue[];
  warnings: string[];
};

export type Mint = {
  vaultOf: (tenant: string | null) => Vault;
  providers: Providers;
  tokens: Tokens;
  limits: BrokerLimits;
  record: (event: AuditEvent) => Promise<void>;
};

/**
 * SK-05, SK-06: a token for exactly what was declared and granted, with the brief for the broker that will hold it to that. Or an error,
 * and then the run does not start: nothing is left out in silence. What is handed out is in the journal before it is.
 */
export async function mintToken(mint: Mint, request: MintRequest): Promise<Minted> {
  try {
    return await mintWhole(mint, request);
  } catch (error) {
    const known = error instanceof SkillboxError ? error : null;
    const capability = known?.details.capability;
    await mint.record(
      about(request, 'token.refused', {
        skill: request.skill,
        capability: typeof capability === 'string' ? capability : null,
        reason: known?.code ?? 'INTERNAL',
      }),
    );
    throw error;
  }
}

async function mintWhole(mint: Mint, request: MintRequest): Promise<Minted> {
  const { caller, run, skill, declared, granted, hosts, timeoutMs } = request;
  const vault = mint.vaultOf(caller.tenant);
  requireWhole(declared, granted);
  const { capabilities, warnings } = resolveCapabilities(granted, mint.providers.list());
  const secrets = await openAll(vault, capabilities);
  try {
    const endpoints = capabilities.flatMap(each => (each.kind === 'endpoint' ? toEndpoints(each, secrets) : []));
    const customs = capabilities.flatMap(each => (each.kind === 'custom' ? [toCustom(each, secrets)] : []));
    const expiresAt = Date.now() + timeoutMs + GRACE_MS;
    const { token, record } = mint.tokens.issue(run, skill.digest, expiresAt);
    try {
      await mint.record(mintedEvent(request, capabilities, expiresAt));
      await vault.markUsed([...secrets.keys()]);
    } catch (error) {
      mint.tokens.revoke(run);
      throw error;
    }
    const brief: Brief = {
      run,
      skill,
      tokenHash: record.hash,
      expiresAt,
      endpoints,
      customs,
      hosts: [...hosts],
      limits: mint.limits,
    };
    const values = [...secrets.values()].map(({ name, value }) => ({ name, value: value.toString('utf8') }));
    return { token, brief, values: [...values, { name: 'token', value: token }], warnings };
  } finally {
    for (const secret of secrets.values()) secret.close();
  }
}

/** Of what these capabilities need, the secrets that are not set. Nothing is opened; an unknown capability is told when it is minted. */
export async function listUnset(mint: Mint, { tenant }: Caller, wanted: readonly string[]): Promise<string[]> {
  const vault = mint.vaultOf(tenant);
  const names = new Set(knownAmong(wanted, mint.providers.list()).map(secretOf));
  const found = await Promise.all([...names].map(async name => ({ name, info: await vault.get(name) })));
  return found.filter(({ info }) => info === null).map(({ name }) => name);
}

/** Ends a token before its time, or with its run. */
export async function revokeToken(mint: Mint, run: string, { tenant, actor }: Caller): Promise<void> {
  if (!mint.tokens.revoke(run)) return;
  await mint.record({ type: 'token.revoked', actor, tenant, subject: run, data: {} });
}

/** By name in the vault; all of them or none. */
async function openAll(vault: Vault, capabilities: readonly Capability[]): Promise<Map<string, OpenSecret>> {
  const opened = new Map<string, OpenSecret>();
  /** Names of secrets, with the capability that needs each: told all at once, so that nobody meets them one by one. */
  const missing = new Map<string, string>();
  try {
    for (const capability of capabilities) {
      const name = secretOf(capability);
      if (opened.has(name)) continue;
      const secret = await vault.open(name);
      if (secret === null) {
        if (!missing.has(name)) missing.set(name, capability.name);
        continue;
      }
      opened.set(name, secret);
      requireLength(secret, capability.name);
    }
    if (missing.size > 0) throw notSet(missing);
    return opened;
  } catch (error) {
    for (const secret of opened.values()) secret.close();
    throw error;
  }
}

/** What it is called in the vault. */
function secretOf(capability: Capability): string {
  return capability.kind === 'custom' ? capability.name : capability.provider.name;
}

function notSet(missing: ReadonlyMap<string, string>): SkillboxError {
  const [[secret, capability] = ['', '']] = missing;
  const names = [...missing].map(([name, needed]) => (name === needed ? name : `${name} (for ${needed})`)).join(', ');
  const several = missing.size > 1;
  return new SkillboxError('SECRET_MISSING', `${several ? 'secrets are' : 'a secret is'} not set: ${names}`, {
    hint: several ? 'Store each with `skillbox secret set NAME`.' : `Store it with \`skillbox secret set ${secret}\`.`,
    details: { capability, secret },
  });
}

/** A value so short is found in innocent text all the time: it could not be taken out of logs and answers. */
function requireLength({ name, value }: OpenSecret, capability: string): void {
  if (value.length >= MIN_SCRUBBED_BYTES) return;
  const message = `the secret ${name} has less than ${MIN_SCRUBBED_BYTES} bytes, too few to be scrubbed from what a run prints`;
  throw new SkillboxError('SECRET_INVALID', message, {
    hint: `Give it a longer value with \`skillbox secret rotate ${name}\`.`,
    details: { capability, secret: name },
  });
}

function toEndpoints(
  { name: capability, provider, endpoint }: { name: string; provider: Provider; endpoint: ProviderEndpoint },
  secrets: ReadonlyMap<string, OpenSecret>,
): Endpoint[] {
  const { name, scheme, host, port, allowPrivate } = provider;
  const auth = toAuth(provider.auth, secretValue(secrets, name));
  const { limits } = endpoint;
  return endpoint.requests.map(({ methods, path }) => ({
    capability,
    provider: name,
    scheme,
    host,
    port,
    methods: [...methods],
    path,
    auth,
    limits,
    allowPrivate,
  }));
}

function toAuth(form: AuthForm, value: string): Auth {
  return { ...form, value };
}

/** SK-10: bound to hosts, the run sees a placeholder of its own instead of the value. */
function toCustom(
  { name, key }: { name: string; key: string },
  secrets: ReadonlyMap<string, OpenSecret>,
): CustomSecret {
  const hosts = secrets.get(name)?.hosts ?? [];
  const placeholder = hosts.length === 0 ? null : `sbp_${randomBytes(16).toString('hex')}`;
  return { key, value: secretValue(secrets, name), hosts, placeholder };
}

function secretValue(secrets: ReadonlyMap<string, OpenSecret>, name: string): string {
  const secret = secrets.get(name);
  if (secret === undefined) throw new SkillboxError('INTERNAL', `the secret ${name} was not opened`);
  return secret.value.toString('utf8');
}

function mintedEvent(request: MintRequest, capabilities: readonly Capability[], expires: number): AuditEvent {
  const carriers = capabilities.filter(each => each.kind === 'endpoint' && each.endpoint.carriesOut);
  return about(request, 'token.minted', {
    skill: request.skill,
    capabilities: capabilities.map(({ name }) => name),
    carriesOut: carriers.map(({ name }) => name),
    expires,
  });
}

function about({ run, caller }: MintRequest, type: AuditEvent['type'], data: AuditEvent['data']): AuditEvent {
  return { type, ...caller, subject: run, data };
}
