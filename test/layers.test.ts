import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../src');

/** Imports go downwards only: each module names the modules that it may use, besides itself. */
const MAY_USE: Record<string, readonly string[]> = {
  base: [],
  skill: ['base'],
  dialects: ['base', 'skill'],
  catalog: ['base', 'skill', 'dialects', 'policy'],
  sandbox: ['base'],
  workspace: ['base'],
  egress: ['base'],
  broker: ['base', 'egress'],
  // Sealed rows are kept by the store; what they hold is known here.
  secrets: ['base', 'skill', 'audit', 'store', 'egress', 'broker'],
  layers: ['base', 'skill', 'sandbox', 'egress'],
  store: ['base', 'audit'],
  images: ['base'],
  // The judge sees facts only, the journal only what it is told.
  policy: ['base', 'skill'],
  audit: ['base'],
  // Answers are kept by the store; what they are worth is said here.
  approvals: ['base', 'policy', 'store', 'audit'],
  runs: [
    'base',
    'skill',
    'dialects',
    'images',
    'approvals',
    'sandbox',
    'layers',
    'store',
    'egress',
    'policy',
    'audit',
    'secrets',
    'broker',
  ],
  // What a server does with runs beyond one run.
  executions: ['base', 'audit', 'runs', 'layers', 'sandbox', 'store', 'service'],
  // The contract of every entrance; types but for two lists of words.
  service: ['base', 'skill'],
  // Keys and tenants are kept by the store; who they let in is said here.
  callers: ['base', 'audit', 'store', 'service'],
  // What is published; it is given rows and blobs, and starts nothing.
  registry: ['base', 'skill', 'dialects', 'audit', 'store', 'service'],
  // An entrance like the others: it knows the contract, and nothing of what is behind it.
  api: ['base', 'service', 'wire'],
  // The contract as JSON, for both ends of HTTP; of skills it needs types only.
  wire: ['base', 'skill', 'service'],
  // The other end of HTTP. Of the modules that it enters, a bundle keeps only what knows no Node: a test says so.
  client: ['base', 'service', 'wire'],
  // The table of settings: it knows what may be said, never what is done with it.
  // Of the service it needs a list of words.
  config: ['base', 'service'],
  'drivers.ts': ['base', 'sandbox', 'config'],
  // The only wiring.
  'parts.ts': [
    'drivers.ts',
    'base',
    'approvals',
    'images',
    'runs',
    'layers',
    'sandbox',
    'store',
    'policy',
    'audit',
    'secrets',
    'broker',
  ],
  // What is published, over the same parts.
  'published.ts': ['parts.ts', 'audit', 'registry', 'runs', 'secrets', 'service', 'skill'],
  // The other half of the entrances: what one caller of a server can do.
  'in-process': [
    'parts.ts',
    'published.ts',
    'base',
    'skill',
    'dialects',
    'catalog',
    'approvals',
    'audit',
    'callers',
    'executions',
    'registry',
    'runs',
    'service',
    'store',
  ],
  'app.ts': [
    'executions',
    'parts.ts',
    'published.ts',
    'drivers.ts',
    'base',
    'skill',
    'service',
    'approvals',
    'images',
    'runs',
    'layers',
    'sandbox',
    'store',
    'policy',
    'audit',
    'catalog',
    'secrets',
    'broker',
    'scan',
    'install',
  ],
  // Which store the configuration names; and the light half of a server's wiring, for those who look after its keys.
  'stores.ts': ['base', 'config', 'store'],
  'people.ts': ['callers', 'config', 'runs', 'service', 'store', 'stores.ts'],
  // A server on what is behind it, as the configuration says.
  'serving.ts': ['api', 'callers', 'config', 'service'],
  // All of a server, on the store that the configuration names.
  'server.ts': [
    'api',
    'base',
    'callers',
    'config',
    'in-process',
    'local.ts',
    'mcp',
    'parts.ts',
    'people.ts',
    'registry',
    'runs',
    'serving.ts',
    'store',
    'stores.ts',
  ],
  scan: ['base', 'skill', 'dialects'],
  // Reads and compares; what it is told of runs and answers, an entrance has brought about.
  skilltest: ['base', 'skill', 'dialects', 'catalog'],
  // The light half of the wiring: a catalog starts nothing, so it loads no store and no sandbox.
  'disclose.ts': ['base', 'skill', 'policy', 'catalog'],
  // One look into the store's file without the store; test/store holds it to what the store writes.
  'recent.ts': ['config'],
  // Writes files that it was shown first; trust and the journal are others' affair.
  install: ['base', 'skill', 'dialects', 'catalog', 'scan'],
  // An entrance never imports store, sandbox or policy: what it needs of them, app.ts gives. Readers it may use itself.
  cli: [
    'base',
    'skill',
    'dialects',
    'catalog',
    'scan',
    'skilltest',
    'install',
    'agent',
    'mcp',
    'app.ts',
    'disclose.ts',
    'drivers.ts',
    'local.ts',
    'loopback.ts',
    'recent.ts',
    'config',
    'service',
    'client',
    'wire',
    'people.ts',
    'server.ts',
  ],
  mcp: ['base', 'agent', 'app.ts', 'service'],
  // What both MCP and function calling offer.
  // On a machine of one's own over app.ts, on a server over the contract; of both it needs types only.
  agent: ['base', 'skill', 'dialects', 'catalog', 'workspace', 'app.ts', 'disclose.ts', 'service'],
  // MCP by HTTP on one machine, behind the door of a server.
  'loopback.ts': ['agent', 'api', 'base', 'callers', 'mcp'],
  // The settings of this machine, for the two halves of the wiring.
  'local.ts': ['config', 'stores.ts', 'app.ts', 'disclose.ts', 'drivers.ts'],
  'open.ts': ['agent', 'app.ts', 'disclose.ts', 'local.ts', 'config'],
  'index.ts': ['base', 'skill', 'dialects', 'catalog', 'scan', 'agent', 'app.ts', 'disclose.ts', 'open.ts'],
};

