import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { SkillboxError } from '../../base/index.ts';
import type { Published, PublishOptions, SkillService } from '../../service/index.ts';
import {
  exactly,
  NamePart,
  NO_QUERY,
  PublishedAnswer,
  SkillFilter,
  TagRequest,
  toPublished,
  toSkill,
  toWanted,
  VersionList,
  VersionPart,
  YankRequest,
} from '../../wire/index.ts';
import { component, failures, NOTHING } from '../components.ts';
import type { ApiServer } from '../server.ts';
import { archiveOf, leaveRest, takeArchives } from '../upload.ts';
import type { RouteContext } from './context.ts';

export const NAME_PARAMS = exactly({ name: NamePart });
export const SKILL_PARAMS = exactly({ name: NamePart, version: VersionPart });
const TAG_PARAMS = exactly({ name: NamePart, tag: Type.String({ minLength: 1, maxLength: 256 }) });
const PAGE = 1000;

/** SB-14 and beyond: publish, find, take back. */
export function skillRoutes(server: ApiServer, context: RouteContext): void {
  publishRoute(server, context);
  listRoutes(server);
  changeRoutes(server);
}

function publishRoute(server: ApiServer, { limits }: RouteContext): void {
  server.register(async (scoped: ApiServer) => {
    await takeArchives(scoped, limits.maxUploadBytes);
    scoped.post(
      '/v1/skills',
      {
        config: { scope: 'publish' },
        schema: {
          operationId: 'publishSkill',
          tags: ['skills'],
          summary: 'Publish a version of a skill',
          description:
            'A zip as the body, or as the file `file` of a form. A version is published once and never changes.',
          consumes: ['application/zip', 'application/octet-stream', 'multipart/form-data'],
          querystring: exactly({
            tag: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 256 }), { maxItems: 20 })),
            version: Type.Optional(
              Type.String({ minLength: 1, maxLength: 256, description: 'for skills that carry none' }),
            ),
          }),
          response: {
            200: { ...PublishedAnswer, description: 'This very content was there already.' },
            201: { ...PublishedAnswer, description: 'It is published.' },
            ...failures(409, 413, 415, 422, 507),
          },
        },
      },
      async (request, reply) => {
        const { tag: tags = [], version = null } = request.query;
        const published = await publishArchive(request, reply, { tags, version }, limits.maxUploadBytes);
        const { name, version: given } = published.skill;
        reply.header('location', `/v1/skills/${encodeURIComponent(name)}/${encodeURIComponent(given)}`);
        return reply.code(published.created ? 201 : 200).send(toPublished(published));
      },
    );
  });
}

async function publishArchive(
  request: FastifyRequest,
  reply: FastifyReply,
  options: PublishOptions,
  maxBytes: number,
): Promise<Published> {
  try {
    return await request.service.skills.publish(await archiveOf(request, maxBytes), options);
  } catch (error) {
    leaveRest(request, reply);
    throw error;
  }
}

function listRoutes(server: ApiServer): void {
  server.get(
    '/v1/skills',
    {
      config: { scope: 'read' },
      schema: {
        operationId: 'listSkills',
        tags: ['skills'],
        summary: 'One entry for each skill: its latest version',
        description: 'The header Link leads to the next part where there is one.',
        querystring: SkillFilter,
        response: { 200: Type.Array(component('Skill')), ...failures() },
      },
    },
    async (request, reply) => {
      const { q, tag, status = 'available', limit = PAGE, after } = request.query;
      if (status !== 'available' && status !== 'all') return [];
      const filter = { query: q ?? null, tag: tag ?? null, limit, after: after ?? null };
      const { items, next } = await request.service.skills.list(filter);
      if (next !== null) reply.header('link', nextLink({ q, tag, limit, after: next }));
      return items.map(toSkill);
    },
  );

  server.get(
    '/v1/skills/:name/versions',
    {
      config: { scope: 'read' },
      schema: {
        operationId: 'listVersions',
        tags: ['skills'],
        summary: 'Every version of a skill, the highest first',
        params: NAME_PARAMS,
        querystring: NO_QUERY,
        response: { 200: VersionList, ...failures(404) },
      },
    },
    async request => {
      const { skills } = request.service;
      const { name } = request.params;
      const [versions, latest] = await Promise.all([skills.versions(name), latestOf(skills, name)]);
      return versions.map(skill => ({ ...toSkill(skill), active: skill.version === latest }));
    },
  );

  server.get(
    '/v1/skills/:name/:version/resolve',
    {
      config: { scope: 'read' },
      schema: {
        operationId: 'resolveSkill',
        tags: ['skills'],
        summary: 'Say which version is meant by a range, a tag, or latest',
        params: SKILL_PARAMS,
        querystring: NO_QUERY,
        response: { 200: component('Skill'), ...failures(404) },
      },
    },
    async ({ service, params }) => toSkill(await service.skills.resolve(params.name, toWanted(params.version))),
  );
}

