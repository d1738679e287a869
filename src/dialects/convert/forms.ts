import { emptyObject, type JsonObject } from '../../base/index.ts';
import type { DialectName, Language, Skill, ToolPattern } from '../../skill/index.ts';
import { DEFAULT_IMAGES } from '../skillbox.ts';

/**
 * What a dialect can hold. The tables only decide where a field is put; what became of it is found by reading the
 * result, so a mistake in here shows up as a loss, never as silence.
 */
export type Form = {
  dialect: DialectName;
  /** The field for what has no place of its own, and how the model calls it. */
  shelf: { key: 'metadata' | 'extra'; path: 'about.metadata' | 'extra.metadata' | 'extra.extra' };
  /** Fields without power that the reader understands, so an unknown field of that name may become one. */
  knows: ReadonlySet<string>;
  /** Of the descriptive fields, those that stand on the shelf. */
  shelved: ReadonlySet<string>;
  /** Why a descriptive field has no place, where the dialect seems to have one. */
  reasons: Readonly<Record<string, string>>;
  /** Names that no unknown field may take: the reader would give them a meaning, or see another dialect. */
  taken: ReadonlySet<string>;
  maxDescription: number | null;
  needsVersion: boolean;
  /** What the skill needs and to whom it is offered, as far as the dialect has fields for it. */
  fields(skill: Skill): JsonObject;
};

const OFFER = ['disable-model-invocation', 'user-invocable'];
const GIBBERISH_MARKS = ['modes', 'read_only', 'always_ask'];
const SKILLBOX_MARKS = ['lang', 'image', 'resources'];
const AGENT_MARKS = ['metadata', 'allowed-tools', 'compatibility'];
const METADATA = { key: 'metadata', path: 'extra.metadata' } as const;

/** `entrypoint`: the folder has a file that, together with a top-level version, makes a skillbox skill. */
export function formOf(to: DialectName, entrypoint: boolean): Form {
  switch (to) {
    case 'agent-skills':
      return {
        dialect: to,
        shelf: { key: 'metadata', path: 'about.metadata' },
        knows: new Set(['version', 'author', 'license', 'compatibility', ...OFFER]),
        shelved: new Set(['version', 'author', 'emoji', 'tags']),
        reasons: {},
        taken: set(OFFER, GIBBERISH_MARKS, SKILLBOX_MARKS, AGENT_MARKS, ['license', 'version', 'author', 'tags']),
        maxDescription: null,
        needsVersion: false,
        fields: skill => ({ ...allowedTools(skill.needs.allowedTools), ...offer(skill) }),
      };
    case 'skillbox':
      return {
        dialect: to,
        shelf: METADATA,
        knows: new Set(['version', 'license', 'author', 'tags', ...OFFER]),
        shelved: new Set(),
        reasons: {},
        taken: set(OFFER, GIBBERISH_MARKS, SKILLBOX_MARKS, [
          'version',
          'timeout',
          'license',
          'author',
          'tags',
          'metadata',
        ]),
        maxDescription: null,
        needsVersion: true,
        fields: skillboxFields,
      };
    case 'workspace':
      return {
        dialect: to,
        shelf: { key: 'extra', path: 'extra.extra' },
        knows: set(['license', 'author', 'tags', ...OFFER], entrypoint ? [] : ['version']),
        shelved: set(['compatibility'], entrypoint ? ['version'] : []),
        reasons: { version: 'together with the entrypoint in the folder, a version would make it a skillbox skill' },
        taken: set(OFFER, GIBBERISH_MARKS, SKILLBOX_MARKS, AGENT_MARKS, [
          'version',
          'license',
          'author',
          'tags',
          'extra',
        ]),
        maxDescription: null,
        needsVersion: false,
        fields: offer,
      };
    case 'gibberish':
      return {
        dialect: to,
        shelf: METADATA,
        knows: new Set(['version', 'author', 'disable-model-invocation']),
        shelved: new Set(),
        reasons: {},
        taken: set(GIBBERISH_MARKS, [
          'version',
          'author',
          'timeout',
          'network',
          'disable-model-invocation',
          'metadata',
        ]),
        maxDescription: 256,
        needsVersion: true,
        fields: gibberishFields,
      };
    case 'seksbot':
      return {
        dialect: to,
        shelf: METADATA,
        knows: new Set(['emoji', 'author']),
        shelved: new Set(['version']),
        reasons: { version: "the version in a manifest is that of the manifest's format" },
        taken: set(SEKSBOT_FIELDS, ['metadata']),
        maxDescription: 200,
        needsVersion: false,
        fields: seksbotFields,
      };
  }
}

