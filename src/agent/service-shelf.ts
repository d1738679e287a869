import { createHash } from 'node:crypto';
import { isObject, type JsonObject, type JsonValue, SkillboxError } from '../base/index.ts';
import { type CatalogTool, cleanTool, nameTools, prepareSearch } from '../catalog/index.ts';
import type { Service, SkillVersion } from '../service/index.ts';
import { CATALOG_TOKENS, type Offered, type OfferedSkill, type Shelf } from './shelf.ts';

/** What a tenant of a server offers to agents: its published skills. */
export type ServiceShelf = Shelf & {
  /** Somebody of the tenant, with whose service it is looked at from now on. */
  use(service: Service): void;
  /** What was seen last, without waiting; it is looked at anew meanwhile. */
  peek(): Offered | null;
};

/** A look is good for so long, and the longer the more it took: nobody keeps the server busy with looking. */
const FRESH_MS = 250;
const SHARE = 50;
/** Reading the skills anew, which whoever publishes brings about, counts less than the rows: people wait to see what they published. */
const READING = 0.2;
const PAGE = 1000;
/** As many as the catalog of a tenant holds. */
const MAX_SKILLS = 2000;
/** Characters of all tools together: each caller who lists them gets them all, and they are kept. REST runs the rest. */
const MAX_TOOL_TEXT = 4 * 1024 ** 2;

type Look = { at: number; took: number; fingerprint: string; offered: Offered };

export function createServiceShelf(): ServiceShelf {
  let service: Service | null = null;
  let known: Look | null = null;
  let looking: Promise<Offered> | null = null;
  const isFresh = (look: Look) => performance.now() - look.at < Math.max(FRESH_MS, look.took * SHARE);
  const look = (): Promise<Offered> => {
    looking ??= lookAgain(service, known)
      .then(found => {
        known = found;
        return found.offered;
      })
      .finally(() => {
        looking = null;
      });
    return looking;
  };
  return {
    use: one => {
      service = one;
    },
    offered: async () => (known !== null && isFresh(known) ? known.offered : look()),
    peek() {
      // What cannot be seen now is seen later; whoever asks for it is told.
      if (known === null || !isFresh(known)) look().catch(() => undefined);
      return known?.offered ?? null;
    },
  };
}

/** For callers who may see nothing. */
export const EMPTY_SHELF: Shelf = {
  offered: async () => NOTHING,
};
const NOTHING: Offered = { skills: [], byName: new Map(), tools: [], catalog: '', search: async () => [] };

/** The rows first: only when another skill or version is among them is anything read of the skills. */
async function lookAgain(service: Service | null, before: Look | null): Promise<Look> {
  if (service === null) throw new SkillboxError('INTERNAL', 'nobody has asked for these skills');
  const began = performance.now();
  const versions = await listAll(service);
  const fingerprint = fingerprintOf(versions);
  const took = performance.now() - began;
  if (before?.fingerprint === fingerprint) return { ...before, at: performance.now(), took };
  const offered = await gather(service, versions);
  const at = performance.now();
  return { at, took: took + READING * (at - began - took), fingerprint, offered };
}

async function listAll({ skills }: Service): Promise<SkillVersion[]> {
  const all: SkillVersion[] = [];
  for (let after: string | null = null; all.length < MAX_SKILLS; ) {
    const page = await skills.list({ query: null, tag: null, limit: PAGE, after });
    all.push(...page.items);
    after = page.next;
    if (after === null) break;
  }
  return all.slice(0, MAX_SKILLS);
}

function fingerprintOf(versions: readonly SkillVersion[]): string {
  const hash = createHash('sha256');
  for (const { name, version, digest } of versions) hash.update(`${name}\0${version}\0${digest}\0`);
  return hash.digest('hex');
}

/** The catalog knows what may be shown to models; what it leaves out is not there. */
async function gather(service: Service, versions: readonly SkillVersion[]): Promise<Offered> {
  const shown = await service.catalog.render({ format: 'json', budget: null, query: null });
  const catalog = await service.catalog.render({ format: 'xml', budget: CATALOG_TOKENS, query: null });
  const byVersion = new Map(versions.map(version => [version.name, version]));
  const skills = entriesOf(shown).flatMap(({ name, description, location }): OfferedSkill[] => {
    const dialect = byVersion.get(name)?.dialect;
    return dialect === undefined ? [] : [{ name, description, dialect, location, trust: 'user' }];
  });
  skills.sort((a, b) => (a.name < b.name ? -1 : 1));
  const searched = skills.map(skill => ({ ...skill, folder: skill.location, offer: { always: false } }));
  let find: ReturnType<typeof prepareSearch<(typeof searched)[number]>> | null = null;
  return {
    skills,
    byName: new Map(skills.map(skill => [skill.name, skill])),
    tools: await toolsOf(service, skills),
    catalog,
    async search(query) {
      find ??= prepareSearch(searched);
      return (await find)(query);
    },
  };
}

type Entry = { name: string; description: string; location: string };

function entriesOf(json: string): Entry[] {
  const { skills } = JSON.parse(json) as { skills: Entry[] };
  return skills;
}

async function toolsOf({ skills: registry }: Service, skills: readonly OfferedSkill[]): Promise<CatalogTool[]> {
  const tools: CatalogTool[] = [];
  let room = MAX_TOOL_TEXT;
  for (const { name: skill, dialect, location } of skills) {
    if (dialect !== 'gibberish') continue;
    for (const tool of (await registry.describe(skill, null)).tools) {
      const { name, description, parameters, readOnly, alwaysAsk } = tool;
      const shown = cleanTool(description, schemaOf(parameters));
      const size = JSON.stringify(shown).length;
      if (size > room) continue;
      room -= size;
      const policy = { name, read_only: readOnly, always_ask: alwaysAsk, source: { skill } };
      tools.push({ name, tool: name, skill, folder: location, ...shown, policy });
    }
  }
  nameTools(tools);
  return tools;
}

function schemaOf(parameters: Record<string, unknown>): JsonObject {
  const schema = parameters as JsonValue;
  return isObject(schema) ? schema : {};
}
