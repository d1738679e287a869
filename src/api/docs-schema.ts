/** JSON Schema for people: fields as a table, the rest in words. What it leaves out stands in /openapi.json. */
type Schema = {
  $ref?: string;
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  anyOf?: unknown[];
  items?: unknown;
  properties?: Record<string, unknown>;
  additionalProperties?: unknown;
  required?: string[];
  description?: string;
  format?: string;
  contentMediaType?: string;
};

const MAX_DEPTH = 4;
const MAX_CHOICES = 20;

export function renderSchema(schema: unknown, depth = 0): string {
  const { properties } = toSchema(schema);
  return properties === undefined || depth > MAX_DEPTH ? typeOf(schema) : tableOf(toSchema(schema), depth);
}

function tableOf({ properties = {}, required = [] }: Schema, depth: number): string {
  const rows = Object.entries(properties).map(([name, field]) => {
    const { description = '' } = toSchema(field);
    const need = required.includes(name) ? '' : ' <i>optional</i>';
    return `<tr><td><code>${html(name)}</code></td><td>${typeOf(field)}${need}</td><td>${prose(description)}${inner(field, depth)}</td></tr>`;
  });
  return rows.length === 0 ? 'nothing in it' : `<table>${rows.join('')}</table>`;
}

/** The fields of an object inside, of the objects of a list, or of one of several forms. */
function inner(schema: unknown, depth: number): string {
  const { properties, items, anyOf = [] } = toSchema(schema);
  if (depth >= MAX_DEPTH) return '';
  if (properties !== undefined) return renderSchema(schema, depth + 1);
  const parts = [...(items === undefined ? [] : [items]), ...anyOf];
  return parts.map(part => inner(part, depth + 1)).join('');
}

function typeOf(schema: unknown): string {
  const { $ref, const: only, enum: choices, anyOf, items, type, additionalProperties, format } = toSchema(schema);
  if ($ref !== undefined) {
    const name = html($ref.split('/').at(-1) ?? '');
    return `<a href="#schema-${name}">${name}</a>`;
  }
  if (only !== undefined) return `<code>${html(JSON.stringify(only))}</code>`;
  if (choices !== undefined) return choicesOf(choices);
  if (anyOf !== undefined) return either(anyOf.map(each => typeOf(each)));
  const types = [type ?? []].flat().map(each => {
    if (each === 'array' && items !== undefined) return `list of ${typeOf(items)}`;
    if (each === 'object' && isSchema(additionalProperties)) return `object of ${typeOf(additionalProperties)}`;
    return each === 'string' && format !== undefined ? html(format) : html(each);
  });
  return types.length === 0 ? 'any JSON' : either(types);
}

function choicesOf(choices: readonly unknown[]): string {
  const told = choices.slice(0, MAX_CHOICES).map(each => `<code>${html(JSON.stringify(each))}</code>`);
  return `${told.join(', ')}${choices.length > MAX_CHOICES ? ', …' : ''}`;
}

function either(types: readonly string[]): string {
  return [...new Set(types)].join(' or ');
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0;
}

function toSchema(value: unknown): Schema {
  return isSchema(value) ? value : {};
}

/** Text with words in backticks. */
export function prose(text: string): string {
  return html(text).replace(/`([^`]+)`/g, '<code>$1</code>');
}

export function html(text: string): string {
  return text.replace(/[&<>"']/g, each => `&#${each.charCodeAt(0)};`);
}
