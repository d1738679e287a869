import type { RouteScope } from './caller.ts';
import { renderDocsPage } from './docs-page.ts';
import type { ApiServer } from './server.ts';

/** OpenAPI 3.1, as far as it is read here. */
export type ApiDocument = {
  openapi: string;
  info: { title: string; version: string; description?: string };
  tags?: { name: string; description?: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, unknown> };
};
export type Operation = {
  operationId?: string;
  summary?: string;
  description?: string;
  tags?: string[];
  parameters?: { name: string; in: string; required?: boolean; description?: string; schema?: unknown }[];
  requestBody?: { content: Record<string, { schema?: unknown }> };
  /** Which keys may: ours, beside what OpenAPI has words for. */
  'x-scope'?: RouteScope;
  responses?: Record<string, { description: string; content?: Record<string, { schema?: unknown }> }>;
};

const TAGS: readonly { name: string; description: string }[] = [
  { name: 'executions', description: 'Run skills, follow them, end them.' },
  { name: 'artifacts', description: 'The files that executions leave.' },
  { name: 'skills', description: 'Publish skills and find them.' },
  { name: 'catalog', description: 'What a model is told of skills.' },
  { name: 'mcp', description: 'Skills for agents.' },
  { name: 'approvals', description: 'What waits for a person.' },
  { name: 'policy', description: 'Which rule decides.' },
  { name: 'secrets', description: 'Written, never read back.' },
  { name: 'keys', description: 'Who may call.' },
  { name: 'tenants', description: 'Who shares this server.' },
  { name: 'audit', description: 'What happened.' },
];

/** Must come before the routes: it takes note of each as it is registered. */
export async function documentRoutes(server: ApiServer, version: string): Promise<void> {
  const { default: swagger } = await import('@fastify/swagger');
  await server.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Skillbox',
        version,
        description: 'Publish agent skills and run them in sandboxes.',
        license: { name: 'MIT', identifier: 'MIT' },
      },
      tags: [...TAGS],
      components: { securitySchemes: { key: { type: 'http', scheme: 'bearer', description: 'An API key.' } } },
      security: [{ key: [] }],
    },
    hideUntagged: true,
    transform: ({ schema, url, route }) => describe(schema as RouteSchema, url, route.config?.scope),
    refResolver: { buildLocalReference: ({ $id }) => (typeof $id === 'string' ? $id : '') },
  });
}

type RouteSchema = { consumes?: string[]; body?: unknown; params?: { properties: Record<string, unknown> } };

/** What the framework's words for a route lack: a name for the rest of a path, and bodies that are not JSON. */
function describe(
  schema: RouteSchema | undefined,
  url: string,
  scope: RouteScope | undefined,
): { schema: object; url: string } {
  const { params, consumes, ...others } = schema ?? {};
  const rest = url.endsWith('*') ? { path: { type: 'string', description: 'its path, slashes and all' } } : {};
  const described = {
    ...others,
    'x-scope': scope,
    ...(params === undefined ? {} : { params: { ...params, properties: { ...params.properties, ...rest } } }),
    ...(consumes === undefined ? {} : { body: { content: Object.fromEntries(consumes.map(uploadOf)) } }),
  };
  return { schema: described, url: url.replace(/\*$/, ':path') };
}

function uploadOf(type: string): [string, { schema: object }] {
  const file = { type: 'string', contentMediaType: type };
  if (type !== 'multipart/form-data') return [type, { schema: file }];
  return [type, { schema: { type: 'object', required: ['file'], properties: { file: { type: 'string' } } } }];
}

/** The document itself, and a page of it for people. Both are made once, when first asked for. */
export function documentPages(server: ApiServer): void {
  let json: string | null = null;
  let page: ReturnType<typeof renderDocsPage> | null = null;
  const document = () => server.swagger() as unknown as ApiDocument;
  server.get('/openapi.json', { config: { scope: 'anyone' }, schema: { hide: true } }, async (_request, reply) => {
    json ??= JSON.stringify(document());
    return reply.type('application/json; charset=utf-8').send(json);
  });
  server.get('/docs', { config: { scope: 'anyone' }, schema: { hide: true } }, async (_request, reply) => {
    page ??= renderDocsPage(document());
    return reply
      .header('content-security-policy', `default-src 'none'; style-src '${page.styleHash}'; frame-ancestors 'none'`)
      .type('text/html; charset=utf-8')
      .send(page.html);
  });
}
