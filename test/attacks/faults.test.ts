import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import type { AuditEntry, Run, Service } from '../../src/service/index.ts';
import { run as runCommand } from '../fake-io.ts';
import { processesMarked } from '../support/attack.ts';
import { allProcesses, commandOf } from '../support/processes.ts';
import { ServedProgram } from '../support/served-program.ts';
import { publish, startOf } from '../support/service.ts';
import { NO_SANDBOX } from '../support/skillbox.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

/** Fewer for whoever is in a hurry. */
const EXECUTIONS = Number(process.env.SKILLBOX_FAULT_EXECUTIONS ?? 1000);
const CONCURRENCY = 32;
const KILLS = 3;
const TENANTS = ['red', 'green', 'blue'] as const;
const ENDS = ['success', 'failed', 'timeout'];
/** A process that nobody else has: what is left of a run is found by it. */
const MARK = `sb-fault-${randomBytes(6).toString('hex')}`;

/** Says which one it is in its output, its artifact and its log; some take a moment, some leave a child behind. */
const BODY = `echo "run $N"
case $((N % 5)) in
  0) sleep 0.2 ;;
  1) (exec -a ${MARK} sleep 30) & ;;
esac
printf 'content of %s' "$N" > "$SANDBOX_FILES_DIR/n.txt"
printf '{"n":%s}' "$N" > "$SANDBOX_OUTPUT"
`;

type Accepted = { n: number; tenant: number; id: string; canceled: boolean };

test.skipIf(NO_SANDBOX)(
  `${EXECUTIONS} executions of three tenants, with cancels and ${KILLS} kills of the server: none is lost, none runs twice`,
  { timeout: 300_000 },
  async () => {
    const served = await ServedProgram.start(tempDir('faults'), {
      SKILLBOX_RUNS_SLOTS: '6',
      SKILLBOX_QUOTAS_QUEUED: '5000',
      SKILLBOX_QUOTAS_REQUESTS_PER_MINUTE: '1000000',
    });
    onTestFinished(() => served.kill());
    const admin = served.client(served.firstKey());
    const services: Service[] = [];
    for (const name of TENANTS) {
      await admin.tenants.create(name, {});
      const { secret } = await admin.keys.create({
        name: 'tester',
        tenant: name,
        scopes: ['read', 'run', 'publish'],
        expiresAt: null,
      });
      const service = served.client(secret);
      await publish(service, { name: 'marked', body: BODY });
      services.push(service);
    }
    const of = (tenant: number) => services[tenant] as Service;

    const accepted: Accepted[] = [];
    let kills = 0;
    const killing = killFromTimeToTime(
      served,
      () => accepted.length,
      () => kills++,
    );
    let next = 0;
    await Promise.all(
      Array.from({ length: CONCURRENCY }, async () => {
        for (let n = next++; n < EXECUTIONS; n = next++) {
          const tenant = n % TENANTS.length;
          const request = startOf('marked', { env: { N: String(n) } });
          const run = await persist(() => of(tenant).runs.start(request, { idempotencyKey: `wish-${n}` }));
          const entry: Accepted = { n, tenant, id: run.id, canceled: false };
          accepted.push(entry);
          if (n % 7 === 3) {
            await sleep(Math.random() * 150);
            // One that was killed before it could answer may have done it: then the next says that there is nothing to cancel.
            // The client asks again by itself, so an answer may be the second one where there was a kill meanwhile.
            let unanswered = false;
            const before = kills;
            const ask = () => {
              return of(tenant)
                .runs.cancel(run.id)
                .catch((error: unknown) => {
                  unanswered = true;
                  throw error;
                });
            };
            entry.canceled = (await persist(ask)) || unanswered || kills !== before;
          } else if (n % 3 === 0) {
            await persist(() => of(tenant).runs.wait(run.id, { timeoutMs: 30_000, signal: null }));
          }
        }
      }),
    );
    await killing;

    const runs = new Map<string, Run>();
    for (const { id, tenant } of accepted)
      runs.set(id, await persist(() => of(tenant).runs.wait(id, { timeoutMs: 60_000, signal: null })));
    await checkRuns(accepted, runs, of);
    await checkJournal(accepted, runs, services);
    await served.stop();
    await checkLeftovers(served);
    const verified = await runCommand(['audit', 'verify', '--json'], { env: { SKILLBOX_DATA_DIR: served.data } });
    expect([verified.code, JSON.parse(verified.out)]).toMatchObject([0, { ok: true }]);
  },
);

/** Again until there is a server that answers. */
async function persist<T>(ask: () => Promise<T>): Promise<T> {
  for (const deadline = Date.now() + 120_000; ; await sleep(50)) {
    try {
      return await ask();
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : '';
      const mayPass = ['SERVER_UNREACHABLE', 'SHUTTING_DOWN', 'RATE_LIMITED', 'QUEUE_FULL', 'BUSY'].includes(code);
      if (!mayPass || Date.now() > deadline) throw error;
    }
  }
}

