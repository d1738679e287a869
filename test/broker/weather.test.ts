import { closeSync, existsSync, lstatSync, openSync, readdirSync, readFileSync, readlinkSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Skillbox } from '../../src/app.ts';
import { encodingsOf } from '../../src/base/index.ts';
import { startBroker } from '../../src/broker/index.ts';
import { BROKER_PORT } from '../../src/runs/broker.ts';
import { run } from '../../src/sandbox/index.ts';
import { briefOf, brokered, customOf, newToken, pinsTo } from '../support/broker.ts';
import { BUBBLEWRAPS } from '../support/drivers.ts';
import { journalOf } from '../support/journal.ts';
import { MOUNTS, QUIET } from '../support/sandbox-spec.ts';
import { EXAMPLES, NO_SANDBOX, openSkillbox, runSkill, textOf } from '../support/skillbox.ts';
import { tempDir, tidy } from '../support/temp.ts';
import { UPSTREAM_ROOT, UpstreamServer } from '../support/upstream.ts';

tidy();
const KEY = 'owm/0123456789+abcdef=Ghij';
const HOST = 'api.openweathermap.org';
const SECRET = 'custom/openweathermap-api-key';
const SKILL = join(EXAMPLES, 'seksbot/weather-lookup');
const isRoot = process.getuid?.() === 0;

const upstream = new UpstreamServer(true, (request, outgoing) => {
  const query = new URL(request.url, `https://${HOST}`).searchParams;
  if (query.get('appid') !== KEY) return void outgoing.writeHead(401).end('{"cod":401}');
  // A careless host: it says what it was asked.
  outgoing.setHeader('content-type', 'application/json');
  outgoing.end(JSON.stringify({ name: query.get('q'), main: { temp: 21.5 }, asked: request.url, key: KEY }));
});
beforeAll(async () => void (await upstream.start()));
afterAll(() => upstream.close());

describe.skipIf(NO_SANDBOX).each([
  ['cold', 0],
  ['from the pool', 4],
])("SK-11 the seed's example works without the key entering the sandbox, %s", (_, warm) => {
  const data = tempDir('weather');
  let skillbox: Skillbox;

  beforeAll(async () => {
    const broker = { pins: pinsTo(upstream.port, [HOST]), roots: [UPSTREAM_ROOT] };
    skillbox = await openSkillbox(data, 'bubblewrap', warm, broker);
    await skillbox.secrets.set(SECRET, Buffer.from(KEY), null, { id: 'tester', channel: 'local' });
    if (warm === 0) return;
    // The first of its kind: from then on a sandbox and a broker wait.
    await runSkill(skillbox, SKILL, { input: 'Nova Gorica' });
    await vi.waitFor(() => expect(heldOf(skillbox)).toEqual([true, 1]), { timeout: 20_000, interval: 50 });
  }, 30_000);
  afterAll(() => skillbox?.close());

  test('as a run: result, log, record, journal and everything that is kept', async () => {
    const record = await runSkill(skillbox, SKILL, { input: 'Nova Gorica' });
    expect([record.state, record.warnings, await textOf(skillbox, record)]).toEqual([
      'success',
      [],
      'asked for the weather in Nova Gorica\n',
    ]);
    expect(record.output).toMatchObject({ name: 'Nova Gorica', main: { temp: 21.5 } });
    expect(upstream.last.headers).not.toHaveProperty('proxy-authorization');
    expectNoKey('the record', JSON.stringify(record));
    const lines = await journalOf(skillbox);
    const types = lines.map(({ type }) => type);
    expect(types).toEqual(expect.arrayContaining(['token.minted', 'broker.called', 'token.revoked', 'run.ended']));
    expectNoKey('the journal', JSON.stringify(lines));
    await skillbox.settled();
    for (const file of filesBelow(data)) expectNoKey(file, readFileSync(file));
    expect(existsSync(join(data, 'egress')) ? readdirSync(join(data, 'egress')) : []).toEqual([]);
  });

  test.skipIf(warm === 0)(
    'it came from the pool, and what waits for the next run has nothing of the last',
    async () => {
      const { keys, standby } = skillbox.warmth();
      expect([...keys, ...standby.keys].map(({ hits, misses }) => [hits, misses])).toEqual([
        [1, 1],
        [1, 1],
      ]);
      await expect.poll(() => heldOf(skillbox), { timeout: 10_000 }).toEqual([true, 1]);
      const waiting = readdirSync('/proc').filter(pid => isOwnBroker(pid));
      expect(waiting).toHaveLength(1);
      for (const pid of waiting) if (isRoot) expectNoKey('the memory of a broker that waits', readMemory(pid));
    },
  );
});

/** Whether sandboxes wait for every kind of run there was, and how many brokers do. */
function heldOf(skillbox: Skillbox): [boolean, number] {
  const { keys, standby } = skillbox.warmth();
  return [keys.every(({ ready }) => ready > 0), standby.ready];
}

function isOwnBroker(pid: string): boolean {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    return status.includes(`\nPPid:\t${process.pid}\n`) && command.includes('broker/main.ts');
  } catch {
    return false; // no process, or ended meanwhile
  }
}

