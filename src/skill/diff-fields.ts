import { isObject, type JsonObject, type JsonValue, stableJson } from '../base/index.ts';
import type { Skill } from './skill.ts';

/** One difference between two models, by its path: `needs.limits.timeoutMs`. What is not there is null. */
export type FieldChange = {
  field: string;
  change: 'added' | 'removed' | 'changed';
  before: JsonValue;
  after: JsonValue;
};

/** The model as nested objects, so that two can be walked side by side: tools by their name, files by their path. */
export function fieldsOf(skill: Skill): JsonObject {
  const { tools, scripts, resources, ...rest } = skill;
  return {
    ...rest,
    // `command` is the template taken apart, and a line moves with every edit above it: neither says more.
    tools: byKey(tools, ({ name, description, parameters, template }) => [name, { description, parameters, template }]),
    scripts: byKey(scripts, ({ path, ...script }) => [path, script]),
    resources: byKey(resources, ({ path, ...resource }) => [path, resource]),
  };
}

function byKey<Item>(items: readonly Item[], entry: (item: Item) => [string, JsonValue]): JsonObject {
  return Object.assign(Object.create(null), Object.fromEntries(items.map(entry)));
}

/** Every field in which the two differ; where both sides are mappings, only the entries that differ. */
export function compareFields(before: JsonObject, after: JsonObject): FieldChange[] {
  const changes: FieldChange[] = [];
  compare('', before, after, changes);
  return changes;
}

function compare(path: string, before: JsonObject, after: JsonObject, changes: FieldChange[]): void {
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const field = path === '' ? key : `${path}.${key}`;
    const [old, fresh] = [before[key], after[key]];
    if (old === undefined || fresh === undefined) {
      const change = old === undefined ? 'added' : 'removed';
      changes.push({ field, change, before: old ?? null, after: fresh ?? null });
    } else if (isObject(old) && isObject(fresh)) compare(field, old, fresh, changes);
    else if (stableJson(old) !== stableJson(fresh)) {
      changes.push({ field, change: 'changed', before: old, after: fresh });
    }
  }
}
