/** More than this waits: a host that removes slower than it runs must not pile up sandboxes. */
const MOST = 32;

/**
 * What is left to do when a run has its result: its sandbox is taken down. Nothing of the run lives any more and nothing of
 * it is needed, but the kernel takes milliseconds for mounts and cgroups, for which no caller should wait.
 */
export type Afterwards = {
  /** Waits only when too much is under way. */
  add(work: Promise<void>): Promise<void>;
  /** When all is done; throws the first fault that there was. */
  settled(): Promise<void>;
};

export function createAfterwards(): Afterwards {
  const pending = new Set<Promise<void>>();
  const faults: unknown[] = [];
  return {
    async add(work) {
      const done = work
        .catch((error: unknown) => void faults.push(error))
        .finally(() => {
          pending.delete(done);
        });
      pending.add(done);
      if (pending.size > MOST) await Promise.race(pending);
    },
    async settled() {
      while (pending.size > 0) await Promise.all(pending);
      if (faults.length > 0) throw faults.splice(0)[0];
    },
  };
}
