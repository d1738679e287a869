// A server of the same framework that does nothing: one answer of the same size by a schema, and a body in and out as a stream.
import { createReadStream, createWriteStream, statSync } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import Fastify from 'fastify';

const [body = '{}', file = '/dev/null'] = process.argv.slice(2);
const answer = JSON.parse(body) as Record<string, unknown>;
const server = Fastify({ logger: false });

/** Each field as what it is, so that the framework writes it as it writes ours. */
function schemaOf(value: unknown): Record<string, unknown> {
  if (value === null) return { type: 'null' };
  if (Array.isArray(value)) return { type: 'array', items: value.length === 0 ? {} : schemaOf(value[0]) };
  if (typeof value === 'object') {
    const properties = Object.fromEntries(Object.entries(value).map(([name, each]) => [name, schemaOf(each)]));
    return { type: 'object', properties };
  }
  return { type: typeof value };
}

server.get('/answer', { schema: { response: { 200: schemaOf(answer) } } }, async () => answer);
server.addContentTypeParser('application/zip', (_request, payload, done) => done(null, payload));
server.post('/sink', async request => {
  await pipeline(request.body as NodeJS.ReadableStream, createWriteStream(`${file}.copy`));
  return { ok: true };
});
server.get('/file', async (_request, reply) =>
  reply.header('content-length', statSync(file).size).type('application/zip').send(createReadStream(file)),
);
await server.listen({ host: '127.0.0.1', port: 0 });
const address = server.server.address();
process.stdout.write(`${typeof address === 'object' ? address?.port : ''}\n`);
