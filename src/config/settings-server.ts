import {
  choice,
  duration,
  grant,
  hostName,
  integer,
  keeping,
  listenAddress,
  network,
  origin,
  size,
  text,
  url,
  yesOrNo,
} from './kinds.ts';
import { list, one, optional } from './setting.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const KiB = 1024;
const MiB = 1024 ** 2;
const GiB = 1024 ** 3;

/** How `skillbox serve` listens, and to whom. */
export const SERVER_SETTINGS = {
  'server.host': one(listenAddress, {
    help: 'The address to listen on. One that others can reach needs `server.public` as well.',
    flag: 'host',
    fallback: '127.0.0.1',
  }),
  'server.port': one(integer(0, 65_535), {
    help: 'The port to listen on; 0 takes a free one.',
    flag: 'port',
    fallback: 8080,
  }),
  'server.public': one(yesOrNo, {
    help: 'Whether it may listen on an address that others can reach.',
    flag: 'public',
    fallback: false,
  }),
  'server.publicUrl': optional(url('http', 'https'), {
    help: 'The address that callers use, when a proxy stands in front; links are made with it.',
    fallbackText: 'where the server listens',
  }),
  'server.hosts': list(hostName, {
    help: 'Names that callers may use for the server in the Host header, besides loopback names and that of `server.publicUrl`.',
  }),
  'server.origins': list(origin, {
    help: "Web pages that may call the API from a browser, besides the server's own.",
  }),
  'server.proxies': list(network, {
    help: 'Proxies whose X-Forwarded-For and X-Forwarded-Proto are believed.',
  }),
  'server.bodyLimit': one(size(KiB, 64 * MiB), {
    help: 'The largest JSON body of a request.',
    fallback: 8 * MiB,
  }),
  'server.uploadLimit': one(size(KiB, 4 * GiB), {
    help: 'The largest skill that may be uploaded, packed.',
    fallback: 128 * MiB,
  }),
  'server.requestTimeout': one(duration(SECOND, HOUR), {
    help: 'How long a caller may take to send a request whole.',
    fallback: 5 * MINUTE,
  }),
  'server.keepAlive': one(duration(SECOND, HOUR), {
    help: 'How long an idle connection is kept. It should be longer than that of the proxy in front.',
    fallback: 72 * SECOND,
  }),
  'server.mcp': one(yesOrNo, {
    help: 'Whether agents are served at /mcp, with the same keys.',
    fallback: true,
  }),
  'server.followers': one(integer(1, 100_000), {
    help: 'How many event streams may be open at once.',
    fallback: 2000,
  }),
  'server.failuresPerMinute': one(integer(1, 10_000), {
    help: 'How many requests with a wrong key one address may send in a minute.',
    fallback: 30,
  }),
  'server.metrics': one(choice('open', 'admin', 'off'), {
    help: 'Who may read /metrics: everybody, keys with the scope admin, nobody.',
    fallback: 'admin' as 'open' | 'admin' | 'off',
  }),
  'server.logLevel': one(choice('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'), {
    help: 'The least severe lines that are logged.',
    fallback: 'info' as 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent',
  }),
  'server.linkLifetime': one(duration(SECOND, 7 * DAY), {
    help: 'How long a signed link to an artifact works.',
    fallback: 15 * MINUTE,
  }),
  'oidc.issuer': optional(url('https', 'http'), {
    help: 'Whose bearer tokens are taken besides API keys; http only on loopback.',
    fallbackText: 'none: API keys only',
  }),
  'oidc.audience': optional(text(), {
    help: 'The audience that a token must be for. Required with `oidc.issuer`.',
  }),
  'oidc.jwksUrl': optional(url('https', 'http'), {
    help: "Where the issuer's keys are.",
    fallbackText: "as the issuer's own configuration says",
  }),
  'oidc.algorithms': list(choice('RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'EdDSA'), {
    help: 'The signatures that are taken.',
    fallback: ['RS256', 'PS256', 'ES256', 'EdDSA'],
  }),
  'oidc.tenantClaim': one(text(100), { help: 'The claim that names the tenant.', fallback: 'tenant' }),
  'oidc.scopesClaim': one(text(100), { help: 'The claim that holds the scopes.', fallback: 'scope' }),
  'oidc.grants': list(grant, {
    help: 'What the words in that claim give, such as `developers=run`. Without any, its words are scopes by their own names.',
  }),
};

