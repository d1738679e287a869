import type { Caller } from '../audit/index.ts';
import { SkillboxError } from '../base/index.ts';
import {
  canceledEvent,
  cancelQueued,
  cancelWaiting,
  endIfCanceled,
  failClaimed,
  Interrupted,
  putBack,
  type RunHooks,
  type RunRequest,
  runnerFor,
  startClaimed,
  submitRun,
  sweepRuns,
} from '../runs/index.ts';
import { thisOwner } from '../sandbox/index.ts';
import { isEnded, type RunKey, type RunQuotas, type RunRecord } from '../store/index.ts';
import { Feeds } from './feed.ts';
import type { ExecutionOptions } from './options.ts';
import { Pulse } from './pulse.ts';

/** How often it is looked whether others have died. */
const RECOVER_MS = 15_000;
/** How long the line is left alone when what a run needs is away. */
const REST_MS = 5_000;
const INSTANCE_KEPT_MS = 86_400_000;

type Live = { id: string; controller: AbortController; done: Promise<void> };

/**
 * The runs of this process, and the line before it. A run is in the store before anybody is told of it; whatever happens to
 * the process, the next one finds it there.
 */
export class Executions {
  readonly #options: ExecutionOptions;
  readonly #owner = JSON.stringify(thisOwner());
  /** Of one run there may be two attempts: one that was taken from this process, and does not know it yet, and the next. */
  readonly #live = new Set<Live>();
  readonly #timers: NodeJS.Timeout[] = [];
  /** Of this process by their record, but not known here: so seen once. */
  #doubtful = new Set<string>();
  #busy = 0;
  #isStopping = false;
  /** Whose turn it was last. */
  #last: string | null = null;
  #pumping: Promise<void> | null = null;
  #pumpAgain = false;
  /** Until then nothing is taken from the line: what it needs was away a moment ago. */
  #restsUntil = 0;
  readonly #pulse: Pulse;
  readonly feeds: Feeds;

  constructor(options: ExecutionOptions) {
    this.#options = options;
    this.#pulse = new Pulse(options.settings);
    this.feeds = new Feeds(options.machine.store);
  }

  /** Says that this process lives, settles what dead ones left, and begins to take from the line. */
  async start(): Promise<void> {
    await this.#beat();
    await this.recover();
    const { pollMs, heartbeatMs } = this.#options.settings;
    this.#every(pollMs, () => this.pump());
    this.#every(heartbeatMs, () => this.#beat());
    this.#every(RECOVER_MS, () => this.recover());
    void this.pump();
  }

