import { isObject, type JsonObject, type JsonValue, stableJson } from '../base/index.ts';
import { type NpmManifest, PACKAGE_NAME, parseObject, refuse } from './npm-manifest.ts';

/** A lock in one spelling. `hashed`: every package in it has its hash. */
export type NpmLock = { text: string; hashed: boolean };

const FILE = 'package-lock.json';
const KEPT = [
  'name',
  'version',
  'integrity',
  'optional',
  'devOptional',
  'peer',
  'inBundle',
  'hasInstallScript',
  'bin',
  'engines',
  'os',
  'cpu',
  'libc',
  'dependencies',
  'optionalDependencies',
  'peerDependencies',
  'peerDependenciesMeta',
  'bundleDependencies',
];
const VERSION = /^\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?$/;
const INTEGRITY = /^sha(?:1|256|384|512)-[A-Za-z0-9+/=]+(?: sha(?:1|256|384|512)-[A-Za-z0-9+/=]+)*$/;
const STRONG = /(?:^| )sha(?:256|384|512)-/;

/**
 * SB-07: the lock without `resolved`. A package then comes from the operator's registry by name and version, and its hash
 * says whether it is the one that the author locked; a lock cannot send npm anywhere else.
 */
export function parseNpmLock(text: string, manifest: NpmManifest): NpmLock {
  const root = parseObject(FILE, text);
  const version = root.lockfileVersion;
  if (version !== 2 && version !== 3)
    throw refuse(FILE, `has lockfileVersion ${JSON.stringify(version ?? null)}; write it with npm 7 or later`);
  if (!isObject(root.packages)) throw refuse(FILE, 'has no packages');
  const packages: JsonObject = {};
  let hashed = true;
  for (const [path, entry] of Object.entries(root.packages)) {
    if (!isObject(entry)) throw refuse(FILE, `has no entry at ${JSON.stringify(path)}`);
    if (path === '') continue;
    checkPath(path);
    const checked = checkEntry(path, entry);
    // Not installed, and the manifest that npm gets does not ask for it.
    if (entry.dev === true) continue;
    packages[path] = checked;
    if (typeof entry.integrity !== 'string' || !STRONG.test(entry.integrity)) hashed = false;
  }
  // The root is the manifest that npm gets, so that the two cannot disagree about what the skill itself asks for.
  const { overrides: _, ...groups } = manifest;
  const asked = Object.fromEntries(Object.entries(groups).filter(([, group]) => Object.keys(group).length > 0));
  packages[''] = { name: 'skill', version: '0.0.0', ...asked };
  return {
    text: stableJson({ name: 'skill', version: '0.0.0', lockfileVersion: 3, requires: true, packages }),
    hashed,
  };
}

/** `node_modules/a/node_modules/@b/c`, and no way out of it. */
function checkPath(path: string): void {
  const names = path.split(/(?:^|\/)node_modules\//);
  if (names.shift() !== '' || names.length === 0 || !names.every(name => PACKAGE_NAME.test(name)))
    throw refuse(FILE, `has an entry at ${JSON.stringify(path.slice(0, 200))}, outside node_modules`);
}

function checkEntry(path: string, entry: JsonObject): JsonObject {
  if (entry.link === true) throw refuse(FILE, `links ${path} to a directory`);
  const { resolved, version, integrity } = entry;
  if (resolved !== undefined && resolved !== false && !isTarball(resolved))
    throw refuse(FILE, `takes ${path} from ${JSON.stringify(resolved).slice(0, 200)}, which is no registry`);
  if (typeof version !== 'string' || !VERSION.test(version)) throw refuse(FILE, `gives ${path} no version`);
  if (integrity !== undefined && (typeof integrity !== 'string' || !INTEGRITY.test(integrity)))
    throw refuse(FILE, `gives ${path} an integrity that cannot be read`);
  const name = entry.name;
  if (name !== undefined && (typeof name !== 'string' || !PACKAGE_NAME.test(name)))
    throw refuse(FILE, `gives ${path} a name that is none`);
  return Object.fromEntries(Object.entries(entry).filter(([key]) => KEPT.includes(key)));
}

function isTarball(resolved: JsonValue): boolean {
  return typeof resolved === 'string' && /^https?:\/\/[^@\s]+$/.test(resolved.replace(/\/@/g, '/'));
}
