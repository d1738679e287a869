import { emptyObject, isObject, type JsonObject, type JsonValue } from '../../base/index.ts';
import type { DialectName, Skill } from '../../skill/index.ts';
import type { Notes } from './conversion.ts';
import { type Form, renderMemory, renderTimeout } from './forms.ts';

/** The fields of the result: those at the top level, and those on the shelf for what has no place of its own. */
export type Sheet = { top: JsonObject; shelf: JsonObject };

/** Descriptive fields: they name and explain, and give no power. */
const DESCRIPTIVE: readonly { key: string; field: string; of: (skill: Skill) => JsonValue }[] = [
  { key: 'version', field: 'version', of: skill => skill.version },
  { key: 'license', field: 'about.license', of: skill => skill.about.license },
  { key: 'author', field: 'about.author', of: skill => skill.about.author },
  { key: 'compatibility', field: 'about.compatibility', of: skill => skill.about.compatibility },
  { key: 'emoji', field: 'about.emoji', of: skill => skill.about.emoji },
  { key: 'tags', field: 'about.tags', of: skill => skill.about.tags },
];

/** Written in a manifest that no other client reads, these would start to act as soon as they stood in SKILL.md. */
const ACTIVE_IN_SKILL_MD = new Set(['agent', 'allowed-tools', 'context', 'hooks', 'model', 'shell']);
/** These can only take away: nobody is offered more because of them. */
const RESTRICTIVE = new Map([
  ['disable-model-invocation', { value: true, field: 'offer.toModels' }],
  ['user-invocable', { value: false, field: 'offer.toUsers' }],
]);

export function fillSheet(skill: Skill, form: Form, notes: Notes): Sheet {
  const carried = carriedBy(skill);
  const sheet: Sheet = { top: emptyObject(), shelf: emptyObject() };
  sheet.top.name = skill.name;
  const [version, ...others] = DESCRIPTIVE;
  if (version !== undefined) place(version, skill, carried, form, sheet, notes);
  if (form.needsVersion && sheet.top.version === undefined) {
    sheet.top.version = '0.0.0';
    notes.set('version', { why: `${form.dialect} demands a version; 0.0.0 stands for "none yet"`, kept: null });
  }
  sheet.top.description = cutDescription(skill.description, form, notes);
  for (const one of others) place(one, skill, carried, form, sheet, notes);
  Object.assign(sheet.top, form.fields(skill));
  // Written in any case: a client that knows the field will heed it, even where the dialect does not.
  for (const [key, { field }] of RESTRICTIVE) {
    if (Object.hasOwn(sheet.top, key) && !form.knows.has(key)) notes.set(field, { why: null, kept: `extra.${key}` });
  }
  placeUnknown(skill.dialect, carried, form, sheet, notes);
  // This dialect is known by `tags` or `author`; an empty list says nothing else.
  if (form.dialect === 'workspace' && sheet.top.author === undefined) sheet.top.tags ??= [];
  return sheet;
}

export function fieldsOfSheet({ top, shelf }: Sheet, form: Form): JsonObject {
  return Object.keys(shelf).length === 0 ? top : { ...top, [form.shelf.key]: shelf };
}

/** What the source holds beyond its dialect: the entries of its shelf, and unknown fields. */
type Carried = { loose: JsonObject; shelf: JsonObject; shelfPath: Form['shelf']['path'] };

function carriedBy(skill: Skill): Carried {
  if (skill.dialect === 'agent-skills') {
    const shelf = Object.assign(emptyObject(), skill.about.metadata);
    // The reader takes version and author from here, so they are there already as fields of their own.
    if (shelf.version === skill.version) delete shelf.version;
    if (shelf.author === skill.about.author) delete shelf.author;
    return { loose: Object.assign(emptyObject(), skill.extra), shelf, shelfPath: 'about.metadata' };
  }
  const key = skill.dialect === 'workspace' ? 'extra' : 'metadata';
  const loose = Object.assign(emptyObject(), skill.extra);
  const held = loose[key];
  if (!isObject(held)) return { loose, shelf: emptyObject(), shelfPath: `extra.${key}` };
  delete loose[key];
  return { loose, shelf: Object.assign(emptyObject(), held), shelfPath: `extra.${key}` };
}

function place(
  { key, field, of }: (typeof DESCRIPTIVE)[number],
  skill: Skill,
  carried: Carried,
  form: Form,
  sheet: Sheet,
  notes: Notes,
): void {
  const known = form.knows.has(key);
  const value = isNone(of(skill)) && known ? lift(key, field, carried, form.dialect, notes) : of(skill);
  if (isNone(value)) return;
  const shelved = form.shelved.has(key);
  (shelved ? sheet.shelf : sheet.top)[key] = key === 'tags' ? renderTags(value) : value;
  if (known) return;
  const kept = shelved ? `${form.shelf.path}.${key}` : `extra.${key}`;
  notes.set(field, { why: form.reasons[key] ?? `${form.dialect} has no such field`, kept });
}

