import { isIP } from 'node:net';
import { visibleLine, type YamlEntry, type YamlNode } from '../base/index.ts';
import type { EndpointLimits } from '../broker/index.ts';
import { parseAuthority, reachOf } from '../egress/index.ts';
import { ENDPOINT_NAME, PROVIDER_NAME, readHosts } from './names.ts';
import { faultOfPattern } from './path-pattern.ts';
import {
  type AuthForm,
  type KnownCustom,
  NO_LIMITS,
  type Provider,
  type ProviderEndpoint,
  type RequestPattern,
} from './provider.ts';
import { type ProviderDiagnostic, ProviderFaults } from './provider-faults.ts';

export type ProviderReading = { provider: Provider | null; diagnostics: ProviderDiagnostic[] };

export const MAX_PROVIDER_BYTES = 64 * 1024;
const MAX_ENDPOINTS = 200;
const KEYS = ['version', 'name', 'title', 'url', 'private', 'auth', 'endpoints', 'customs'] as const;
const ENDPOINT_KEYS = ['what', 'requests', 'carries-out', 'limits'] as const;
const METHODS: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const FORMS = ['bearer', 'bot', 'header', 'basic', 'query'] as const;
const LINE = /^[^\p{C}]{1,120}$/u;
/** Headers that say where a request ends or goes: with a key in them, the broker would be talked into something. */
const NOT_FOR_KEYS =
  /^(?:host|connection|content-.*|transfer-encoding|te|trailer|upgrade|expect|via|proxy-.*|keep-alive)$/i;

/** The operator's own provider, from a file. Never throws; with any fault there is no provider. */
export function readProvider(text: string, file: string): ProviderReading {
  const plain = text.replace(/^\ufeff/, '').replaceAll('\r\n', '\n');
  const faults = new ProviderFaults(plain, file);
  if (Buffer.byteLength(text) > MAX_PROVIDER_BYTES) {
    faults.add(0, `the file has more than ${MAX_PROVIDER_BYTES} bytes`, 'Split it into several providers.');
    return { provider: null, diagnostics: faults.list };
  }
  const node = faults.parse();
  if (node === null) {
    if (faults.list.length === 0) faults.add(0, 'the file is empty', 'See docs/secrets.md for the form.');
    return { provider: null, diagnostics: faults.list };
  }
  const provider = readDocument(node, faults);
  faults.list.sort((a, b) => a.line - b.line || a.column - b.column);
  return { provider: faults.list.length === 0 ? provider : null, diagnostics: faults.list };
}

function readDocument(node: YamlNode, faults: ProviderFaults): Provider | null {
  const fields = faults.fields(node, 'the provider', KEYS);
  const need = (key: (typeof KEYS)[number]): YamlNode | null =>
    fields.get(key)?.node ?? faults.add(node.at, `the provider has no ${key}`, `Add ${key}.`);
  const version = need('version');
  if (version !== null && (version.kind !== 'scalar' || version.value !== 1)) {
    faults.add(version.at, 'the version is not 1', 'Write version: 1.');
  }
  const nameNode = need('name');
  const says = 'a name of lowercase letters, digits, hyphens and underscores';
  const name = nameNode === null ? null : faults.text(nameNode, 'name', PROVIDER_NAME, says);
  if (nameNode !== null && name === 'custom') faults.add(nameNode.at, 'custom is no provider', 'Choose another name.');
  const titleEntry = fields.get('title');
  const title = titleEntry ? faults.text(titleEntry.node, 'title', LINE, 'one short line of text') : name;
  const privateEntry = fields.get('private');
  const allowPrivate = privateEntry ? faults.boolean(privateEntry.node, 'private') === true : false;
  const urlNode = need('url');
  const origin = urlNode === null ? null : readOrigin(urlNode, allowPrivate, faults);
  const authNode = need('auth');
  const auth = authNode === null ? null : readAuth(authNode, faults);
  const endpointsNode = need('endpoints');
  const endpoints = endpointsNode === null ? [] : readEndpoints(endpointsNode, faults);
  const customsEntry = fields.get('customs');
  const customs = customsEntry ? readCustoms(customsEntry.node, faults) : [];
  if (name === null || title === null || origin === null || auth === null) return null;
  return { name, title, ...origin, auth, allowPrivate, endpoints, customs };
}

