import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { ArtifactList, exactly, NO_QUERY, toSummary, toTime, UrlAnswer } from '../../wire/index.ts';
import { content, failures, NOTHING, withRest } from '../components.ts';
import { sendDownload } from '../download.ts';
import type { ApiServer } from '../server.ts';
import { absolute, type RouteContext } from './context.ts';
import { ID_PARAMS } from './executions.ts';

const REDIRECT = exactly({
  redirect: Type.Optional(Type.Boolean({ description: 'answer with a signed URL of the store instead of the bytes' })),
});
const MAX_URL_SECONDS = 7 * 24 * 3600;
const MOVED = { ...NOTHING, description: 'Location is a URL that anybody may fetch until it expires.' };

/** SB-09: the files of an execution, one by one and all together. */
export function artifactRoutes(server: ApiServer, context: RouteContext): void {
  const send = async (request: FastifyRequest, reply: FastifyReply, id: string, path: string | null, away: boolean) => {
    const { runs } = request.service;
    if (away) {
      const url = await runs.artifactUrl(id, path, context.limits.urlSeconds);
      return reply
        .code(302)
        .header('location', absolute(url, request, context))
        .send();
    }
    const { artifact, content: bytes } = await runs.artifact(id, path);
    return sendDownload(reply, {
      filename: path === null ? `${id}.tar.gz` : artifact.path,
      type: path === null ? 'application/gzip' : 'application/octet-stream',
      bytes: artifact.bytes,
      sha256: artifact.sha256,
      content: bytes,
    });
  };

  server.get(
    '/v1/executions/:id/artifacts',
    {
      config: { scope: 'read' },
      schema: {
        operationId: 'listArtifacts',
        tags: ['artifacts'],
        summary: 'The files that an execution left',
        params: ID_PARAMS,
        querystring: NO_QUERY,
        response: { 200: ArtifactList, ...failures(404) },
      },
    },
    async request => {
      const { artifacts, archive } = toSummary(await request.service.runs.get(request.params.id));
      return { artifacts, archive };
    },
  );

  server.get(
    '/v1/executions/:id/artifacts.tar.gz',
    {
      config: { scope: 'read' },
      schema: {
        operationId: 'downloadArtifacts',
        tags: ['artifacts'],
        summary: 'All files of an execution as one tar.gz',
        params: ID_PARAMS,
        querystring: REDIRECT,
        response: { 200: content('application/gzip', 'The archive.'), 302: MOVED, ...failures(404) },
      },
    },
    (request, reply) => send(request, reply, request.params.id, null, request.query.redirect ?? false),
  );

  server.get(
    '/v1/executions/:id/artifacts/*',
    {
      config: { scope: 'read' },
      schema: {
        operationId: 'downloadArtifact',
        tags: ['artifacts'],
        summary: 'One file of an execution',
        params: withRest(ID_PARAMS),
        querystring: REDIRECT,
        response: { 200: content('application/octet-stream', 'The file.'), 302: MOVED, ...failures(404) },
      },
    },
    (request, reply) => send(request, reply, request.params.id, request.params['*'], request.query.redirect ?? false),
  );

  server.get(
    '/v1/executions/:id/artifact-url',
    {
      config: { scope: 'read' },
      schema: {
        operationId: 'signArtifactUrl',
        tags: ['artifacts'],
        summary: 'A URL for one file, or for all of them, that anybody may fetch until it expires',
        params: ID_PARAMS,
        querystring: exactly({
          path: Type.Optional(Type.String({ maxLength: 4096, description: 'without it: the tar.gz' })),
          seconds: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_URL_SECONDS })),
        }),
        response: { 200: UrlAnswer, ...failures(404) },
      },
    },
    async request => {
      const { path = null, seconds = context.limits.urlSeconds } = request.query;
      const expiresAt = toTime(Date.now() + seconds * 1000);
      const url = await request.service.runs.artifactUrl(request.params.id, path, seconds);
      return { url: absolute(url, request, context), expires_at: expiresAt };
    },
  );
}
