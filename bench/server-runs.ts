// The same runs without HTTP, keys, tenants and a line: what `runs/` does in this process.
import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createSkillbox, type RunRequest } from '../src/app.ts';
import { readSkill } from '../src/dialects/index.ts';
import { openDirectory } from '../src/skill/index.ts';

const HOOKS = { signal: null, onState: () => {}, onChunk: () => {}, onBuild: () => {}, ask: null };
const SKILLS = join(import.meta.dirname, 'skills');

export type BareRuns = {
  /** As many at once as there are callers, but never more than slots. */
  load(language: string, callers: number, seconds: number): Promise<{ perSecond: number; times: number[] }>;
  /** A number of runs, as fast as they go. */
  finish(language: string, runs: number): Promise<{ perSecond: number }>;
  close(): Promise<void>;
};

export async function openBareRuns(dataDirectory: string, slots: number, warm: number): Promise<BareRuns> {
  mkdirSync(dataDirectory, { mode: 0o700 });
  const skillbox = await createSkillbox({
    dataDirectory,
    search: [dirname(process.execPath)],
    sandbox: 'bubblewrap',
    docker: { socket: '/nowhere', defaultImage: 'none', runtime: null },
    warm,
    spares: 1,
    allowProcess: false,
    dependencies: { indexes: { pip: null, npm: null, hosts: [] }, allow: { sources: false, scripts: false } },
    allowedImages: null,
    masterKey: { kind: 'own', path: join(dataDirectory, 'master.key') },
    broker: { pins: [], roots: [] },
    policy: { userPolicy: join(dataDirectory, 'policy.yaml'), directory: null, bundled: [], own: [SKILLS] },
  });
  const once = async (request: RunRequest) => {
    const { state } = await skillbox.run(request, HOOKS);
    if (state !== 'success') throw new Error(`a run ended as ${state}`);
  };
  const requests = new Map<string, RunRequest>();
  const requestFor = (language: string) => {
    const known = requests.get(language) ?? readRequest(language);
    requests.set(language, known);
    return known;
  };
  return {
    async load(language, callers, seconds) {
      const request = requestFor(language);
      const gate = new Gate(slots);
      const times: number[] = [];
      const start = performance.now();
      const end = start + seconds * 1000;
      const call = async () => {
        while (performance.now() < end) {
          const began = performance.now();
          await gate.through(() => once(request));
          times.push(performance.now() - began);
        }
      };
      await Promise.all(Array.from({ length: callers }, call));
      return { perSecond: (times.length / (performance.now() - start)) * 1000, times };
    },
    async finish(language, runs) {
      const request = requestFor(language);
      let left = runs;
      const start = performance.now();
      const work = async () => {
        while (left-- > 0) await once(request);
      };
      await Promise.all(Array.from({ length: slots }, work));
      return { perSecond: (runs / (performance.now() - start)) * 1000 };
    },
    close: () => skillbox.close(),
  };
}

/** The skill is read once, as a server does with what was published; each run takes its digest anew. */
function readRequest(language: string): RunRequest {
  const folder = openDirectory(join(SKILLS, language));
  const { skill } = readSkill(folder, { mode: 'lenient', dialect: null });
  if (skill === null) throw new Error('the bench skill does not load');
  const call: RunRequest['call'] = {
    target: { kind: 'main' },
    input: { x: 1 },
    stdin: null,
    mode: 'Global',
    callerEnv: {},
  };
  return { skill, folder, call, env: {}, workspace: null, timeoutMs: null };
}

/** In the order of coming. */
class Gate {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(places: number) {
    this.#free = places;
  }

  async through(body: () => Promise<void>): Promise<void> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>(resolve => this.#waiting.push(resolve));
    try {
      await body();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free++;
      else next();
    }
  }
}