function set(...lists: (readonly string[])[]): ReadonlySet<string> {
  return new Set(['name', 'description', ...lists.flat()]);
}

function offer({ offer: { toModels, toUsers } }: Skill): JsonObject {
  const fields = emptyObject();
  if (!toModels) fields['disable-model-invocation'] = true;
  if (!toUsers) fields['user-invocable'] = false;
  return fields;
}

/** AS-07: separated by spaces, or a list where one of them holds a separator or parentheses of its own. */
function allowedTools(patterns: readonly ToolPattern[]): JsonObject {
  if (patterns.length === 0) return {};
  const entries = patterns.map(({ tool, pattern }) => (pattern === null ? tool : `${tool}(${pattern})`));
  const plain = patterns.every(({ tool, pattern }) => !/[()\s,]/.test(`${tool}${pattern ?? ''}`));
  return { 'allowed-tools': plain ? entries.join(' ') : entries };
}

function skillboxFields(skill: Skill): JsonObject {
  const { image, limits } = skill.needs;
  const language: Language = skill.main?.language ?? 'python';
  // Without an entrypoint `lang` is what the dialect is known by.
  const lang = language === 'typescript' ? 'node' : language;
  const resources = emptyObject();
  if (limits.cpus !== null) resources.cpu = String(limits.cpus);
  if (limits.memoryBytes !== null) resources.memory = renderMemory(limits.memoryBytes);
  return {
    lang,
    ...(image === null || image === DEFAULT_IMAGES[lang] ? {} : { image }),
    timeout: renderTimeout(Math.min(limits.timeoutMs, 600_000)),
    ...(Object.keys(resources).length === 0 ? {} : { resources }),
    ...offer(skill),
  };
}

function gibberishFields(skill: Skill): JsonObject {
  const { network, readOnly, alwaysAsk, limits } = skill.needs;
  return {
    ...(skill.offer.modes.join() === 'Global' ? {} : { modes: skill.offer.modes }),
    ...(readOnly ? { read_only: true } : {}),
    ...(alwaysAsk ? { always_ask: true } : {}),
    // Whole seconds from 1 to 300; a fraction is cut, for a limit may only shrink.
    timeout: Math.min(300, Math.max(1, Math.floor(limits.timeoutMs / 1000))),
    ...(network === 'open' ? { network: true } : {}),
    ...offer(skill),
  };
}

const CONTAINER_FIELDS = ['image', 'timeout', 'network', 'memory', 'cpu'].map(name => `container_${name}`);
const SEKSBOT_FIELDS = [
  'version',
  'emoji',
  'author',
  'capabilities',
  'always',
  'os',
  'skillMdPath',
  ...CONTAINER_FIELDS,
];

function seksbotFields(skill: Skill): JsonObject {
  const { network, secrets, image, limits } = skill.needs;
  const seconds = limits.timeoutMs / 1000;
  return {
    version: 1,
    capabilities: secrets,
    // a network that seksbot has no word for becomes none, not the broker.
    container_network: network === 'broker' ? 'broker-only' : 'none',
    container_timeout: Number.isInteger(seconds) ? seconds : renderTimeout(limits.timeoutMs),
    ...(image === null ? {} : { container_image: image }),
    ...(limits.memoryBytes === null ? {} : { container_memory: renderMemory(limits.memoryBytes) }),
    ...(limits.cpus === null ? {} : { container_cpu: String(limits.cpus) }),
    ...(skill.offer.always ? { always: true } : {}),
    ...(skill.offer.os.length === 0 ? {} : { os: skill.offer.os }),
    ...offer(skill),
  };
}

/** Exact, unlike what is rendered for people. */
export function renderTimeout(ms: number): string {
  return ms % 1000 === 0 ? `${ms / 1000}s` : `${ms}ms`;
}

export function renderMemory(bytes: number): string {
  for (const [unit, factor] of [
    ['Gi', 1024 ** 3],
    ['Mi', 1024 ** 2],
    ['Ki', 1024],
  ] as const) {
    if (bytes % factor === 0) return `${bytes / factor}${unit}`;
  }
  return String(bytes);
}