  get status(): { slots: number; busy: number; isStopping: boolean } {
    return { slots: this.#options.settings.slots, busy: this.#busy, isStopping: this.#isStopping };
  }

  /** How long an idempotency key stands for its run. */
  get keyMs(): number {
    return this.#options.settings.keyMs;
  }

  /** Recorded when it answers: begun, in line, waiting for a person, or denied. */
  async submit(caller: Caller, request: RunRequest, key: RunKey | null): Promise<RunRecord> {
    const { machine, settings, defaults } = this.#options;
    const { slots, queueLimit } = settings;
    if (this.#isStopping) throw new SkillboxError('SHUTTING_DOWN', 'the server is stopping');
    const quotas = await this.#options.quotasOf(caller.tenant);
    const hasRoom = this.#busy < slots;
    if (hasRoom) this.#busy++;
    let begun = false;
    try {
      const submitted = await submitRun(runnerFor(machine, caller), request, {
        key,
        hasRoom,
        quotas,
        defaults,
        queueLimit,
      });
      if (submitted.kind === 'full') throw await this.#full(quotas);
      if (submitted.kind === 'taken') return await this.#byKey(caller, key);
      if (submitted.kind === 'begun') {
        begun = true;
        this.#last = caller.tenant ?? '';
        this.#carry(submitted.record, submitted.carryOn);
      }
      return submitted.record;
    } finally {
      if (hasRoom && !begun) this.#busy--;
      // Somebody may have been kept in line by the room that was held here.
      if (!begun) void this.pump();
    }
  }

  /** The run that a key stands for; null when it stands for none yet. Another request under it is refused. */
  async findKey({ tenant }: Caller, key: RunKey): Promise<RunRecord | null> {
    const { queue, runs } = this.#options.machine.store;
    const found = await queue.findKey(tenant, key);
    if (found === null) return null;
    if (found.fingerprint !== key.fingerprint)
      throw new SkillboxError('IDEMPOTENCY_MISMATCH', 'this idempotency key was used for another request', {
        details: { run: found.run },
      });
    return runs.get(tenant, found.run);
  }

  /** In whatever state it is. False when it has ended already. */
  async cancel(caller: Caller, record: RunRecord): Promise<boolean> {
    const { store } = this.#options.machine;
    if (isEnded(record.state)) return false;
    const end = record.state === 'waiting' ? cancelWaiting : record.state === 'queued' ? cancelQueued : null;
    if (end !== null && (await end(store, record, caller.actor))) {
      this.feeds.tell(record);
      return true;
    }
    // It may have been taken from the line, or have ended, since it was looked at.
    const now = await store.runs.get(caller.tenant, record.id);
    if (now === null || isEnded(now.state)) return false;
    const asked = await store.runs.requestCancel(caller.tenant, record.id, [canceledEvent(caller.actor, now)]);
    for (const { controller } of this.#attemptsOf(record)) controller.abort();
    return asked;
  }

  /** Takes as many from the line as there is room for. Called again while it is at work, it looks once more. */
  pump(): Promise<void> {
    this.#pumpAgain = true;
    this.#pumping ??= this.#pump().finally(() => {
      this.#pumping = null;
    });
    return this.#pumping;
  }

  async #pump(): Promise<void> {
    const { machine, settings, defaults, onFault } = this.#options;
    try {
      while (this.#pumpAgain) {
        this.#pumpAgain = false;
        while (this.#busy < settings.slots && !this.#isStopping && Date.now() >= this.#restsUntil) {
          this.#busy++;
          const record = await machine.store.queue.claim(this.#owner, defaults, this.#last).catch((error: unknown) => {
            this.#busy--;
            throw error;
          });
          if (record === null) {
            this.#busy--;
            break;
          }
          this.#last = record.tenant ?? '';
          this.#carry(record, hooks => this.#startClaimed(record, hooks));
        }
      }
    } catch (error) {
      onFault(error, 'the line of runs cannot be read');
    }
  }

  async #startClaimed(record: RunRecord, hooks: RunHooks): Promise<RunRecord> {
    const { machine, fetchSkill } = this.#options;
    const runner = runnerFor(machine, { tenant: record.tenant, actor: record.by });
    try {
      if (await endIfCanceled(machine.store, record, hooks)) return record;
      await fetchSkill(record);
      return await startClaimed(runner, record, hooks);
    } catch (error) {
      const isAway = error instanceof SkillboxError && error.code === 'BACKEND_UNAVAILABLE';
      // Nothing of it was begun. The others in line would fare no better, so they are left there for a while.
      if (isAway && (await putBack(machine.store, record, hooks))) this.#restsUntil = Date.now() + REST_MS;
      // What could not even be planned is told in its record; what had been accepted has told so itself.
      else await failClaimed(machine.store, record, error, hooks);
      throw error;
    }
  }

  /** Has a slot already; gives it back. */
  #carry(record: RunRecord, run: (hooks: RunHooks) => Promise<RunRecord>): void {
    const controller = new AbortController();
    const feed = this.feeds.open(record);
    feed.attach();
    const hooks: RunHooks = {
      onState: changed => feed.state(changed),
      onChunk: () => undefined,
      onKept: () => feed.printed(),
      onBuild: () => undefined,
      signal: controller.signal,
    };
    const done = run(hooks)
      .then(
        () => undefined,
        (error: unknown) => this.#options.onFault(error, `run ${record.id}`),
      )
      .then(() => {
        this.#live.delete(live);
        this.#busy--;
        feed.detach();
        this.feeds.close(feed);
        void this.pump();
      });
    const live: Live = { id: record.id, controller, done };
    this.#live.add(live);
  }

  /** What dead processes left, and what this one lost sight of, is settled. */
  async recover(): Promise<void> {
    const { store } = this.#options.machine;
    const doubtful = new Set<string>();
    const { attempts, keyMs } = this.#options.settings;
    const deadAfterMs = this.#pulse.deadAfterMs(Date.now());
    const isAbandoned = (record: RunRecord) => {
      if (record.owner !== this.#owner || this.#attemptsOf(record).length > 0) return false;
      // Taken a moment ago it is not known yet: only what is found twice is nobody's.
      doubtful.add(record.id);
      return this.#doubtful.has(record.id);
    };
    await sweepRuns(store, { deadAfterMs, attempts, isAbandoned });
    this.#doubtful = doubtful;
    await store.queue.forgetKeys(Date.now() - keyMs);
    await store.queue.forgetInstances({ seenBefore: Date.now() - INSTANCE_KEPT_MS });
    void this.pump();
  }

  /** Takes nothing more, waits for what is on the way, and interrupts what is left when the time is over. */
  async drain(deadlineMs: number): Promise<void> {
    this.#isStopping = true;
    for (const timer of this.#timers.splice(0)) clearInterval(timer);
    await this.#pumping;
    const ends = () => Promise.all(Array.from(this.#live, ({ done }) => done));
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>(resolve => {
      timer = setTimeout(resolve, deadlineMs);
    });
    await Promise.race([ends(), late]);
    clearTimeout(timer);
    for (const { controller } of this.#live) controller.abort(new Interrupted());
    await ends();
    await this.#options.machine.store.queue.forgetInstances({ id: thisOwner().instance });
  }

  /** Of others in line a tenant learns no more than that there is no room. */
  async #full({ queued }: RunQuotas): Promise<SkillboxError> {
    const all = await this.#options.machine.store.queue.lengthOfAllTenants();
    const [why, details] =
      all.queued >= this.#options.settings.queueLimit
        ? ['the line of this server is full', {}]
        : [`${queued} runs of this tenant are in line already`, { queued }];
    return new SkillboxError('QUEUE_FULL', why, { details: { retryAfterSeconds: RETRY_SECONDS, ...details } });
  }

  async #byKey(caller: Caller, key: RunKey | null): Promise<RunRecord> {
    const record = key === null ? null : await this.findKey(caller, key);
    if (record === null) throw new SkillboxError('NOT_FOUND', 'the run of this idempotency key is not kept any more');
    return record;
  }

  #attemptsOf({ id }: RunRecord): Live[] {
    return Array.from(this.#live).filter(live => live.id === id);
  }

  async #beat(): Promise<void> {
    const { instance } = thisOwner();
    await this.#options.machine.store.queue.beat({ id: instance, owner: this.#owner, seenAt: Date.now() });
    this.#pulse.beaten(Date.now());
  }

  #every(ms: number, work: () => Promise<void>): void {
    const timer = setInterval(() => {
      work().catch((error: unknown) => this.#options.onFault(error, 'the store does not answer'));
    }, ms);
    this.#timers.push(timer.unref());
  }
}

/** Nobody can say when some run will end; this is a fair guess for most. */
const RETRY_SECONDS = 5;
