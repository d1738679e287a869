import { type Shape, shape } from '../base/index.ts';
import type { SkillService } from '../service/index.ts';
import { fromDiff, fromPublished, fromSkill, fromSkillDetail } from '../wire/index.ts';
import { DIFF, PUBLISHED, SKILL, SKILL_DETAIL } from './answers.ts';
import { readJson } from './bodies.ts';
import { bodyOf, bytesOf, digestOf, lengthOf } from './bytes.ts';
import type { Transport } from './transport.ts';

/** The most that the server gives at once. */
const MAX_PAGE = 1000;

export function createSkills(transport: Transport): SkillService {
  const path = (...parts: string[]) => ['v1', 'skills', ...parts];
  const read = <T>(as: Shape<T>, ...parts: string[]) =>
    transport.json({ method: 'GET', path: path(...parts), safety: 'always' }, as);
  const bytes = (...parts: string[]) =>
    transport.bytes({ method: 'GET', path: path(...parts), headers: { accept: '*/*' }, safety: 'always' });
  const change = async (method: 'POST' | 'PUT', parts: string[], json?: unknown) =>
    fromSkill(await transport.json({ method, path: path(...parts), json, safety: 'always' }, SKILL));
  const resolve = async (name: string, wanted: string | null) =>
    fromSkill(await read(SKILL, name, wanted ?? 'latest', 'resolve'));
  return {
    async publish(archive, { tags, version }) {
      const answer = await transport.send({
        method: 'POST',
        path: path(),
        query: { tag: tags, version },
        headers: { 'content-type': 'application/zip' },
        body: await bodyOf(archive),
        // What was streamed away is gone.
        safety: 'never',
      });
      return fromPublished(await readJson(answer, PUBLISHED));
    },
    async list({ query, tag, limit, after }) {
      const words = { q: query, tag, limit: Math.min(limit, MAX_PAGE), after };
      return transport.read({ method: 'GET', path: path(), query: words, safety: 'always' }, async answer => {
        const items = await readJson(answer, shape.listOf(SKILL));
        return { items: items.map(fromSkill), next: nextOf(answer.headers.get('link')) };
      });
    },
    versions: async name => (await read(shape.listOf(SKILL), name, 'versions')).map(fromSkill),
    resolve,
    describe: async (name, wanted) => fromSkillDetail(await read(SKILL_DETAIL, name, wanted ?? 'latest')),
    async download(name, wanted) {
      // What `latest` means may change in between, so the version that was meant is fetched.
      const skill = await resolve(name, wanted);
      return { skill, content: bytesOf(await bytes(name, skill.version, 'download')) };
    },
    async file(name, wanted, file) {
      const answer = await bytes(name, wanted ?? 'latest', 'files', ...file.split('/'));
      return { path: file, bytes: lengthOf(answer), sha256: digestOf(answer), content: bytesOf(answer) };
    },
    yank: (name, version, reason) => change('POST', [name, version, 'yank'], { reason }),
    unyank: (name, version) => change('POST', [name, version, 'unyank']),
    tag: (name, tag, version) => change('PUT', [name, 'tags', tag], { version }),
    async untag(name, tag) {
      await transport.done({ method: 'DELETE', path: path(name, 'tags', tag), safety: 'refused' });
    },
    async diff(name, from, to) {
      const ask = { method: 'GET', path: path(name, 'diff'), query: { from, to }, safety: 'always' } as const;
      return fromDiff(await transport.json(ask, DIFF));
    },
  };
}

/** `<…?after=X>; rel="next"` */
function nextOf(link: string | null): string | null {
  const target = /<([^>]*)>;\s*rel="next"/.exec(link ?? '')?.[1];
  return target === undefined ? null : new URL(target, 'http://server').searchParams.get('after');
}
