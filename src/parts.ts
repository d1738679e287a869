import { dirname, join } from 'node:path';
import { type AnswerKey, type Answers, derivedKey, keyInFile, keyPathOf, openAnswers } from './approvals/index.ts';
import { SkillboxError } from './base/index.ts';
import type { BrokerSurroundings } from './broker/index.ts';
import { type DriverOptions, type Drivers, openDrivers } from './drivers.ts';
import { DEFAULT_IMAGE_LIMITS, type Images, openImages } from './images/index.ts';
import { type Allowed, BUILD_LIMITS, createLayers, type IndexSettings } from './layers/index.ts';
import { createJudge, type Judge, type JudgeOptions, openTrustStore, type TrustStore } from './policy/index.ts';
import {
  type Afterwards,
  createAfterwards,
  createStandby,
  DEFAULT_RUN_LIMITS,
  localCaller,
  type Machine,
  type OffLimits,
  REQUIRED,
  type Standby,
  type SweepOptions,
  sweepAll,
  thisWriter,
} from './runs/index.ts';
import { realPathOf } from './sandbox/index.ts';
import { deriveKey, type GivenKey, type KeySource, openSecrets, type Secrets } from './secrets/index.ts';
import { EMBEDDED, openChosenStore, openStore, type Store, type StoreChoice, type Writer } from './store/index.ts';

export type SkillboxOptions = DriverOptions & {
  /** Where packages come from, and what of them may run when a layer is built. */
  dependencies: { indexes: IndexSettings; allow: Allowed };
  /** SB-03: null allows the default images and every imported one. */
  allowedImages: readonly string[] | null;
  /** Where the master key of the secrets comes from. */
  masterKey: KeySource;
  /** What every run's broker is told of the way out. */
  broker: BrokerSurroundings;
  /** Who may run what: the user's policy file, where the caller stands, and the directories that are vouched for. */
  policy: Omit<JudgeOptions, 'store'>;
  /** Where records and blobs are; without it in the data directory. */
  store?: StoreChoice;
};

/** Everything on one data directory, wired once: what each entrance offers of it, the entrance says. */
export type Parts = {
  options: SkillboxOptions;
  store: Store;
  writer: Writer;
  images: Images;
  secrets: Secrets;
  trust: TrustStore;
  judge: Judge;
  afterwards: Afterwards;
  drivers: Drivers;
  standby: Standby;
  offLimits: OffLimits;
  answersOf(tenant: string | null): Answers;
  /** What runs need. Chosen at the first run: a command that runs nothing probes nothing. */
  ready(): Promise<Machine>;
  /** When what killed processes left behind is cleared; done once. */
  swept(options?: Partial<SweepOptions>): Promise<void>;
  close(): Promise<void>;
};

/** The store that the options name; one that cannot be used for want of a key is not even asked. */
export async function openStoreOf({ dataDirectory, masterKey, store = EMBEDDED }: SkillboxOptions): Promise<Store> {
  if (store.kind === 'postgres') deriveKey(requireShared(masterKey), 'check').fill(0);
  return openChosenStore(store, dataDirectory, thisWriter());
}