function changeRoutes(server: ApiServer): void {
  server.delete(
    '/v1/skills/:name/:version',
    {
      config: { scope: 'publish' },
      schema: {
        operationId: 'deleteSkill',
        tags: ['skills'],
        summary: 'Yank a version: nobody is offered it any more',
        description: 'What runs of it there are stay as they are, and its bytes are kept for them.',
        params: SKILL_PARAMS,
        querystring: exactly({ reason: Type.Optional(Type.String({ maxLength: 1024 })) }),
        response: { 204: NOTHING, ...failures(404) },
      },
    },
    async ({ service, params, query }, reply) => {
      await service.skills.yank(params.name, await exactVersion(service.skills, params), query.reason ?? '');
      return reply.code(204).send();
    },
  );

  server.post(
    '/v1/skills/:name/:version/yank',
    {
      config: { scope: 'publish' },
      schema: {
        operationId: 'yankSkill',
        tags: ['skills'],
        summary: 'Yank a version and say why',
        params: SKILL_PARAMS,
        body: YankRequest,
        querystring: NO_QUERY,
        response: { 200: component('Skill'), ...failures(404, 415) },
      },
    },
    async ({ service, params, body }) =>
      toSkill(await service.skills.yank(params.name, await exactVersion(service.skills, params), body.reason)),
  );

  server.post(
    '/v1/skills/:name/:version/unyank',
    {
      config: { scope: 'publish' },
      schema: {
        operationId: 'unyankSkill',
        tags: ['skills'],
        summary: 'Offer a yanked version again',
        params: SKILL_PARAMS,
        querystring: NO_QUERY,
        response: { 200: component('Skill'), ...failures(404) },
      },
    },
    async ({ service, params }) => toSkill(await service.skills.unyank(params.name, params.version)),
  );

  server.put(
    '/v1/skills/:name/tags/:tag',
    {
      config: { scope: 'publish' },
      schema: {
        operationId: 'tagSkill',
        tags: ['skills'],
        summary: 'Give a version a tag; another version that has it loses it',
        params: TAG_PARAMS,
        body: TagRequest,
        querystring: NO_QUERY,
        response: { 200: component('Skill'), ...failures(404, 415) },
      },
    },
    async ({ service, params, body }) => toSkill(await service.skills.tag(params.name, params.tag, body.version)),
  );

  server.delete(
    '/v1/skills/:name/tags/:tag',
    {
      config: { scope: 'publish' },
      schema: {
        operationId: 'untagSkill',
        tags: ['skills'],
        summary: 'Take a tag away',
        params: TAG_PARAMS,
        querystring: NO_QUERY,
        response: { 204: NOTHING, ...failures(404) },
      },
    },
    async ({ service, params }, reply) => {
      await service.skills.untag(params.name, params.tag);
      return reply.code(204).send();
    },
  );
}

/** The published clients may say `latest` where one version is meant; nothing else stands for one when it is taken back. */
async function exactVersion(
  skills: SkillService,
  { name, version }: { name: string; version: string },
): Promise<string> {
  return version === 'latest' ? (await skills.resolve(name, null)).version : version;
}

/** null when all of them are yanked. */
async function latestOf(skills: SkillService, name: string): Promise<string | null> {
  try {
    return (await skills.resolve(name, null)).version;
  } catch (error) {
    if (error instanceof SkillboxError && error.code === 'NOT_FOUND') return null;
    throw error;
  }
}

function nextLink(query: Record<string, string | number | undefined>): string {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) words.set(name, String(value));
  return `</v1/skills?${words.toString()}>; rel="next"`;
}
