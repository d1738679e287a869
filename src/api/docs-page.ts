import { createHash } from 'node:crypto';
import type { ApiDocument, Operation } from './document.ts';

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;

const STYLE = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 0 auto; padding: 1rem; }
code, pre { font: 0.9em/1.4 ui-monospace, monospace; }
pre { overflow-x: auto; padding: 0.75rem; border: 1px solid #8884; border-radius: 4px; }
details { border-top: 1px solid #8884; padding: 0.25rem 0; }
summary { cursor: pointer; padding: 0.25rem 0; }
summary b { display: inline-block; min-width: 4.5rem; }
table { border-collapse: collapse; }
td, th { text-align: left; vertical-align: top; padding: 0.15rem 1rem 0.15rem 0; }
`;

/** The document for people: one page without a script, which loads nothing from anywhere. */
export function renderDocsPage(document: ApiDocument): { html: string; styleHash: string } {
  const operations = operationsOf(document);
  const groups = (document.tags ?? []).map(({ name, description }) => {
    const own = operations.filter(({ operation }) => operation.tags?.includes(name));
    if (own.length === 0) return '';
    const items = own.map(each => renderOperation(each.method, each.path, each.operation)).join('\n');
    return `<h2 id="${html(name)}">${html(name)}</h2>\n<p>${html(description ?? '')}</p>\n${items}`;
  });
  const schemas = Object.entries(document.components.schemas).map(
    ([name, schema]) =>
      `<details id="schema-${html(name)}"><summary><code>${html(name)}</code></summary>${renderJson(schema)}</details>`,
  );
  const text = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Skillbox API</title>
<style>${STYLE}</style>
</head>
<body>
<h1>Skillbox API ${html(document.info.version)}</h1>
<p>${html(document.info.description ?? '')} The same for programs: <a href="/openapi.json">/openapi.json</a>.</p>
<p>Send <code>Authorization: Bearer KEY</code> with each request.</p>
${groups.join('\n')}
<h2 id="schemas">schemas</h2>
${schemas.join('\n')}
</body>
</html>
`;
  return { html: text, styleHash: `sha256-${createHash('sha256').update(STYLE).digest('base64')}` };
}

function operationsOf(document: ApiDocument): { method: string; path: string; operation: Operation }[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    METHODS.flatMap(method => {
      const operation = item[method];
      return operation === undefined ? [] : [{ method, path, operation }];
    }),
  );
}

function renderOperation(method: string, path: string, operation: Operation): string {
  const { summary = '', description = '', parameters = [], requestBody, responses = {} } = operation;
  const parts = [
    description === '' ? '' : `<p>${html(description)}</p>`,
    parameters.length === 0 ? '' : `<h4>parameters</h4>${renderParameters(parameters)}`,
    requestBody === undefined ? '' : `<h4>body</h4>${renderContent(requestBody.content)}`,
    '<h4>answers</h4>',
    ...Object.entries(responses).map(
      ([status, answer]) =>
        `<p><b>${html(status)}</b> ${html(answer.description)}</p>${Number(status) < 400 ? renderContent(answer.content ?? {}) : ''}`,
    ),
  ];
  const title = `<b>${method.toUpperCase()}</b> <code>${html(path)}</code> ${html(summary)}`;
  return `<details id="${html(operation.operationId ?? '')}"><summary>${title}</summary>${parts.join('\n')}</details>`;
}

function renderParameters(parameters: NonNullable<Operation['parameters']>): string {
  const rows = parameters.map(
    ({ name, in: where, required, description = '' }) =>
      `<tr><td><code>${html(name)}</code></td><td>${html(where)}${required === true ? ', required' : ''}</td><td>${html(description)}</td></tr>`,
  );
  return `<table>${rows.join('')}</table>`;
}

function renderContent(content: Record<string, { schema?: unknown }>): string {
  return Object.entries(content)
    .map(([type, { schema }]) => `<p><code>${html(type)}</code> ${renderSchema(schema)}</p>`)
    .join('');
}

function renderSchema(schema: unknown): string {
  if (schema === undefined) return '';
  const ref = typeof schema === 'object' && schema !== null && '$ref' in schema ? String(schema.$ref) : null;
  const name = ref?.split('/').at(-1);
  if (name !== undefined) return `<a href="#schema-${html(name)}">${html(name)}</a>`;
  return renderJson(schema);
}

function renderJson(value: unknown): string {
  return `<pre>${html(JSON.stringify(value, null, 2))}</pre>`;
}

function html(text: string): string {
  return text.replace(/[&<>"']/g, each => `&#${each.charCodeAt(0)};`);
}
