import type { Fault, Place } from './fault.ts';
import type { Config } from './load.ts';
import { type SettingName, variableOf } from './settings.ts';

/** Settings that are right alone and wrong together. */
export function findContradictions(config: Config): Fault[] {
  return RULES.flatMap(rule => rule(config));
}

type Rule = (config: Config) => Fault[];

const RULES: readonly Rule[] = [
  needs('oidc.issuer', 'oidc.audience', 'A token for another service must not be taken for one for us.'),
  needs('oidc.audience', 'oidc.issuer', 'Say whose tokens they are.'),
  needs('oidc.jwksUrl', 'oidc.issuer', 'Say whose keys they are.'),
  needs('store.s3.accessKeyId', 'store.s3.secretAccessKey', 'Both belong together.'),
  needs('store.s3.secretAccessKey', 'store.s3.accessKeyId', 'Both belong together.'),
  needs('store.s3.endpoint', 'store.s3.bucket', 'Say which bucket is meant.'),
  needs('store.s3.prefix', 'store.s3.bucket', 'Say which bucket is meant.'),
  needs('store.postgres.ca', 'store.postgres.url', 'Say which database is meant.'),
  config => {
    if (config.get('store.postgres.url') === null || config.get('secrets.masterKey') !== null) return [];
    const hint = 'Set secrets.masterKey to the same key on every machine; `openssl rand -base64 32` makes one.';
    return config.role === 'server'
      ? [at(config, 'store.postgres.url', 'is given without secrets.masterKey', hint)]
      : [];
  },
  config =>
    config.get('secrets.keyring') && config.get('secrets.masterKey') !== null
      ? [at(config, 'secrets.keyring', 'is given with secrets.masterKey', 'Keep the key in one place, and name that.')]
      : [],
  plainHttp('oidc.issuer'),
  plainHttp('oidc.jwksUrl'),
  config => {
    if (config.get('runs.deadAfter') >= 2 * config.get('runs.heartbeat')) return [];
    const hint = 'Make it at least twice runs.heartbeat, or living servers lose their runs.';
    return [at(config, 'runs.deadAfter', 'is too short', hint)];
  },
  config => {
    if (config.role !== 'server' || config.get('server.public') || isLoopback(config.get('server.host'))) return [];
    const hint =
      'Listen on 127.0.0.1, or say --public (server.public: yes) and read the checklist in docs/operations.md.';
    return [at(config, 'server.host', 'is an address that others can reach', hint)];
  },
];

function needs(one: SettingName, other: SettingName, hint: string): Rule {
  return config =>
    config.get(one) !== null && config.get(other) === null ? [at(config, one, `is given without ${other}`, hint)] : [];
}

/** Threat: keys that come over plain http are whoever's who is in between. */
function plainHttp(name: 'oidc.issuer' | 'oidc.jwksUrl'): Rule {
  return config => {
    const value = config.get(name);
    if (value === null || !value.startsWith('http:') || isLoopback(new URL(value).hostname)) return [];
    return [at(config, name, 'is not https', 'Plain http is taken on loopback only.')];
  };
}

/** Names and addresses that stay on this machine. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || /^127(?:\.\d{1,3}){3}$/.test(host) || host === '::1' || host === '[::1]';
}

function at(config: Config, name: SettingName, what: string, hint: string): Fault {
  const origin = config.origin(name);
  const place: Place = origin.from === 'default' ? { from: 'environment', variable: variableOf(name) } : origin;
  return { place, message: place.from === 'file' ? `is wrong: ${name} ${what}` : what, hint };
}
