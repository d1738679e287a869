import { SkillboxError } from '../base/index.ts';
import type { Scope, WhoAmI } from '../service/index.ts';
import { toScopes } from './identity.ts';

/** Whose tokens are taken, and what they stand for. */
export type OidcSettings = {
  issuer: string;
  audience: string;
  /** Where the issuer's keys are; null: as its own configuration says. */
  jwksUrl: string | null;
  /** Only of asymmetric keys: with a shared one whoever checks a token could make one. */
  algorithms: readonly string[];
  /** The claim that names the tenant. */
  tenantClaim: string;
  /** The claim that holds words, as a list or with blanks between them. */
  scopesClaim: string;
  /** What a word gives. null: scopes are called by their own names. */
  grants: Readonly<Record<string, readonly Scope[]>> | null;
};

const PERSON = 'oidc:';

/** Whether an id is that of somebody whom an issuer vouches for. */
export function isPerson(id: string): boolean {
  return id.startsWith(PERSON);
}

export interface Oidc {
  /** The person; a token that is not for us, or gives no access here, is refused. */
  verify(token: string): Promise<WhoAmI>;
}

const ASYMMETRIC = /^(?:RS|PS|ES)(?:256|384|512)$|^EdDSA$/;
const SKEW_SECONDS = 30;
const FETCH_MS = 5000;
const COOLDOWN_MS = 30_000;
const MAX_AGE_MS = 600_000;
const MAX_CONFIGURATION_BYTES = 256 * 1024;
const MAX_TOKEN = 8192;

/** The library is loaded, and the issuer asked, when the first token comes. */
export function openOidc(settings: OidcSettings): Oidc {
  const wrong = settings.algorithms.find(name => !ASYMMETRIC.test(name));
  if (wrong !== undefined || settings.algorithms.length === 0)
    throw new SkillboxError('CONFIG_INVALID', `tokens signed with "${wrong ?? 'nothing'}" cannot be taken`, {
      hint: 'Name algorithms of asymmetric keys: RS256, PS256, ES256, EdDSA.',
    });
  requireSafe(settings.issuer);
  if (settings.jwksUrl !== null) requireSafe(settings.jwksUrl);
  let keys: Promise<KeySet> | null = null;
  const keySet = () => {
    keys ??= openKeys(settings).catch((error: unknown) => {
      keys = null; // the next token tries again
      throw error;
    });
    return keys;
  };
  return {
    async verify(token) {
      // A token has three parts. What is none is not worth asking the issuer for.
      if (token.length > MAX_TOKEN || token.split('.').length !== 3) throw refused('this key is not known');
      return toPerson(await readClaims(token, settings, await keySet()), settings);
    },
  };
}

type KeySet = ReturnType<typeof import('jose')['createRemoteJWKSet']>;
type Claims = Record<string, unknown>;

async function openKeys({ issuer, jwksUrl }: OidcSettings): Promise<KeySet> {
  const { createRemoteJWKSet } = await import('jose');
  const url = jwksUrl ?? (await discover(issuer));
  return createRemoteJWKSet(new URL(url), {
    timeoutDuration: FETCH_MS,
    cooldownDuration: COOLDOWN_MS,
    cacheMaxAge: MAX_AGE_MS,
  });
}

async function readClaims(token: string, settings: OidcSettings, keys: KeySet): Promise<Claims> {
  const { jwtVerify, errors } = await import('jose');
  try {
    const { payload } = await jwtVerify(token, keys, {
      issuer: settings.issuer,
      audience: settings.audience,
      algorithms: [...settings.algorithms],
      clockTolerance: SKEW_SECONDS,
      requiredClaims: ['exp', 'sub'],
    });
    return payload;
  } catch (cause) {
    if (cause instanceof errors.JWKSTimeout || !(cause instanceof errors.JOSEError)) throw silent(cause);
    if (cause instanceof errors.JWTExpired)
      throw new SkillboxError('UNAUTHENTICATED', 'this token has expired', { cause });
    throw new SkillboxError('UNAUTHENTICATED', 'this token is not from our issuer, not for us, or altered', { cause });
  }
}

/** Absent means no access: a claim that is missing, or gives nothing, lets nobody in. */
function toPerson(claims: Claims, { tenantClaim, scopesClaim, grants }: OidcSettings): WhoAmI {
  const { sub, exp } = claims;
  const tenant = Object.hasOwn(claims, tenantClaim) ? claims[tenantClaim] : null;
  if (typeof sub !== 'string' || !/^[\x21-\x7e]{1,200}$/.test(sub)) throw refused('this token names nobody');
  if (typeof tenant !== 'string' || tenant === '')
    throw refused(`this token has no tenant in its claim ${tenantClaim}`);
  const words = wordsOf(Object.hasOwn(claims, scopesClaim) ? claims[scopesClaim] : null);
  const given: string[] = words.flatMap((word): readonly string[] =>
    grants === null ? [word] : grantOf(grants, word),
  );
  const scopes = toScopes(given);
  if (scopes.length === 0) throw refused(`this token gives no scope in its claim ${scopesClaim}`);
  return { tenant, id: `${PERSON}${sub}`, scopes, expiresAt: Number(exp) * 1000 };
}

/** A word such as `constructor` stands in nobody's configuration. */
function grantOf(grants: NonNullable<OidcSettings['grants']>, word: string): readonly Scope[] {
  return Object.hasOwn(grants, word) ? (grants[word] ?? []) : [];
}

function wordsOf(claim: unknown): string[] {
  if (typeof claim === 'string') return claim.split(/\s+/);
  return Array.isArray(claim) ? claim.filter(word => typeof word === 'string') : [];
}

/** What the issuer says of itself must name the same issuer. */
async function discover(issuer: string): Promise<string> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(FETCH_MS), redirect: 'error' });
    if (!answer.ok) throw new Error(`the answer is ${answer.status}`);
    const text = await readShort(answer);
    const said = JSON.parse(text) as { issuer?: unknown; jwks_uri?: unknown };
    if (said.issuer !== issuer || typeof said.jwks_uri !== 'string')
      throw new Error('it names another issuer, or no keys');
    requireSafe(said.jwks_uri);
    return said.jwks_uri;
  } catch (cause) {
    throw silent(cause);
  }
}

async function readShort(answer: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of answer.body ?? []) {
    length += part.length;
    if (length > MAX_CONFIGURATION_BYTES) throw new Error('the answer is too long');
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

/** Threat: over plain HTTP whoever stands between gives us keys of their own. */
function requireSafe(address: string): void {
  const { protocol, hostname } = URL.parse(address) ?? { protocol: '', hostname: '' };
  const loopback = ['localhost', '127.0.0.1', '[::1]'].includes(hostname);
  if (protocol === 'https:' || (protocol === 'http:' && loopback)) return;
  throw new SkillboxError('CONFIG_INVALID', `the issuer's address ${address.slice(0, 200)} is not https`, {
    hint: 'Plain http is for loopback only.',
  });
}

function refused(message: string): SkillboxError {
  return new SkillboxError('UNAUTHENTICATED', message);
}

/** The issuer cannot be asked: nobody is let in, and it is not the caller's fault. */
function silent(cause: unknown): SkillboxError {
  return new SkillboxError('BACKEND_UNAVAILABLE', `the issuer of tokens does not answer: ${String(cause)}`, { cause });
}
