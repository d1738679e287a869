import type { FastifyInstance } from 'fastify';
import { SkillboxError } from '../base/index.ts';

type Known = { pattern: RegExp; methods: Set<string> };

/** Remembers every route, to tell a path that is not there from a method that is not taken there. */
export function refuseUnknown(server: FastifyInstance): void {
  const known = new Map<string, Known>();
  server.addHook('onRoute', ({ url, method }) => {
    const entry = known.get(url) ?? { pattern: toPattern(url), methods: new Set() };
    for (const name of [method].flat()) entry.methods.add(name);
    known.set(url, entry);
  });
  server.setNotFoundHandler((request, reply) => {
    const [path = ''] = request.url.split('?', 1);
    const methods = [...known.values()]
      .filter(({ pattern }) => pattern.test(path))
      .flatMap(entry => [...entry.methods]);
    if (methods.length === 0)
      throw new SkillboxError('NOT_FOUND', 'there is nothing at this path', { hint: '/docs lists every path.' });
    const allowed = [...new Set(methods)].sort().join(', ');
    reply.header('allow', allowed);
    throw new SkillboxError('METHOD_REFUSED', `this path takes ${allowed}`);
  });
}

function toPattern(url: string): RegExp {
  const parts = url.split('/').map(part => {
    if (part.startsWith(':')) return '[^/]+';
    return part === '*' ? '.*' : part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  });
  return new RegExp(`^${parts.join('/')}$`);
}
