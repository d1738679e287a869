import { createHash } from 'node:crypto';
import type { RouteScope } from './caller.ts';
import { html, prose, renderSchema } from './docs-schema.ts';
import type { ApiDocument, Operation } from './document.ts';

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;

const STYLE = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; --line: #8884; --tint: #8881; }
body { max-width: 64rem; margin: 0 auto; padding: 1rem; }
nav { display: flex; flex-wrap: wrap; gap: 0 1rem; }
details p { margin: 0.25rem 0; }
h2 { margin: 2rem 0 0.25rem; }
h4 { margin: 1rem 0 0.25rem; }
h2 + p { margin-top: 0; opacity: 0.75; }
code { font: 0.9em/1.4 ui-monospace, monospace; background: var(--tint); padding: 0.1em 0.3em; border-radius: 4px; }
i { opacity: 0.65; font-size: 0.9em; }
details { border-top: 1px solid var(--line); padding: 0.25rem 0; }
details[open] { padding-bottom: 1rem; }
summary { cursor: pointer; padding: 0.25rem 0; }
summary b { display: inline-block; min-width: 4.5rem; }
summary code { background: none; font-weight: 600; }
table { border-collapse: collapse; width: 100%; }
td { vertical-align: top; padding: 0.25rem 1rem 0.25rem 0; border-bottom: 1px solid var(--tint); }
td td { border: 0; }
td:first-child { white-space: nowrap; }
@media (max-width: 40rem) { td { display: block; border: 0; padding: 0 0 0.1rem; } tr { display: block; padding: 0.4rem 0; } }
`;

/** The document for people: one page without a script, which loads nothing from anywhere. */
export function renderDocsPage(document: ApiDocument): { html: string; styleHash: string } {
  const operations = operationsOf(document);
  const used = (document.tags ?? []).filter(({ name }) => operations.some(each => each.operation.tags?.includes(name)));
  const groups = used.map(({ name, description }) => {
    const own = operations.filter(({ operation }) => operation.tags?.includes(name));
    const items = own.map(each => renderOperation(each.method, each.path, each.operation)).join('\n');
    return `<h2 id="${html(name)}">${html(name)}</h2>\n<p>${html(description ?? '')}</p>\n${items}`;
  });
  const schemas = Object.entries(document.components.schemas).map(
    ([name, schema]) =>
      `<details id="schema-${html(name)}"><summary><code>${html(name)}</code></summary>${renderSchema(schema)}</details>`,
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
<p>Send <code>Authorization: Bearer KEY</code> with each request. Every refusal is an <a href="#schema-Error">Error</a> with a hint.</p>
<nav>${[...used.map(({ name }) => name), 'schemas'].map(name => `<a href="#${html(name)}">${html(name)}</a>`).join('')}</nav>
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
    description === '' ? '' : `<p>${prose(description)}</p>`,
    `<p><i>${html(whoMay(operation['x-scope']))}</i></p>`,
    parameters.length === 0 ? '' : `<h4>parameters</h4>${renderParameters(parameters)}`,
    requestBody === undefined ? '' : `<h4>body</h4>${renderContent(requestBody.content)}`,
    '<h4>answers</h4>',
    ...Object.entries(responses).map(
      ([status, answer]) =>
        `<p><b>${html(status)}</b> ${prose(answer.description)}</p>${Number(status) < 400 ? renderContent(answer.content ?? {}) : ''}`,
    ),
  ];
  const title = `<b>${method.toUpperCase()}</b> <code>${html(path)}</code> ${html(summary)}`;
  return `<details id="${html(operation.operationId ?? '')}"><summary>${title}</summary>${parts.join('\n')}</details>`;
}

function renderParameters(parameters: NonNullable<Operation['parameters']>): string {
  const rows = parameters.map(
    ({ name, in: where, required, description = '' }) =>
      `<tr><td><code>${html(name)}</code></td><td>${html(where)}${required === true ? ', required' : ''}</td><td>${prose(description)}</td></tr>`,
  );
  return `<table>${rows.join('')}</table>`;
}

function renderContent(content: Record<string, { schema?: unknown }>): string {
  return Object.entries(content)
    .map(
      ([type, { schema }]) =>
        `<div><code>${html(type)}</code> ${schema === undefined ? '' : renderSchema(schema)}</div>`,
    )
    .join('');
}

function whoMay(scope: RouteScope | undefined): string {
  if (scope === 'anyone') return 'for anybody, without a key';
  if (scope === 'caller' || scope === undefined) return 'for every key';
  return `for keys with the scope ${[scope].flat().join(' or ')}`;
}