describe.skipIf(NO_SANDBOX)('SK-11 the key is nowhere in the sandbox', () => {
  test.each(BUBBLEWRAPS.filter(({ name }) => /^bubblewrap( warm)?( as root)?$/.test(name)))(
    '$name: seen from inside and outside: files, environment, /proc, output, and the memory of its processes',
    async driver => {
      const subject = await driver.make();
      const token = newToken();
      const custom = customOf({ key: 'openweathermap-api-key', value: KEY, hosts: [HOST] });
      const brief = briefOf(token, { customs: [custom] });
      const around = { pins: pinsTo(upstream.port, [HOST]), roots: [UPSTREAM_ROOT], certificates: null };
      const broker = await startBroker(
        join(tempDir('broker', 0o711), 'b'),
        brief,
        BROKER_PORT,
        around,
        () => undefined,
      );
      try {
        expectNoKey('arguments of the broker', readFileSync(`/proc/${broker.pid}/cmdline`));
        if (isRoot) expectNoKey('environment of the broker', readFileSync(`/proc/${broker.pid}/environ`));
        const main = readFileSync(join(SKILL, 'main.sh'), 'utf8');
        const script = `
        bash /app/main.sh && cat /tmp/output.json && echo
        ${LOOK_AROUND}
        printf 'LOOK%s\\n' ED; sleep 2`; // whole, the word stands in the command lines that were printed
        const spec = brokered(['bash', '-c', script], broker, brief, token, {
          mounts: [...MOUNTS, { kind: 'text', at: '/app/main.sh', text: main }],
          limits: { outputBytes: 64 * 1024 ** 2, timeMs: 60_000 },
        });
        const env = { ...spec.env, SEKS_SKILL_TASK: 'Lisbon', SANDBOX_OUTPUT: '/tmp/output.json' };
        let printed = Buffer.alloc(0);
        let memories = 0;
        const outcome = await run(
          subject.sandbox,
          { ...spec, env },
          {
            ...QUIET,
            keepBytes: 0,
            onChunk: (_stream, chunk) => {
              printed = Buffer.concat([printed, chunk]);
              if (isRoot && memories === 0 && printed.subarray(-chunk.length - 6).includes('LOOKED'))
                memories = searchMemory(token);
            },
          },
        );
        expect(outcome.end).toEqual({ kind: 'exited', code: 0 });
        const seen = printed.toString('latin1');
        // What must be found was looked at: the token in an environment, the answer in a file, the certificate in its place.
        expect(seen).toContain(`SEKS_AGENT_TOKEN=${token}`);
        expect(seen).toContain('"name":"Lisbon"');
        expect(seen).toContain('BEGIN CERTIFICATE');
        expect(printed.length).toBeGreaterThan(20_000);
        expectNoKey('what the run can see', printed);
        if (isRoot) expect(memories).toBeGreaterThan(0);
      } finally {
        await broker.close();
        await subject.close();
      }
    },
  );
});

/** Every file but those of the host's /usr, and all that /proc says of the processes. */
const LOOK_AROUND = `
  for place in /*; do
    case $place in /usr|/bin|/sbin|/lib|/lib32|/lib64|/libx32|/opt|/proc|/sys|/dev|/.skillbox) continue;; esac
    find "$place" -type f -exec cat {} + 2>/dev/null
    find "$place" -type l -exec readlink {} + 2>/dev/null
  done
  find /dev/shm /.skillbox -name helper -prune -o -type f -exec cat {} + 2>/dev/null
  env
  for process in /proc/[0-9]*; do
    for name in environ cmdline status maps mounts mountinfo limits io cgroup stat net/unix net/tcp; do cat $process/$name 2>/dev/null; done
    ls -l $process/fd $process/root $process/cwd 2>/dev/null
  done
  find / -xdev -printf '%p\\n' 2>/dev/null | grep -v '^/usr/\\|^/proc/' || true
`;

/** How many bytes of memory were read: of the processes that hold the run's token, and so are the run's. */
function searchMemory(token: string): number {
  let bytes = 0;
  for (const pid of readdirSync('/proc').filter(name => /^\d+$/.test(name) && Number(name) !== process.pid)) {
    let memory: Buffer;
    try {
      if (!readFileSync(`/proc/${pid}/environ`).includes(token)) continue;
      if (readlinkSync(`/proc/${pid}/ns/net`) === readlinkSync('/proc/self/ns/net')) continue;
      memory = readMemory(pid);
    } catch {
      continue; // ended meanwhile
    }
    expectNoKey(`the memory of ${pid}`, memory);
    bytes += memory.length;
  }
  return bytes;
}

function readMemory(pid: string): Buffer {
  const parts: Buffer[] = [];
  const file = openSync(`/proc/${pid}/mem`, 'r');
  try {
    for (const line of readFileSync(`/proc/${pid}/maps`, 'utf8').split('\n')) {
      const match = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line);
      if (match === null) continue;
      const [from, to] = [BigInt(`0x${match[1]}`), BigInt(`0x${match[2]}`)];
      const part = Buffer.alloc(Number(to - from));
      try {
        readSync(file, part, 0, part.length, from);
        parts.push(part);
      } catch {
        // not readable, as [vvar] is not
      }
    }
  } finally {
    closeSync(file);
  }
  return Buffer.concat(parts);
}

function filesBelow(path: string): string[] {
  if (!lstatSync(path).isDirectory()) return lstatSync(path).isFile() ? [path] : [];
  return readdirSync(path).flatMap(name => filesBelow(join(path, name)));
}

function expectNoKey(where: string, text: string | Buffer): void {
  const bytes = Buffer.from(text);
  const found = encodingsOf(KEY).filter(form => bytes.includes(form));
  expect([where, found.map(form => form.toString())]).toEqual([where, []]);
}