function readOrigin(
  node: YamlNode,
  allowPrivate: boolean,
  faults: ProviderFaults,
): Pick<Provider, 'scheme' | 'host' | 'port'> | null {
  const text = faults.text(node, 'url', /^https?:\/\/[^/?#]+\/?$/, 'https://host or https://host:port, without a path');
  if (text === null) return null;
  const scheme = text.startsWith('https:') ? 'https' : 'http';
  const target = parseAuthority(text.replace(/^https?:\/\//, '').replace(/\/$/, ''), scheme === 'https' ? 443 : 80);
  if ('refused' in target) return faults.add(node.at, `the url names no host: ${target.refused}`, 'Correct it.');
  if (scheme === 'http' && !allowPrivate) {
    return faults.add(node.at, 'a key must not travel in the clear', 'Use https; http needs private: true.');
  }
  const reach = isIP(target.host) === 0 ? 'public' : reachOf(target.host);
  if (reach === 'never') return faults.add(node.at, `${target.host} is never reached`, 'Use another address.');
  if (reach === 'private' && !allowPrivate) {
    return faults.add(node.at, `${target.host} is a private address`, 'Say so with private: true.');
  }
  return { scheme, ...target };
}

function readAuth(node: YamlNode, faults: ProviderFaults): AuthForm | null {
  const fields = faults.fields(node, 'auth', ['form', 'name', 'user']);
  const formNode = fields.get('form')?.node;
  const form = formNode?.kind === 'scalar' ? FORMS.find(each => each === formNode.value) : undefined;
  if (form === undefined) {
    return faults.add(
      formNode?.at ?? node.at,
      `auth has no form of ${FORMS.join(', ')}`,
      'Write form: bearer, or another.',
    );
  }
  const wanted = form === 'basic' ? 'user' : form === 'header' || form === 'query' ? 'name' : null;
  for (const [key, entry] of fields) {
    if (key !== 'form' && key !== wanted) faults.add(entry.keyAt, `auth by ${form} takes no ${key}`, 'Remove it.');
  }
  if (wanted === null) return form === 'bearer' ? { form } : { form: 'bot' };
  const entry = fields.get(wanted);
  if (entry === undefined) return faults.add(node.at, `auth by ${form} has no ${wanted}`, `Add ${wanted}.`);
  return readAuthName(form, entry, faults);
}

function readAuthName(
  form: 'header' | 'basic' | 'query' | 'bearer' | 'bot',
  { node }: YamlEntry,
  faults: ProviderFaults,
): AuthForm | null {
  if (form === 'basic') {
    const user = faults.text(node, 'user', /^[\x21-\x39\x3b-\x7e]{1,128}$/, 'printable, without a colon');
    return user === null ? null : { form, user };
  }
  if (form === 'query') {
    const name = faults.text(node, 'name', /^[\w.~-]{1,64}$/, 'the name of a query parameter');
    return name === null ? null : { form, name };
  }
  const name = faults.text(node, 'name', /^[A-Za-z0-9-]{1,64}$/, 'the name of a header');
  if (name === null) return null;
  if (NOT_FOR_KEYS.test(name)) return faults.add(node.at, `the header ${name} carries no key`, 'Name another.');
  return { form: 'header', name: name.toLowerCase() };
}

function readEndpoints(node: YamlNode, faults: ProviderFaults): ProviderEndpoint[] {
  const entries = faults.entries(node, 'endpoints');
  if (entries.length === 0) faults.add(node.at, 'the provider has no endpoints', 'Add at least one.');
  if (entries.length > MAX_ENDPOINTS) {
    faults.add(node.at, `the provider has more than ${MAX_ENDPOINTS} endpoints`, 'Split it.');
    return [];
  }
  return entries.flatMap(entry => readEndpoint(entry, faults) ?? []);
}

function readEndpoint({ key, keyAt, node }: YamlEntry, faults: ProviderFaults): ProviderEndpoint | null {
  const shown = visibleLine(key, 60);
  if (!ENDPOINT_NAME.test(key)) return faults.add(keyAt, `"${shown}" is no name of an endpoint`, 'As in orders.read.');
  const fields = faults.fields(node, shown, ENDPOINT_KEYS);
  const list = fields.get('requests')?.node;
  if (list === undefined || (list.kind === 'list' && list.items.length === 0))
    faults.add(keyAt, `${shown} has no requests`, 'Add requests: [GET /path].');
  const texts = list === undefined ? [] : faults.texts(list, 'requests');
  const requests = texts.flatMap(each => readRequest(each, faults) ?? []);
  const whatEntry = fields.get('what');
  const what = whatEntry ? faults.text(whatEntry.node, 'what', LINE, 'one short line of text') : `use ${key}`;
  const carries = fields.get('carries-out');
  // Absent means the worse: what is not only read may carry data to others.
  const writes = requests.some(({ methods }) => methods.some(method => method !== 'GET' && method !== 'HEAD'));
  const carriesOut = carries ? faults.boolean(carries.node, 'carries-out') : writes;
  const limitsEntry = fields.get('limits');
  const limits = limitsEntry ? readLimits(limitsEntry.node, faults) : NO_LIMITS;
  return what === null || carriesOut === null || requests.length === 0
    ? null
    : { name: key, what, carriesOut, requests, limits };
}

function readRequest({ text, at }: { text: string; at: number }, faults: ProviderFaults): RequestPattern | null {
  const [list = '', path = '', ...rest] = text.trim().split(/[ \t]+/);
  const methods = list.split(',');
  const wrong = methods.find(method => !METHODS.includes(method));
  if (wrong !== undefined || path === '' || rest.length > 0) {
    return faults.add(
      at,
      `"${visibleLine(text, 80)}" is no METHOD /path`,
      `Methods are ${METHODS.join(', ')}, in capitals.`,
    );
  }
  const fault = faultOfPattern(path);
  if (fault !== null)
    return faults.add(at, `the path ${visibleLine(path, 80)} is no pattern: ${fault}`, 'As in /v1/orders/*.');
  return { methods: [...new Set(methods)], path };
}

function readLimits(node: YamlNode, faults: ProviderFaults): EndpointLimits {
  const limits = { ...NO_LIMITS };
  for (const [key, { node: value }] of faults.fields(node, 'limits', Object.keys(NO_LIMITS))) {
    if (key !== 'requests' && key !== 'bytes' && key !== 'tokens') continue;
    const number = value.kind === 'scalar' ? value.value : null;
    if (typeof number === 'number' && Number.isSafeInteger(number) && number > 0) limits[key] = number;
    else faults.add(value.at, `${key} is not a whole number above zero`, 'Write a number.');
  }
  return limits;
}

function readCustoms(node: YamlNode, faults: ProviderFaults): KnownCustom[] {
  return faults.entries(node, 'customs').flatMap(({ key, keyAt, node: value }) => {
    if (!ENDPOINT_NAME.test(key)) {
      faults.add(keyAt, `"${visibleLine(key, 60)}" is no key of a custom secret`, 'As in acme-webhook.');
      return [];
    }
    const hosts = faults.texts(value, key).filter(each => isHost(each, faults));
    return [{ key, hosts: readHosts(hosts.map(({ text }) => text)) }];
  });
}

function isHost({ text, at }: { text: string; at: number }, faults: ProviderFaults): boolean {
  try {
    readHosts([text]);
    return true;
  } catch (error) {
    faults.add(at, error instanceof Error ? error.message : String(error), 'Write the name of a host.');
    return false;
  }
}
