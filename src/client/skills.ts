import type { SkillService } from '../service/index.ts';
import {
  type DiffAnswer,
  fromDiff,
  fromPublished,
  fromSkill,
  fromSkillDetail,
  type PublishedAnswer,
  type SkillAnswer,
  type SkillDetailAnswer,
} from '../wire/index.ts';
import { bodyOf, bytesOf, digestOf, lengthOf } from './bytes.ts';
import { readJson, type Transport } from './transport.ts';

/** The most that the server gives at once. */
const MAX_PAGE = 1000;

export function createSkills(transport: Transport): SkillService {
  const path = (...parts: string[]) => ['v1', 'skills', ...parts];
  const read = <T>(...parts: string[]) => transport.json<T>({ method: 'GET', path: path(...parts), safety: 'always' });
  const bytes = (...parts: string[]) =>
    transport.send({ method: 'GET', path: path(...parts), headers: { accept: '*/*' }, safety: 'always' });
  const change = async (method: 'POST' | 'PUT', parts: string[], json?: unknown) =>
    fromSkill(await transport.json<SkillAnswer>({ method, path: path(...parts), json, safety: 'always' }));
  const resolve = async (name: string, wanted: string | null) =>
    fromSkill(await read<SkillAnswer>(name, wanted ?? 'latest', 'resolve'));
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
      return fromPublished(await readJson<PublishedAnswer>(answer));
    },
    async list({ query, tag, limit, after }) {
      const answer = await transport.send({
        method: 'GET',
        path: path(),
        query: { q: query, tag, limit: Math.min(limit, MAX_PAGE), after },
        safety: 'always',
      });
      const items = await readJson<SkillAnswer[]>(answer);
      return { items: items.map(fromSkill), next: nextOf(answer.headers.get('link')) };
    },
    versions: async name => (await read<SkillAnswer[]>(name, 'versions')).map(fromSkill),
    resolve,
    describe: async (name, wanted) => fromSkillDetail(await read<SkillDetailAnswer>(name, wanted ?? 'latest')),
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
      await transport.send({ method: 'DELETE', path: path(name, 'tags', tag), safety: 'refused' });
    },
    async diff(name, from, to) {
      const ask = { method: 'GET', path: path(name, 'diff'), query: { from, to }, safety: 'always' } as const;
      return fromDiff(await transport.json<DiffAnswer>(ask));
    },
  };
}

/** `<…?after=X>; rel="next"` */
function nextOf(link: string | null): string | null {
  const target = /<([^>]*)>;\s*rel="next"/.exec(link ?? '')?.[1];
  return target === undefined ? null : new URL(target, 'http://server').searchParams.get('after');
}