/** What tenants get, and how their runs are worked off. */
export const RUN_SETTINGS = {
  'quotas.running': one(integer(1, 10_000), {
    help: 'How many runs of one tenant may go on at once, unless the tenant has a quota of its own.',
    fallback: 16,
  }),
  'quotas.queued': one(integer(1, 1_000_000), {
    help: 'How many runs of one tenant may wait for their turn.',
    fallback: 1000,
  }),
  'quotas.storage': one(size(MiB, 1024 ** 5), {
    help: 'How much one tenant may keep: skills (as archives and unpacked), artifacts, logs, and requests that wait.',
    fallback: 10 * GiB,
  }),
  'quotas.requestsPerMinute': one(integer(1, 10_000_000), {
    help: 'How many requests one tenant may send in a minute.',
    fallback: 6000,
  }),
  'runs.slots': optional(integer(1, 1000), {
    help: 'How many runs this process works on at once.',
    fallbackText: 'two for each core',
  }),
  'runs.queueLimit': one(integer(1, 10_000_000), {
    help: 'How many runs of all tenants may wait for their turn.',
    fallback: 10_000,
  }),
  'runs.waitLimit': one(duration(SECOND, HOUR), {
    help: 'How long a synchronous request is held; a run that takes longer is answered with 202, and goes on.',
    fallback: 11 * MINUTE,
  }),
  'runs.attempts': one(integer(1, 100), {
    help: 'How often a run that had not begun is put back in the queue when its server dies.',
    fallback: 3,
  }),
  'runs.heartbeat': one(duration(100, MINUTE), {
    help: 'How often a server says that it lives, where several share a store.',
    fallback: 5 * SECOND,
  }),
  'runs.deadAfter': one(duration(SECOND, HOUR), {
    help: 'How long a server may be silent before its runs are taken from it.',
    fallback: 30 * SECOND,
  }),
  'runs.poll': one(duration(10, MINUTE), {
    help: 'How often the queue is looked at without being told of a new run.',
    fallback: 500,
  }),
  'runs.drainDeadline': one(duration(SECOND, DAY), {
    help: 'How long runs may go on after SIGTERM. What has not ended by then is failed as interrupted; what has not begun stays in line.',
    fallback: 30 * SECOND,
  }),
  'retention.runs': one(keeping, {
    help: 'How long the records of ended runs are kept.',
    fallback: null,
    serving: 90 * DAY,
  }),
  'retention.logs': one(keeping, {
    help: 'How long the logs of ended runs are kept.',
    fallback: null,
    serving: 30 * DAY,
  }),
  'retention.artifacts': one(keeping, {
    help: 'How long the artifacts of ended runs are kept.',
    fallback: null,
    serving: 30 * DAY,
  }),
  'retention.snapshots': one(keeping, {
    help: 'How long the copy of a skill is kept that no run has used; it is fetched again when it is wanted. At least 2 days.',
    fallback: null,
    serving: 30 * DAY,
  }),
  'retention.layers': one(keeping, {
    help: 'How long installed packages are kept that no run has used; they are installed again when they are wanted. At least 2 days.',
    fallback: null,
    serving: 30 * DAY,
  }),
  'retention.idempotencyKeys': one(duration(MINUTE, 30 * DAY), {
    help: 'How long an idempotency key answers with the run that it began.',
    fallback: DAY,
  }),
  'retention.interval': one(duration(SECOND, DAY), {
    help: 'How often a server looks for what need not be kept any longer.',
    fallback: HOUR,
  }),
};
