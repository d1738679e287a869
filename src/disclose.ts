import { statSync } from 'node:fs';
import { basename, join, sep } from 'node:path';
import {
  type Audience,
  type CatalogEvent,
  type CatalogSkill,
  changeEvent,
  type Discovery,
  discover,
  type IndexCache,
  type KnownSkill,
  type LookAhead,
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
  holdsArrived,
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

/** How a scan is done. */
export type ScanOptions = {
  /** Left out, it is done as well as this machine can. */
  lookAhead?: LookAhead | null;
  /** Takes what can wait until the answer is out: to write down what was learned. Left out, it is done at once. */
  later?: (work: () => void) => void;
};

export function findLocalSkills(options: DiscloseOptions, { later, ...scan }: ScanOptions = {}): Disclosed {
  const index = cacheOf(options);
  const cache: IndexCache = {
    load: root => index.load(root),
    save: (root, records) => (later === undefined ? index.save(root, records) : later(() => index.save(root, records))),
  };
  return judge(discover(placesFor(options.places), { cache, ...scan }), options);
}

/**
 * For a server: the same, kept fresh. What the user trusts and rules is looked at anew at each question, so a word of theirs
 * counts at once. As long as nothing has changed, `current` gives the same object, and costs next to nothing.
 */
export type LocalWatch = { current(): Disclosed; refresh(): Disclosed; close(): void };

/** Who owns a directory changes without a sign: that is looked at so often. */
const JUDGE_AGAIN_MS = 10_000;

/** `onChange` hears what came, went or changed on disk, as an event for the journal. */
export function watchLocalSkills(options: DiscloseOptions, onChange: (event: CatalogEvent) => void): LocalWatch {
  const heard = (now: Discovery, before: Discovery): void => {
    const event = changeEvent(now, before);
    if (event !== null) onChange(event);
  };
  const index = watchCatalog(placesFor(options.places), heard, { cache: cacheOf(options) });
  let known: { disclosed: Disclosed; seen: Discovery; words: string; at: number; content: string } | null = null;
  const judgeOnce = (seen: Discovery): Disclosed => {
    const words = wordsOf(options);
    const at = Date.now();
    if (known !== null && known.seen === seen && known.words === words && at - known.at < JUDGE_AGAIN_MS) {
      return known.disclosed;
    }
    const disclosed = judge(seen, options);
    const content = contentOf(disclosed);
    const kept = known !== null && known.content === content ? known.disclosed : disclosed;
    known = { disclosed: kept, seen, words, at, content };
    return kept;
  };
  return {
    current: () => judgeOnce(index.current()),
    refresh: () => judgeOnce(index.refresh()),
    close: () => index.close(),
  };
}

/** Everything that the user and the projects have said. What we ship says the same as long as we run. */
function wordsOf({ dataDirectory, policy }: DiscloseOptions): string {
  const store = openTrustStore(dataDirectory);
  const { user, projects } = createJudge({ ...policy, store }).policies(null);
  return JSON.stringify([stampOf(join(dataDirectory, 'trust.json')), user, projects]);
}

function cacheOf({ dataDirectory, version }: DiscloseOptions): IndexCache {
  return openIndexCache(catalogDirectory(dataDirectory), version);
}

/** Where the index of the catalog stands. */
export function catalogDirectory(dataDirectory: string): string {
  return join(dataDirectory, 'catalog');
}

function judge(discovery: Discovery, { dataDirectory, policy }: DiscloseOptions): Disclosed {
  const store = openTrustStore(dataDirectory);
  const asked = createJudge({ ...policy, store });
  const trusted = store.read().entries.flatMap(({ kind, value }) => (kind === 'path' ? [value] : []));
  const vouch = (path: string, files: readonly string[]) =>
    asked.vouch({ kind: 'directory', path, publisher: null, files }).trust;
  const resolution = resolveNames(discovery, trustByFolder(vouch, trusted));
  return { discovery, resolution, hidden: hiddenBy(asked.policies(null)) };
}

function stampOf(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined ? '-' : `${stats.ino}:${stats.size}:${stats.mtimeMs}`;
}

/** Everything that an agent could be told. Tools are read from the whole file, which a summary does not show. */
function contentOf({ resolution, hidden }: Disclosed): string {
  const hash = process.getBuiltinModule('node:crypto').createHash('sha256');
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
export function trustByFolder(
  vouch: (path: string, files: readonly string[]) => Trust,
  trusted: readonly string[],
): TrustOf {
  const around = new Map<string, { trust: Trust; mixed: boolean }>();
  const aroundOf = (folder: string) => {
    // Absolute, and without a slash at its end; `dirname` looks at each character, which is felt with tens of thousands.
    const path = folder.slice(0, Math.max(1, folder.lastIndexOf(sep)));
    let known = around.get(path);
    if (known === undefined) {
      known = {
        trust: vouch(path, []),
        mixed: trusted.some(one => one.startsWith(path + sep)) || holdsArrived(path),
      };
      around.set(path, known);
    }
    return known;
  };
  const trustAt = (path: string, { ours, location }: CatalogSkill): Trust => {
    const { trust, mixed } = aroundOf(path);
    return mixed || (trust !== 'untrusted' && !ours) ? vouch(path, [basename(location)]) : trust;
  };
  return skill => {
    const { folder, realFolder } = skill;
    const trust = trustAt(realFolder, skill);
    // Whoever owns a link may turn it elsewhere tomorrow, so the way to a skill must be trusted as well.
    return folder === realFolder || trust === 'untrusted' || trustAt(folder, skill) !== 'untrusted'
      ? trust
      : 'untrusted';
  };
}

const LEAST: Grant = { network: { kind: 'none' }, secrets: [], workspace: null, paths: [], isolated: true };
const NO_HISTORY = { approvedBefore: false, always: false, denied: false };

/** What may not even run with the least power is nothing to tell a model of. */
function hiddenBy(policies: Policies): Audience['hidden'] {
  const all = [policies.user, policies.shipped, ...policies.projects];
  // Where no rule asks for a name, one answer serves all skills of a kind.
  const byName = all.some(policy => policy?.rules.some(({ when }) => when.skill !== null));
  if (byName) return skill => denial(policies, skill);
  const known = new Map<string, string | null>();
  // Most are like the one before, and there may be tens of thousands of them.
  let last = { trust: '', dialect: '', reason: null as string | null };
  return ({ trust, dialect, name }) => {
    if (last.trust === trust && last.dialect === dialect) return last.reason;
    const key = `${trust} ${dialect}`;
    let reason = known.get(key);
    if (reason === undefined) {
      reason = denial(policies, { trust, dialect, name });
      known.set(key, reason);
    }
    last = { trust, dialect, reason };
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
