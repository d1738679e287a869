import {
  emptyObject,
  isObject,
  type JsonObject,
  type JsonValue,
  renderDuration,
  renderSize,
} from '../../base/index.ts';
import type { DialectName, Skill } from '../../skill/index.ts';
import { compareFields, type FieldChange, fieldsOf } from '../../skill/index.ts';
import type { Loss, Notes } from './conversion.ts';

/** Every field that reads differently in the result, each named with its reason: what nobody explained, too. */
export function findLosses(source: Skill, result: Skill, notes: Notes): Loss[] {
  const changes = compareModels(source, result);
  // Where a loss is still written down, the other end of it is not a loss of its own.
  const kept = new Set(changes.map(({ field }) => notes.get(field)?.kept ?? null));
  return changes
    .filter(({ field }) => notes.has(field) || !kept.has(field))
    .map(change => toLoss(change, notes, result.dialect));
}

/** The differences of two models, save that of the dialect itself. */
export function compareModels(source: Skill, result: Skill): FieldChange[] {
  return compareFields(comparable(source), comparable(result)).filter(({ field }) => field !== 'dialect');
}

/** Two spellings of one fact are one: a version in `metadata` that is the skill's version, an empty shelf and none. */
function comparable(skill: Skill): JsonObject {
  const metadata = Object.assign(emptyObject(), skill.about.metadata);
  if (metadata.version === skill.version) delete metadata.version;
  if (metadata.author === skill.about.author) delete metadata.author;
  const extra: JsonObject = Object.assign(emptyObject(), skill.extra);
  for (const key of ['metadata', 'extra']) if (extra[key] === undefined) extra[key] = emptyObject();
  return { ...fieldsOf(skill), about: { ...skill.about, metadata }, extra };
}

function toLoss({ field, change, before, after }: FieldChange, notes: Notes, to: DialectName): Loss {
  const note = notes.get(field);
  const why = note?.why ?? explain(field, change, after, to);
  const value = field === 'instructions' && typeof before === 'string' ? `${before.length} characters` : before;
  return { field, value, why, kept: note?.kept ?? null };
}

function explain(field: string, change: FieldChange['change'], after: JsonValue, to: DialectName): string {
  const [first = '', second = '', third = ''] = field.split('.');
  switch (first === 'needs' || first === 'offer' ? `${first}.${second}` : first) {
    case 'main':
      return after === null
        ? `${to} has no such entrypoint: nobody starts the file by itself, gives it SANDBOX_INPUT or collects its output`
        : `${to} takes ${say(isObject(after) ? (after.path ?? null) : after)} for its entrypoint`;
    case 'tools':
      if (change === 'added') return `${to} takes what the text describes for a tool`;
      return `${to} has no tools; the command stays in the instructions, to be read and not called`;
    case 'needs.network':
      return `${to} cannot ask for it; the skill gets ${after === 'none' ? 'no network' : `network "${say(after)}"`}`;
    case 'needs.secrets':
      return `${to} has no capabilities; the skill gets no secrets`;
    case 'needs.image':
      return after === null ? `${to} names no image` : `${to} always names one; this is its default: ${say(after)}`;
    case 'needs.limits':
      return `${to} ${after === null ? "has no such limit; the operator's default holds" : `holds it to ${renderLimit(third, after)}`}`;
    case 'needs.readOnly':
      return `${to} cannot say so; every run counts as one that changes something`;
    case 'needs.alwaysAsk':
      return `${to} cannot demand it; when a person is asked is up to policy alone`;
    case 'needs.allowedTools':
      return `${to} pre-approves no tools of the agent`;
    case 'offer.modes':
      return `${to} has no modes; it is offered in all of them`;
    case 'offer.os':
      return `${to} is offered on every system`;
    case 'offer.always':
      return `${to} has no such field; the catalog may leave it out`;
    case 'offer.toModels':
    case 'offer.toUsers':
      return `${to} does not know the field that hides it`;
    case 'resources':
      return `in ${to} a file of this name would be read as something else`;
    default:
      return change === 'removed' ? `${to} has no place for it` : `${to} reads it as ${say(after)}`;
  }
}

function renderLimit(limit: string, value: JsonValue): string {
  if (typeof value !== 'number') return say(value);
  if (limit === 'timeoutMs') return renderDuration(value);
  return limit === 'memoryBytes' ? renderSize(value) : `${value} cpu`;
}

function say(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
