import { Type } from 'typebox';
import {
  ActivationAnswer,
  DiffAnswer,
  exactly,
  NO_QUERY,
  ScriptList,
  SkillFileList,
  ToolList,
  toDiff,
  toSkillDetail,
  toWanted,
} from '../../wire/index.ts';
import { component, content, failures, withRest } from '../components.ts';
import { sendDownload } from '../download.ts';
import type { ApiServer } from '../server.ts';
import { textOf } from '../text.ts';
import { NAME_PARAMS, SKILL_PARAMS } from './skills.ts';

/** AS-12: what is in a published skill. */
export function skillContentRoutes(server: ApiServer): void {
  detailRoutes(server);
  fileRoutes(server);
}

function detailRoutes(server: ApiServer): void {
  server.get(
    '/v1/skills/:name/:version',
    {
      config: { scope: 'read' },
      schema: {
        operationId: 'getSkill',
        tags: ['skills'],
        summary: 'What a skill is, with its instructions, tools and scripts',
        params: SKILL_PARAMS,
        querystring: NO_QUERY,
        response: { 200: component('SkillDetail'), ...failures(404) },
      },
    },
    async ({ service, params }) => toSkillDetail(await service.skills.describe(params.name, toWanted(params.version))),
  );

  server.get(
    '/v1/skills/:name/:version/tools',
    {
      config: { scope: 'read' },
      schema: {
        operationId: 'listTools',
        tags: ['skills'],
        summary: 'The tools of a skill; an execution with `tool` runs one',
        params: SKILL_PARAMS,
        querystring: NO_QUERY,
        response: { 200: ToolList, ...failures(404) },
      },
    },
    async ({ service, params }) => {
      const { name, version, tools } = toSkillDetail(
        await service.skills.describe(params.name, toWanted(params.version)),
      );
      return { name, version, tools };
    },
  );

  server.get(
    '/v1/skills/:name/:version/scripts',
    {
      config: { scope: 'read' },
      schema: {
        operationId: 'listScripts',
        tags: ['skills'],
        summary: 'The scripts of a skill; an execution with `script` runs one',
        params: SKILL_PARAMS,
        querystring: NO_QUERY,
        response: { 200: ScriptList, ...failures(404) },
      },
    },
    async ({ service, params }) => {
      const { name, version, scripts } = await service.skills.describe(params.name, toWanted(params.version));
      return { name, version, scripts };
    },
  );

  server.post(
    '/v1/skills/:name/:version/activate',
    {
      config: { scope: 'read' },
      schema: {
        operationId: 'activateSkill',
        tags: ['catalog'],
        summary: 'What a model reads of a skill once it has chosen it',
        params: SKILL_PARAMS,
        querystring: NO_QUERY,
        response: { 200: ActivationAnswer, ...failures(404) },
      },
    },
    ({ service, params }) => service.catalog.activate(params.name, toWanted(params.version)),
  );

  server.get(
    '/v1/skills/:name/diff',
    {
      config: { scope: 'read' },
      schema: {
        operationId: 'diffSkill',
        tags: ['skills'],
        summary: 'What differs between two versions',
        params: NAME_PARAMS,
        querystring: exactly({
          from: Type.Optional(Type.String({ minLength: 1, maxLength: 256, description: 'without it: latest' })),
          to: Type.String({ minLength: 1, maxLength: 256 }),
        }),
        response: { 200: DiffAnswer, ...failures(404) },
      },
    },
    async ({ service, params: { name }, query }) => {
      const [from, to] = await Promise.all(
        [query.from ?? 'latest', query.to].map(
          async wanted => (await service.skills.resolve(name, toWanted(wanted))).version,
        ),
      );
      const sides = { from: from ?? '', to: to ?? '' };
      return toDiff(name, sides.from, sides.to, await service.skills.diff(name, sides.from, sides.to));
    },
  );
}

function fileRoutes(server: ApiServer): void {
  server.get(
    '/v1/skills/:name/:version/download',
    {
      config: { scope: 'read' },
      schema: {
        operationId: 'downloadSkill',
        tags: ['skills'],
        summary: 'The zip as it was published',
        params: SKILL_PARAMS,
        querystring: NO_QUERY,
        response: { 200: content('application/zip', 'The archive.'), ...failures(404) },
      },
    },
    async ({ service, params }, reply) => {
      const { skill, content: bytes } = await service.skills.download(params.name, toWanted(params.version));
      const filename = `${skill.name}-${skill.version}.zip`;
      const { archive } = skill;
      return sendDownload(reply, { filename, type: 'application/zip', ...archive, content: bytes });
    },
  );

  server.get(
    '/v1/skills/:name/:version/files',
    {
      config: { scope: 'read' },
      schema: {
        operationId: 'listSkillFiles',
        tags: ['skills'],
        summary: 'The files of a skill; with `path` one of them and its text',
        description: '`content` is null in the list, and for a file that is no text or a very long one.',
        params: SKILL_PARAMS,
        querystring: exactly({ path: Type.Optional(Type.String({ minLength: 1, maxLength: 4096 })) }),
        response: { 200: SkillFileList, ...failures(404) },
      },
    },
    async ({ service, params, query }) => {
      const wanted = toWanted(params.version);
      if (query.path === undefined) {
        const { files } = await service.skills.describe(params.name, wanted);
        return files.map(({ path, bytes }) => ({ path, size_bytes: bytes, content: null }));
      }
      const file = await service.skills.file(params.name, wanted, query.path);
      return [{ path: file.path, size_bytes: file.bytes, content: await textOf(file.content, file.bytes) }];
    },
  );

  server.get(
    '/v1/skills/:name/:version/files/*',
    {
      config: { scope: 'read' },
      schema: {
        operationId: 'downloadSkillFile',
        tags: ['skills'],
        summary: 'One file of a skill, as it is',
        params: withRest(SKILL_PARAMS),
        querystring: NO_QUERY,
        response: { 200: content('application/octet-stream', 'The file.'), ...failures(404) },
      },
    },
    async ({ service, params }, reply) => {
      const {
        path,
        bytes,
        sha256,
        content: body,
      } = await service.skills.file(params.name, toWanted(params.version), params['*']);
      return sendDownload(reply, { filename: path, type: 'application/octet-stream', bytes, sha256, content: body });
    },
  );
}