type Import = { from: string; file: string; to: string; path: string };

function importsOf(file: string): Import[] {
  const text = readFileSync(join(root, file), 'utf8');
  const found = text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g);
  return Array.from(found, match => {
    const path = relative(root, resolve(root, file, '..', match[1] ?? ''));
    return { from: topOf(file), file, to: topOf(path), path };
  });
}

function topOf(path: string): string {
  return path.split('/')[0] ?? path;
}

const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(file => file.endsWith('.ts'));
const imports = files.flatMap(importsOf);

describe('layers', () => {
  test('every module stands in the table', () => {
    expect([...new Set(files.map(topOf))].filter(name => !(name in MAY_USE))).toEqual([]);
  });

  test('imports go downwards only', () => {
    const wrong = imports.filter(({ from, to }) => from !== to && !MAY_USE[from]?.includes(to));
    expect(wrong.map(({ file, path }) => `${file} imports ${path}`)).toEqual([]);
  });

  test('a module is entered through its index', () => {
    const wrong = imports.filter(({ from, to, path }) => from !== to && path !== `${to}/index.ts` && path !== to);
    expect(wrong.map(({ file, path }) => `${file} imports ${path}`)).toEqual([]);
  });

  test('the S3 library is loaded with the first request to a bucket, and not before', () => {
    const users = files.filter(file =>
      /^import (?!type )[^;]*'@aws-sdk\//m.test(readFileSync(join(root, file), 'utf8')),
    );
    expect(users).toEqual([]);
  });

  test('the MCP SDK is loaded by one command, by a server that speaks it, and by who installs from an MCP server', () => {
    const users = files.filter(file => readFileSync(join(root, file), 'utf8').includes("from '@modelcontextprotocol/"));
    expect(users.filter(file => topOf(file) !== 'mcp')).toEqual(['install/mcp-session.ts']);
    const loaders = files.filter(file => /from '[^']*mcp-session\.ts'/.test(readFileSync(join(root, file), 'utf8')));
    // Types are no loading; the one import that is, waits until such a source is named.
    expect(loaders).toEqual(['install/mcp-shelf.ts']);
    const shelf = readFileSync(join(root, 'install/mcp-shelf.ts'), 'utf8');
    expect(shelf).toContain("import type { McpSession } from './mcp-session.ts'");
    expect(shelf).toContain("await import('./mcp-session.ts')");
    const enter = new Set(imports.filter(({ from, to }) => to === 'mcp' && from !== 'mcp').map(({ file }) => file));
    expect([...enter].sort()).toEqual(['cli/commands/mcp.ts', 'loopback.ts', 'server.ts']);
    expect(readFileSync(join(root, 'server.ts'), 'utf8')).toContain("await import('./mcp/index.ts')");
  });

  test('what only a server needs is loaded by nobody else', () => {
    const heavy = ['fastify', '@fastify/', 'pino', 'prom-client'];
    const users = files.filter(file => {
      const text = readFileSync(join(root, file), 'utf8');
      return heavy.some(name => new RegExp(`(?:from|import)\\s*\\(?\\s*'${name}`).test(text));
    });
    expect(users.filter(file => topOf(file) !== 'api')).toEqual([]);
    const entered = imports.filter(({ from, to }) => to === 'api' && from !== 'api').map(({ from }) => from);
    expect([...new Set(entered)].sort()).toEqual(['loopback.ts', 'server.ts', 'serving.ts']);
    // Over standard input and output nothing of a server is loaded.
    expect(readFileSync(join(root, 'cli/commands/mcp.ts'), 'utf8')).toContain("await import('../../loopback.ts')");
    expect(imports.filter(({ to }) => to === 'loopback.ts').map(({ file }) => file)).toEqual(['cli/commands/mcp.ts']);
  });
});
