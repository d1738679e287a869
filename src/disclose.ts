import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import {
  type Audience,
  type CatalogSkill,
  type Discovery,
  discover,
  type KnownSkill,
  openIndexCache,
  type PlaceSettings,
  placesFor,
  type Resolution,
  resolveNames,
  type TrustOf,
  watchCatalog,
} from './catalog/index.ts';
import {
  createJudge,
  decide,
  type Grant,
  type JudgeOptions,
  openTrustStore,
  type Policies,
  type Trust,
} from './policy/index.ts';

/** The wiring of the catalog: the places, the cache, the trust and the policy of this machine. It starts nothing. */
export type DiscloseOptions = {
  places: PlaceSettings;
  dataDirectory: string;
  /** The program's: another one may read the same files differently. */
  version: string;
  policy: Omit<JudgeOptions, 'store'>;
};

export type Disclosed = {
  discovery: Discovery;
  resolution: Resolution;
  /** Why the policy hides a skill, or null. */
  hidden: Audience['hidden'];
};

export function findLocalSkills(options: DiscloseOptions): Disclosed {
  const { places, dataDirectory, version } = options;
  const cache = openIndexCache(join(dataDirectory, 'catalog'), version);
  return judgeSkills(discover(placesFor(places), { cache }), options);
}

function judgeSkills(discovery: Discovery, { dataDirectory, policy }: DiscloseOptions): Disclosed {
  const store = openTrustStore(dataDirectory);
  const judge = createJudge({ ...policy, store });
  const trusted = store.read().entries.flatMap(({ kind, value }) => (kind === 'path' ? [value] : []));
  const vouch = (path: string) => judge.vouch({ kind: 'directory', path, publisher: null }).trust;
  const resolution = resolveNames(discovery, trustByFolder(vouch, trusted));
  return { discovery, resolution, hidden: hiddenBy(judge.policies(null)) };
}

/** The same, kept fresh for a server: by the watcher, and by what the user trusts and rules meanwhile. */
export type WatchedSkills = {
  /** The same object as before when nothing has changed. */
  current(): Disclosed;
  close(): void;
};

/** Projects' policies and whole directories of trust change without a sign: they are looked at so often. */
const JUDGE_AGAIN_MS = 10_000;

export function watchLocalSkills(
  options: DiscloseOptions,
  onChange: (now: Discovery, before: Discovery) => void,
): WatchedSkills {
  const cache = openIndexCache(join(options.dataDirectory, 'catalog'), options.version);
  const watch = watchCatalog(placesFor(options.places), onChange, { cache });
  const judged = [join(options.dataDirectory, 'trust.json'), options.policy.userPolicy];
  let known: { disclosed: Disclosed; seen: Discovery; stamp: string; at: number; content: string } | null = null;
  return {
    current() {
      const seen = watch.current();
      const stamp = judged.map(stampOf).join(' ');
      const at = Date.now();
      if (known !== null && known.seen === seen && known.stamp === stamp && at - known.at < JUDGE_AGAIN_MS) {
        return known.disclosed;
      }
      const disclosed = judgeSkills(seen, options);
      const content = contentOf(disclosed);
      const kept = known !== null && known.content === content ? known.disclosed : disclosed;
      known = { disclosed: kept, seen, stamp, at, content };
      return kept;
    },
    close: () => watch.close(),
  };
}

function stampOf(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined ? '-' : `${stats.ino}:${stats.size}:${stats.mtimeMs}`;
}

/** Everything that an agent could be told. Tools are read from the whole file, which a summary does not show. */
function contentOf({ resolution, hidden }: Disclosed): string {
  const hash = createHash('sha256');
  for (const skill of resolution.skills) {
    const { name, description, dialect, offer, trust, realFolder, location } = skill;
    const stamp = dialect === 'gibberish' ? stampOf(location) : '';
    hash.update(JSON.stringify([name, description, dialect, offer, trust, realFolder, location, hidden(skill), stamp]));
  }
  return hash.digest('hex');
}

/**
 * Who vouches for each of many skills without asking about each: what holds for the directory around a skill holds for the
 * skill, unless the skill's own folder is trusted by name or is not ours alone.
 */
export function trustByFolder(vouch: (path: string) => Trust, trusted: readonly string[]): TrustOf {
  const around = new Map<string, { trust: Trust; mixed: boolean }>();
  const aroundOf = (path: string) => {
    let known = around.get(path);
    if (known === undefined) {
      known = { trust: vouch(path), mixed: trusted.some(one => one.startsWith(path + sep)) };
      around.set(path, known);
    }
    return known;
  };
  return ({ realFolder, ours }: CatalogSkill) => {
    const { trust, mixed } = aroundOf(dirname(realFolder));
    if (mixed || (trust !== 'untrusted' && !ours)) return vouch(realFolder);
    return trust;
  };
}

const LEAST: Grant = { network: { kind: 'none' }, secrets: [], workspace: null, paths: [], isolated: true };
const NO_HISTORY = { approvedBefore: false, always: false, denied: false };

/** What may not even run with the least power is nothing to tell a model of. */
function hiddenBy(policies: Policies): Audience['hidden'] {
  const all = [policies.user, policies.shipped, ...policies.projects];
  // Where no rule asks for a name, one answer serves all skills of a kind.
  const byName = all.some(policy => policy?.rules.some(({ when }) => when.skill !== null));
  const known = new Map<string, string | null>();
  return ({ trust, dialect, name }) => {
    const key = `${trust} ${dialect} ${byName ? name : ''}`;
    let reason = known.get(key);
    if (reason === undefined) {
      reason = denial(policies, { trust, dialect, name });
      known.set(key, reason);
    }
    return reason;
  };
}

function denial(
  policies: Policies,
  { trust, dialect, name }: Pick<KnownSkill, 'trust' | 'dialect' | 'name'>,
): string | null {
  const request = {
    trust,
    dialect,
    skill: { name, version: null, digest: '' },
    publisher: null,
    target: { kind: 'main' as const, name: '' },
    readOnly: false,
    alwaysAsk: false,
    grant: LEAST,
  };
  const { verdict, reasons } = decide(policies, request, NO_HISTORY);
  return verdict === 'deny' ? `the policy denies it: ${reasons[0] ?? ''}`.replace(/\.$/, '') : null;
}