/** A field that the source's dialect did not know, and the target's does. */
function lift(key: string, field: string, carried: Carried, to: DialectName, notes: Notes): JsonValue {
  for (const [holder, path] of [
    [carried.loose, 'extra'],
    [carried.shelf, carried.shelfPath],
  ] as const) {
    const value = holder[key];
    const fits = key === 'tags' ? areTags(value) : isWhole(value);
    if (value === undefined || !fits) continue;
    delete holder[key];
    notes.set(`${path}.${key}`, { why: `${to} knows this field`, kept: field });
    return value;
  }
  return null;
}

function placeUnknown(from: DialectName, carried: Carried, form: Form, sheet: Sheet, notes: Notes): void {
  const shelve = (field: string, key: string, value: JsonValue, why: string) => {
    const free = freeKey(sheet.shelf, key);
    sheet.shelf[free] = value;
    const kept = `${form.shelf.path}.${free}`;
    if (kept !== field) notes.set(field, { why, kept });
  };
  // First, so that they keep their names.
  for (const [key, value] of Object.entries(carried.shelf)) {
    shelve(`${carried.shelfPath}.${key}`, key, value, `in ${form.dialect} such fields stand under ${form.shelf.key}`);
  }
  for (const [key, value] of Object.entries(carried.loose)) {
    const restrictive = RESTRICTIVE.get(key);
    if (restrictive !== undefined && restrictive.value === value && form.knows.has(key)) {
      sheet.top[key] = value;
      notes.set(`extra.${key}`, { why: `${form.dialect} knows this field`, kept: restrictive.field });
    } else if (form.taken.has(key)) {
      shelve(`extra.${key}`, key, value, `as a field of ${form.dialect} it would mean something else than it did`);
    } else if (from === 'seksbot' && form.dialect !== 'seksbot' && ACTIVE_IN_SKILL_MD.has(key)) {
      shelve(`extra.${key}`, key, value, 'in SKILL.md clients would act on it, which they did not in the manifest');
    } else sheet.top[key] = value;
  }
}

function freeKey(holder: JsonObject, key: string): string {
  let free = key;
  for (let count = 2; Object.hasOwn(holder, free); count++) free = `${key}-${count}`;
  return free;
}

function isNone(value: JsonValue): boolean {
  return value === null || (Array.isArray(value) && value.length === 0);
}

/** A text of which the reader drops nothing. */
function isWhole(value: JsonValue | undefined): boolean {
  return typeof value === 'string' && value !== '' && value.trim() === value;
}

function areTags(value: JsonValue | undefined): boolean {
  const tags = typeof value === 'string' ? value.split(',').map(tag => tag.trim()) : value;
  return Array.isArray(tags) && tags.length > 0 && tags.every(isWhole);
}

/** As the seed writes them, unless a comma inside one would cut it. */
function renderTags(value: JsonValue): JsonValue {
  if (!Array.isArray(value)) return value;
  const tags = value.filter(tag => typeof tag === 'string');
  return tags.length === value.length && !tags.some(tag => tag.includes(',')) ? tags.join(', ') : value;
}

/** At a word's end where there is one near, and never inside a character. */
function cutDescription(description: string, form: Form, notes: Notes): string {
  const points = Array.from(description);
  const max = form.maxDescription;
  if (max === null || points.length <= max) return description;
  notes.set('description', { why: `${form.dialect} allows ${max} characters; it was cut there`, kept: null });
  const cut = points.slice(0, max - 1).join('');
  const word = cut.lastIndexOf(' ');
  return `${(word > cut.length - 40 && word > 0 ? cut.slice(0, word) : cut).trimEnd()}…`;
}

/**
 * Needs and offers that agent-skills cannot express are written down in `metadata`, which is made for what clients do
 * not know: people and agents can read them there, and nothing acts on them. In the other dialects an unknown field
 * could pass for one that works, so there they are only reported.
 */
export const DOCUMENTED: Record<string, { key: string; text: (skill: Skill) => string | null }> = {
  'needs.network': { key: 'network', text: ({ needs }) => (needs.network === 'none' ? null : needs.network) },
  'needs.secrets': { key: 'capabilities', text: ({ needs }) => needs.secrets.join(' ') || null },
  'needs.image': { key: 'image', text: ({ needs }) => needs.image },
  'needs.limits.timeoutMs': { key: 'timeout', text: ({ needs }) => renderTimeout(needs.limits.timeoutMs) },
  'needs.limits.memoryBytes': {
    key: 'memory',
    text: ({ needs: { limits } }) => (limits.memoryBytes === null ? null : renderMemory(limits.memoryBytes)),
  },
  'needs.limits.cpus': {
    key: 'cpu',
    text: ({ needs: { limits } }) => (limits.cpus === null ? null : String(limits.cpus)),
  },
  'needs.readOnly': { key: 'read-only', text: ({ needs }) => (needs.readOnly ? 'true' : null) },
  'needs.alwaysAsk': { key: 'always-ask', text: ({ needs }) => (needs.alwaysAsk ? 'true' : null) },
  'offer.modes': { key: 'modes', text: ({ offer }) => offer.modes.join(' ') || 'none' },
  'offer.os': { key: 'os', text: ({ offer }) => offer.os.join(' ') || null },
  'offer.always': { key: 'always', text: ({ offer }) => (offer.always ? 'true' : null) },
};
