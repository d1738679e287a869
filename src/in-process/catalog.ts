import { SkillboxError } from '../base/index.ts';
import {
  activateSkill,
  activationEvent,
  buildCatalog,
  FORMATS,
  type Format,
  type KnownSkill,
} from '../catalog/index.ts';
import { registryFor } from '../published.ts';
import type { CatalogService, SkillVersion } from '../service/index.ts';
import type { Member, ServiceParts } from './parts.ts';

/** More than this no model reads, and no prompt holds. */
const MAX_SKILLS = 2000;
const PAGE = 200;
/** Nothing to show is no text; in the formats that programs read it is an empty list. */
const EMPTY: Partial<Record<Format, string>> = { json: '{"skills":[]}\n', openai: '[]\n', anthropic: '[]\n' };

/** What a model is told of a tenant's published skills. */
export function createCatalogService(parts: ServiceParts, caller: Member): CatalogService {
  return {
    async render({ format, budget, query }) {
      const wanted = FORMATS.find(each => each === format);
      if (wanted === undefined)
        throw new SkillboxError('USAGE', 'there is no such format', { hint: `Formats: ${FORMATS.join(', ')}.` });
      const skills: KnownSkill[] = [];
      for (const version of await listAll(parts, caller)) skills.push(await toKnown(parts, caller, version));
      // On what the callers run nobody knows; what the skills run on is this machine.
      const catalog = await buildCatalog({ skills }, { format: wanted, budget, query });
      return catalog.text === '' ? (EMPTY[wanted] ?? '') : catalog.text;
    },
    async activate(name, wanted) {
      const { version, folder } = await parts.published.open(caller, name, wanted);
      try {
        const activation = activateSkill(folder);
        // AS-14: told before it is given away.
        const event = activationEvent(activation, version.digest, caller.actor.channel);
        await parts.machine.store.journal.note({ ...event, ...caller });
        const { text, tokens } = activation;
        return { name: version.name, version: version.version, digest: version.digest, text, tokens };
      } finally {
        folder.close();
      }
    },
  };
}

async function listAll(parts: ServiceParts, caller: Member): Promise<SkillVersion[]> {
  const registry = registryFor(parts.parts, caller, parts.registry);
  const all: SkillVersion[] = [];
  for (let after: string | null = null; all.length < MAX_SKILLS; ) {
    const page = await registry.list({ query: null, tag: null, limit: PAGE, after });
    all.push(...page.items);
    after = page.next;
    if (after === null) break;
  }
  return all.slice(0, MAX_SKILLS);
}

/** As discovery would have found it in a folder; where it really lies is nobody's business. */
async function toKnown(parts: ServiceParts, caller: Member, { name, version }: SkillVersion): Promise<KnownSkill> {
  const { skill, folder, path } = await parts.published.open(caller, name, version);
  folder.close();
  const { dialect, description, offer } = skill;
  return {
    dialect,
    name,
    description,
    offer,
    place: { kind: 'configured', path: 'registry:' },
    folder: path,
    realFolder: path,
    location: `registry:${name}@${version}`,
    nested: [],
    ours: true,
    trust: 'user',
  };
}