export function openParts(
  given: SkillboxOptions,
  drivers: Drivers = openDrivers(given),
  store: Store = openStore(given.dataDirectory, thisWriter()),
): Parts {
  // What a run is given is mounted by its real path, and a home may well lie behind a link.
  const options = { ...given, dataDirectory: realPathOf(given.dataDirectory) };
  const writer = thisWriter();
  const images = openImages({
    directory: join(options.dataDirectory, 'images'),
    owners: { mine: () => writer.id, isAlive: id => !writer.isDead(id) },
    limits: DEFAULT_IMAGE_LIMITS,
    before: (change, { name, digest, source }) =>
      store.journal.append({
        type: change === 'import' ? 'image.imported' : 'image.removed',
        ...localCaller(),
        subject: name,
        data: change === 'import' ? { digest, source } : { digest },
      }),
  });
  const { dataDirectory, masterKey, broker } = options;
  const secrets = openSecrets({ rows: store.secrets, journal: store.journal, dataDirectory, masterKey, broker });
  const keyOf = answerKeys(options, store);
  const answersOf = (tenant: string | null) => openAnswers(store.answers(tenant), keyOf(tenant));
  const trust = openTrustStore(dataDirectory);
  const judge = createJudge({ ...options.policy, store: trust });
  const afterwards = createAfterwards();
  const { lending, providers } = secrets;
  const standby = createStandby(options.warm > 0);
  const wayOut = drivers.wayOut();
  if (wayOut !== null) standby.expect(wayOut);
  const offLimits = offLimitsOf(options);
  const kept = { store, images, answersOf, writer, judge, afterwards, lending, providers, standby, offLimits };
  let machine: Promise<Machine> | null = null;
  let sweeping: Promise<void> | null = null;
  const ready = () => {
    machine ??= prepareMachine(options, kept, drivers).catch((error: unknown) => {
      machine = null; // the next run tries again
      throw error;
    });
    return machine;
  };
  return {
    options,
    store,
    writer,
    images,
    secrets,
    trust,
    judge,
    afterwards,
    drivers,
    standby,
    offLimits,
    answersOf,
    ready,
    swept(wanted = {}) {
      sweeping ??= ready()
        .then(async found => {
          await sweepAll(found, wanted);
          await found.layers.sweep();
          await images.sweep();
        })
        .catch((error: unknown) => {
          sweeping = null;
          throw error;
        });
      return sweeping;
    },
    async close() {
      // The kernel takes its time for sandboxes; meanwhile the store is closed, which needs nothing of them.
      const down = closeSandboxes(afterwards, drivers, standby);
      down.catch(() => undefined); // told below
      try {
        images.close();
        await store.close();
      } finally {
        await down;
      }
    },
  };
}

async function closeSandboxes(afterwards: Afterwards, drivers: Drivers, standby: Standby): Promise<void> {
  try {
    await afterwards.settled();
  } finally {
    await Promise.all([...drivers.all.map(driver => driver.close()), standby.close()]);
  }
}

/**
 * What vouches for answers lies beside the store where one machine has it. Where several do, it comes from the one key that
 * the operator gave them all.
 */
function answerKeys({ dataDirectory, masterKey }: SkillboxOptions, store: Store): (tenant: string | null) => AnswerKey {
  if (!store.isShared) return tenant => keyInFile(keyPathOf(dataDirectory, tenant));
  const shared = requireShared(masterKey);
  return tenant => derivedKey(() => deriveKey(shared, `approvals/${tenant === null ? '' : `of ${tenant}`}`));
}

function requireShared(masterKey: KeySource): GivenKey {
  if (masterKey.kind !== 'own' && masterKey.kind !== 'keyring') return masterKey;
  throw new SkillboxError('CONFIG_INVALID', 'a store that machines share needs a master key that they share', {
    hint: 'Set SKILLBOX_MASTER_KEY, or SKILLBOX_MASTER_KEY_FILE, to the same key for all; `openssl rand -base64 32` makes one.',
  });
}

type Kept = Pick<
  Machine,
  | 'store'
  | 'images'
  | 'answersOf'
  | 'writer'
  | 'judge'
  | 'afterwards'
  | 'lending'
  | 'providers'
  | 'standby'
  | 'offLimits'
>;

/** Also a file that is not there yet: a run must not make one. */
function offLimitsOf({ dataDirectory, policy: { userPolicy }, masterKey }: SkillboxOptions): OffLimits {
  const settings = userPolicy === null ? [] : [userPolicy, join(dirname(userPolicy), 'config.yaml')];
  return { data: dataDirectory, deciding: 'path' in masterKey ? [...settings, masterKey.path] : settings };
}

async function prepareMachine(
  { dataDirectory, search, dependencies, allowedImages, broker }: SkillboxOptions,
  kept: Kept,
  drivers: Drivers,
): Promise<Machine> {
  const sandbox = await drivers.choose();
  const layers = createLayers({
    directory: join(dataDirectory, 'layers'),
    sandbox,
    programs: { search, notes: join(dataDirectory, 'sandbox') },
    ...dependencies,
    limits: BUILD_LIMITS,
    // Also for those who run without isolation: what is built is kept, and used by others.
    requires: REQUIRED,
  });
  const imagePolicy = { allowed: allowedImages };
  const limits = DEFAULT_RUN_LIMITS;
  return { ...kept, sandbox, layers, imagePolicy, dataDirectory, limits, surroundings: broker };
}