/** Kills the server each time another part of the executions is accepted, and starts it again. */
async function killFromTimeToTime(served: ServedProgram, accepted: () => number, onKill: () => void): Promise<void> {
  for (let kill = 1; kill <= KILLS; kill++) {
    const at = (kill * EXECUTIONS) / (KILLS + 1);
    while (accepted() < at) await sleep(5);
    await sleep(Math.random() * 100);
    onKill();
    await served.kill();
    await served.start();
    onKill(); // over: whoever asked in between asked twice
  }
}

async function checkRuns(
  accepted: readonly Accepted[],
  runs: ReadonlyMap<string, Run>,
  of: (tenant: number) => Service,
) {
  expect(new Set(accepted.map(({ id }) => id)).size).toBe(EXECUTIONS);
  let succeeded = 0;
  for (const { id, n, tenant, canceled } of accepted) {
    const run = runs.get(id) as Run;
    expect(ENDS, `${id} is ${run.state}`).toContain(run.state);
    const ending = (run.ending as { kind: string }).kind;
    const expected = run.state === 'success' ? ['exited'] : canceled ? ['canceled', 'interrupted'] : ['interrupted'];
    expect(expected, `${id}: ${JSON.stringify(run.error)}`).toContain(ending);
    if (run.state !== 'success') continue;
    succeeded++;
    expect(run.output).toEqual({ n });
    const { artifact, content } = await of(tenant).runs.artifact(id, 'n.txt');
    const parts: Uint8Array[] = [];
    for await (const part of content) parts.push(part);
    const bytes = Buffer.concat(parts);
    expect(bytes.toString()).toBe(`content of ${n}`);
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(artifact.sha256);
    expect((await of(tenant).runs.logs(id, 0)).lines.map(line => line.text).join('')).toBe(`run ${n}\n`);
  }
  // Most of them: kills and cancels end a few.
  expect(succeeded).toBeGreaterThan(EXECUTIONS / 2);
}

/** One acceptance, at most one start and exactly one end for each; and no run that nobody asked for. */
async function checkJournal(
  accepted: readonly Accepted[],
  runs: ReadonlyMap<string, Run>,
  services: readonly Service[],
) {
  let hit = 0;
  for (const [tenant, service] of services.entries()) {
    const mine = accepted.filter(entry => entry.tenant === tenant);
    const told = new Map<string, Record<string, number>>();
    for await (const { subject, type } of allEntries(service)) {
      const counts = told.get(subject ?? '') ?? {};
      counts[type] = (counts[type] ?? 0) + 1;
      told.set(subject ?? '', counts);
    }
    for (const { id } of mine) {
      const counts = told.get(id) ?? {};
      expect((counts['run.ended'] ?? 0) + (counts['run.interrupted'] ?? 0), `${id} ${JSON.stringify(counts)}`).toBe(1);
      expect(counts['run.started'] ?? 0, id).toBeLessThanOrEqual(1);
      if (runs.get(id)?.state === 'success') expect(counts['run.started'], id).toBe(1);
      hit += (counts['run.interrupted'] ?? 0) + (counts['run.requeued'] ?? 0);
    }
    const listed: string[] = [];
    for (let after: string | null = null; ; ) {
      const page = await service.runs.list({ states: null, skill: null, since: null, limit: 200, after });
      listed.push(...page.items.map(run => run.id));
      after = page.next;
      if (after === null) break;
    }
    expect(listed.sort()).toEqual(mine.map(({ id }) => id).sort());
    expect(await service.audit.verify()).toMatchObject({ ok: true, wrong: null });
  }
  // The kills were not in vain.
  expect(hit).toBeGreaterThan(0);
}

async function* allEntries(service: Service): AsyncGenerator<AuditEntry> {
  for (let after: string | null = null; ; ) {
    const page = await service.audit.list({ types: null, subject: null, since: null, limit: 200, after });
    yield* page.items;
    after = page.next;
    if (after === null) return;
  }
}

/** No process, no mount and no directory of a run is left. */
async function checkLeftovers({ data, pids }: ServedProgram): Promise<void> {
  expect(processesMarked(MARK)).toEqual([]);
  expect(commandLines().filter(line => line.includes(data))).toEqual([]);
  expect(readFileSync('/proc/self/mountinfo', 'utf8')).not.toContain(data);
  const isRun = (name: string) => name.startsWith('sb-');
  const left = readdirSync(data, { recursive: true, encoding: 'utf8' });
  expect(left.filter(path => isRun(path.split('/').at(-1) ?? ''))).toEqual([]);
  expect(left.filter(path => path.endsWith('.part'))).toEqual([]);
  const cgroups = existsSync('/sys/fs/cgroup') ? findCgroups('/sys/fs/cgroup', 4) : [];
  // Their names hold the process that made them; others may be at work on this machine.
  const isOurs = (name: string) => isRun(name) && pids.some(pid => name.includes(`-${pid}-`));
  expect(cgroups.filter(isOurs)).toEqual([]);
  expect(existsSync(join(data, 'skillbox.db'))).toBe(true);
}

function commandLines(): string[] {
  return allProcesses().map(pid => commandOf(pid).replaceAll('\0', ' '));
}

function findCgroups(path: string, depth: number): string[] {
  if (depth === 0) return [];
  const inner = readdirSync(path, { withFileTypes: true }).filter(entry => entry.isDirectory());
  return inner.flatMap(({ name }) => [name, ...findCgroups(join(path, name), depth - 1)]);
}
