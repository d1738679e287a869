import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isObject, renderSize, SkillboxError, visibleLine } from '../base/index.ts';
import { checkName } from '../dialects/index.ts';
import { type Folder, openArchive, openDirectory } from '../skill/index.ts';
import type { FetchLimits } from './git.ts';
import { parseObject } from './lock-file.ts';
import { unpackTar } from './tar.ts';
import { checkUrl, isLoopback } from './url.ts';

/** A skill as a site's index lists it. Everything in it is the site's word; the digest is held against the bytes. */
export type Listed = { name: string; description: string; type: 'skill-md' | 'archive'; url: string; sha256: string };

type Reach = Pick<FetchLimits, 'signal' | 'siteKey'>;

const MAX_INDEX_BYTES = 4 * 1024 ** 2;
const MAX_ARTIFACT_BYTES = 64 * 1024 ** 2;
const MAX_SKILLS = 10_000;
const MAX_REDIRECTS = 3;
const TIMEOUT_MS = 60_000;

/** Agent Skills Discovery 0.2: entries that cannot be used are an error, for a list with holes says the wrong thing. */
export async function readIndex(url: string, reach: Reach): Promise<Listed[]> {
  const { body, at } = await download(checkUrl(url), MAX_INDEX_BYTES, reach);
  const { skills } = parseIndex(body, url);
  if (skills.length > MAX_SKILLS) throw failed(`${url} lists more than ${MAX_SKILLS} skills`);
  return skills.map(entry => parseEntry(entry, at));
}

function parseIndex(body: Buffer, url: string): { skills: unknown[] } {
  try {
    const { skills } = parseObject(body.toString('utf8'));
    if (Array.isArray(skills)) return { skills };
  } catch (cause) {
    throw new SkillboxError('SOURCE_FAILED', `${url} is no index of skills: ${String(cause)}`, { cause });
  }
  throw failed(`${url} lists no skills`);
}

function parseEntry(entry: unknown, at: URL): Listed {
  const { name, description, type, url, digest } = isObject(entry as never) ? (entry as Record<string, unknown>) : {};
  if (typeof name !== 'string') throw failed('the index lists a skill without a name');
  checkName(name);
  if (type !== 'skill-md' && type !== 'archive') throw failed(`${name} is of a type that Skillbox does not know`);
  const sha256 = typeof digest === 'string' ? /^sha256:([0-9a-f]{64})$/.exec(digest)?.[1] : undefined;
  if (typeof url !== 'string' || sha256 === undefined) throw failed(`the index gives no address or digest for ${name}`);
  const artifact = checkUrl(new URL(url, at).href);
  // Threat: a page on the network that has us fetch from this machine.
  if (isLoopback(artifact.hostname) && !isLoopback(at.hostname)) throw failed(`${name} is said to be on this machine`);
  return { name, description: typeof description === 'string' ? description : '', type, url: artifact.href, sha256 };
}

/** Fetches one skill into `directory`; what arrives is what the index named, or nothing is opened. */
export async function fetchListed(
  { name, type, url, sha256 }: Listed,
  directory: string,
  reach: Reach,
): Promise<Folder> {
  const { body } = await download(checkUrl(url), MAX_ARTIFACT_BYTES, reach);
  const found = createHash('sha256').update(body).digest('hex');
  if (found !== sha256) {
    throw new SkillboxError('SOURCE_REFUSED', `${name} is not what the index says: sha256 ${found}, not ${sha256}`, {
      hint: 'The site is being changed, or somebody changed it on the way. Nothing was written.',
    });
  }
  const folder = join(directory, name);
  if (type === 'skill-md') {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'SKILL.md'), body);
    return openDirectory(folder);
  }
  mkdirSync(directory, { recursive: true });
  if (body[0] === 0x1f && body[1] === 0x8b) return openDirectory(await unpackTar(body, folder));
  if (body.subarray(0, 2).toString('latin1') !== 'PK') {
    throw new SkillboxError('SOURCE_UNSUPPORTED', `${name} is packed neither as a zip nor as a tar.gz`);
  }
  writeFileSync(`${folder}.zip`, body);
  return openArchive(`${folder}.zip`);
}

async function download(
  from: URL,
  maxBytes: number,
  { signal: interrupt, siteKey }: Reach,
): Promise<{ body: Buffer; at: URL }> {
  const clock = AbortSignal.timeout(TIMEOUT_MS);
  const signal = interrupt === null ? clock : AbortSignal.any([clock, interrupt]);
  let at = from;
  try {
    for (let hops = 0; hops <= MAX_REDIRECTS; hops++) {
      // Asked at every hop: a site that leads elsewhere does not take the key along.
      const key = siteKey(at);
      const headers = { accept: '*/*', ...(key === null ? {} : { authorization: `Bearer ${key}` }) };
      const answer = await fetch(at, { redirect: 'manual', signal, headers });
      const next = answer.headers.get('location');
      if (answer.status >= 300 && answer.status < 400 && next !== null) {
        await answer.body?.cancel();
        const target = checkUrl(new URL(next, at).href);
        if (isLoopback(target.hostname) && !isLoopback(at.hostname)) throw failed(`${at.href} leads to this machine`);
        at = target;
        continue;
      }
      if (!answer.ok) throw failed(`${at.href} answered ${answer.status}`);
      return { body: await readBody(answer, maxBytes, at), at };
    }
  } catch (cause) {
    if (cause instanceof SkillboxError) throw cause;
    if (interrupt?.aborted === true) throw new SkillboxError('CANCELED', 'it was interrupted', { cause });
    const why = cause instanceof Error ? visibleLine(cause.message, 120) : '';
    throw new SkillboxError('SOURCE_FAILED', `${from.href} cannot be fetched: ${why}`, { cause });
  }
  throw failed(`${from.href} leads on and on`);
}

async function readBody(answer: Response, maxBytes: number, at: URL): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of answer.body ?? []) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw failed(`${at.href} is over ${renderSize(maxBytes)}`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function failed(message: string): SkillboxError {
  return new SkillboxError('SOURCE_FAILED', message);
}
