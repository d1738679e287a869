import { isObject, type JsonObject, type JsonValue, SkillboxError } from '../base/index.ts';

/** What of package.json decides which packages are installed; nothing else of it reaches npm. */
export type NpmManifest = {
  dependencies: Record<string, string>;
  optionalDependencies: Record<string, string>;
  peerDependencies: Record<string, string>;
  overrides: JsonObject;
};

const GROUPS = ['dependencies', 'optionalDependencies', 'peerDependencies'] as const;
/** Read as the others are, and not given to npm: it would resolve what is never installed, and fail where the index lacks it. */
const DEV = 'devDependencies';
export const PACKAGE_NAME = /^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/i;
/** Ranges and tags. Without `/`, `:` and `@` it can be neither a path, a URL, a repository nor an alias. */
const RANGE = /^[A-Za-z0-9.*^~<>=|+\s_-]*$/;

/** SB-07: null when nothing is to be installed. */
export function parseManifest(text: string): NpmManifest | null {
  const root = parseObject('package.json', text);
  if (root.workspaces !== undefined) throw refuse('package.json', 'has workspaces');
  const manifest: NpmManifest = {
    dependencies: {},
    optionalDependencies: {},
    peerDependencies: {},
    overrides: {},
  };
  for (const group of GROUPS) manifest[group] = readGroup(root, group);
  const dev = readGroup(root, DEV);
  if (root.overrides !== undefined) {
    if (!isObject(root.overrides)) throw refuse('package.json', 'has overrides that are no object');
    const asked = new Set(GROUPS.flatMap(group => Object.keys(manifest[group])));
    const gone = new Map(Object.entries(dev).filter(([name]) => !asked.has(name)));
    manifest.overrides = checkOverrides(root.overrides, gone, 0);
  }
  const wanted = [manifest.dependencies, manifest.optionalDependencies, manifest.peerDependencies];
  return wanted.every(group => Object.keys(group).length === 0) ? null : manifest;
}

function readGroup(root: JsonObject, group: (typeof GROUPS)[number] | typeof DEV): Record<string, string> {
  const listed = root[group];
  if (listed === undefined) return {};
  if (!isObject(listed)) throw refuse('package.json', `has ${group} that are no object`);
  const ranges: Record<string, string> = {};
  for (const [name, range] of Object.entries(listed)) {
    checkName(name);
    ranges[name] = checkRange(name, range);
  }
  return ranges;
}

function checkName(name: string): void {
  if (name.length > 214 || !PACKAGE_NAME.test(name) || name === '__proto__')
    throw refuse('package.json', `names a package ${JSON.stringify(name.slice(0, 100))}`);
}

function checkRange(name: string, range: JsonValue | undefined): string {
  if (typeof range !== 'string') throw refuse('package.json', `gives ${name} no version`);
  // An alias is another name of the same index: `npm:other@^1`.
  const alias = /^npm:((?:@[^@/]+\/)?[^@/]+)(?:@(.*))?$/.exec(range);
  if (alias !== null) {
    checkName(alias[1] ?? '');
    if (RANGE.test(alias[2] ?? '')) return range;
  }
  if (range.length <= 256 && RANGE.test(range)) return range;
  throw refuse('package.json', `takes ${name} from ${JSON.stringify(range.slice(0, 200))}, which is no version range`);
}

/** `dev`: what npm will not find when an override refers to it (`$name`), so that its range is put there. */
function checkOverrides(overrides: JsonObject, dev: ReadonlyMap<string, string>, depth: number): JsonObject {
  if (depth > 16) throw refuse('package.json', 'has overrides that are too deep');
  return Object.fromEntries(
    Object.entries(overrides).map(([name, value]) => {
      checkName(name === '.' ? 'self' : name.replace(/(?<=.)@[^@/]*$/, ''));
      if (isObject(value)) return [name, checkOverrides(value, dev, depth + 1)];
      if (typeof value === 'string' && /^\$[@A-Za-z0-9._~/-]+$/.test(value))
        return [name, dev.get(value.slice(1)) ?? value];
      return [name, checkRange(name, value)];
    }),
  );
}

/** What npm reads in place of the skill's own file. */
export function renderManifest(manifest: NpmManifest): string {
  return JSON.stringify({ name: 'skill', version: '0.0.0', private: true, ...manifest }, null, 2);
}

export function parseObject(file: string, text: string): JsonObject {
  let value: JsonValue;
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, '')) as JsonValue;
  } catch (cause) {
    throw refuse(file, `is no JSON: ${cause instanceof Error ? cause.message : String(cause)}`);
  }
  if (!isObject(value)) throw refuse(file, 'is no JSON object');
  return value;
}

export function refuse(file: string, why: string): SkillboxError {
  return new SkillboxError('DEPENDENCIES_REFUSED', `${file} ${why}`, {
    hint: 'Dependencies are packages of the registry by name and version range; the registry is set by the operator.',
    details: { file },
  });
}
