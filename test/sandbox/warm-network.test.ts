import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { buildHelper } from '../../scripts/build-helper.mjs';
import { type Bubblewrap, createBubblewrap, type Outcome, type RunSpec, run } from '../../src/sandbox/index.ts';
import { BUBBLEWRAPS, makeStateDir, optionsFor, WARM } from '../support/drivers.ts';
import { errors, MOUNTS, QUIET, specOf, text } from '../support/sandbox-spec.ts';
import { tempDir, tidy } from '../support/temp.ts';
import { UPSTREAM_ROOT } from '../support/upstream.ts';
import { alwaysWarm } from '../support/warmed.ts';

tidy();
const AT = '/way/out.sock';
const ASK = `
import os, socket
def ask(kind, to):
  s = socket.socket(kind); s.settimeout(5)
  try: s.connect(to); return s.recv(100).decode() or 'nothing'
  except OSError as error: return type(error).__name__
print(ask(socket.AF_INET, ('127.0.0.1', 3128)), ask(socket.AF_UNIX, '${AT}'), sorted(os.listdir('/way')), flush=True)
`;

describe.skipIf(BUBBLEWRAPS[0]?.skip !== null)('a network from the warm pool', () => {
  const servers: Server[] = [];
  let stateDir: string;
  let bubblewrap: Bubblewrap;
  let cold: Bubblewrap;
  beforeAll(async () => {
    buildHelper();
    stateDir = makeStateDir(process.getuid?.() ?? 0);
    bubblewrap = createBubblewrap({ ...optionsFor(stateDir), warm: WARM });
    cold = createBubblewrap(optionsFor(stateDir));
    await bubblewrap.check();
  });
  afterEach(() => {
    for (const server of servers.splice(0)) server.close();
  });
  afterAll(async () => {
    await bubblewrap.close();
    await cold.close();
    expect(readdirSync(join(stateDir, 'runs'))).toEqual([]);
    await rm(stateDir, { recursive: true, force: true });
  });

  /** A socket as a proxy of one run has it. */
  const open = async (says: string): Promise<string> => {
    const socket = join(tempDir('way'), 'own.sock');
    const server = createServer(connection => connection.on('error', () => undefined).end(says)).listen(socket);
    servers.push(server);
    await once(server, 'listening');
    chmodSync(socket, 0o666);
    return socket;
  };
  const through = (socket: string, changes: Parameters<typeof specOf>[1] = {}): RunSpec =>
    specOf(['python3', '/app/main.py'], {
      network: { kind: 'egress', socket, at: AT },
      mounts: [...MOUNTS, { kind: 'text', at: '/app/main.py', text: ASK }],
      ...changes,
    });
  const slotOf = (id: string) => join(stateDir, 'runs', id, 'slots/way');

  it('has no socket before its run, then that of the run and no other', async () => {
    const [first, second] = [await open('first'), await open('second')];
    await bubblewrap.preheat(through(first));
    const [id = ''] = readdirSync(join(stateDir, 'runs'));
    expect(readdirSync(slotOf(id))).toEqual([]);
    // Made for a run with the first socket, and taken by one with the second: the key is the same.
    const handle = await bubblewrap.prepare(through(second));
    expect([handle.id, readdirSync(slotOf(id))]).toEqual([id, ['out.sock']]);
    expect(text(await handle.start(QUIET))).toBe("second second ['out.sock']\n");
    await handle.dispose();
    expect(bubblewrap.warmth().keys.map(({ label, hits }) => [label, hits])).toEqual([['python3, network', 1]]);
  });

  it('several at once each reach their own, as at a cold start', async () => {
    const warm = alwaysWarm(bubblewrap);
    const names = ['a', 'b', 'c', 'd'];
    const sockets = await Promise.all(names.map(open));
    const outcomes = await Promise.all(sockets.map(socket => run(warm, through(socket), QUIET)));
    expect(outcomes.map(text)).toEqual(names.map(name => `${name} ${name} ['out.sock']\n`));
    expect(text(await run(cold, through(sockets[0] ?? ''), QUIET))).toBe("a a ['out.sock']\n");
  });

  it('whoever listens is gone: the run is told so, and goes on', async () => {
    const socket = await open('gone');
    const handle = await alwaysWarm(bubblewrap).prepare(through(socket));
    servers.pop()?.close();
    expect(text(await handle.start(QUIET))).toBe("nothing ConnectionRefusedError ['out.sock']\n");
    await handle.dispose();
  });

  it('the way is read-only: no other socket can be put in its place', async () => {
    const script = `
import os, socket
def attempt(act):
  try: act(); print('DONE')
  except OSError as error: print(error.strerror)
attempt(lambda: os.unlink('${AT}'))
attempt(lambda: os.rename('${AT}', '/way/x'))
attempt(lambda: os.chmod('${AT}', 0))
attempt(lambda: socket.socket(socket.AF_UNIX).bind('/way/y'))
attempt(lambda: socket.socket().bind(('127.0.0.1', 3128)))
print(oct(os.stat('${AT}').st_mode), os.stat('${AT}').st_uid)`;
    const spec = through(await open('x'), {
      mounts: [...MOUNTS, { kind: 'text', at: '/app/main.py', text: script }],
    });
    const [warm, usual] = [await run(alwaysWarm(bubblewrap), spec, QUIET), await run(cold, spec, QUIET)];
    const lines = [...Array<string>(4).fill('Read-only file system'), 'Address already in use', '0o140666 1000', ''];
    expect(text(warm).split('\n')).toEqual(lines);
    // Cold it is a mount of its own, which cannot be removed either.
    expect(text(usual)).not.toContain('DONE');
  });

  it.skipIf(process.getuid?.() !== 0)('a spare leads nowhere, for whoever got into it', async () => {
    await bubblewrap.preheat(through(await open('the way out')));
    const [id = ''] = readdirSync(join(stateDir, 'runs'));
    const pid = readdirSync('/proc').find(name => /^\d+$/.test(name) && isIn(name, `${id}/slots/way`));
    const ask = 'import socket; s = socket.create_connection(("127.0.0.1", 3128), 5); print(s.recv(100))';
    const said = execFileSync('nsenter', [`--net=/proc/${pid}/ns/net`, 'python3', '-I', '-c', ask], {
      timeout: 20_000,
    });
    expect(String(said)).toBe("b''\n");
    expect(bubblewrap.warmth().ready).toBe(1);
  });

  it('python, up already, trusts what the run brings; node reads such variables at its start, and is started then', async () => {
    const told = (outcome: Outcome) => [text(outcome), errors(outcome)];
    const env = { HOME: '/root', SSL_CERT_FILE: '/way/ca.pem', NODE_EXTRA_CA_CERTS: '/way/ca.pem' };
    const bodies = {
      python3: [
        'main.py',
        'import ssl\nfor c in ssl.create_default_context().get_ca_certs(): print(c["serialNumber"])',
      ],
      node: [
        'main.js',
        'console.log(process.env.NODE_EXTRA_CA_CERTS, require("tls").getCACertificates("extra").length)',
      ],
    } as const;
    for (const [program, [name, body]] of Object.entries(bodies)) {
      const spec = specOf([program, `/app/${name}`], {
        env,
        network: { kind: 'egress', socket: await open('x'), at: AT },
        mounts: [
          ...MOUNTS,
          { kind: 'text', at: `/app/${name}`, text: body },
          { kind: 'text', at: '/way/ca.pem', text: UPSTREAM_ROOT },
        ],
      });
      const [warm, usual] = [await run(alwaysWarm(bubblewrap), spec, QUIET), await run(cold, spec, QUIET)];
      expect(told(warm)).toEqual(told(usual));
      expect(text(warm)).toMatch(program === 'node' ? /^\/way\/ca\.pem 1\n$/ : /^[0-9A-F]+\n$/);
    }
    const labels = bubblewrap.warmth().keys.slice(-2);
    expect(labels.map(({ label, hits }) => [label, hits])).toEqual([
      ['python3, network', 1],
      ['any program, network', 1],
    ]);
  });
});

/** Whether it is a process of the sandbox that has this mounted: bwrap itself has, in the network of the host. */
function isIn(pid: string, mounted: string): boolean {
  try {
    return (
      readFileSync(`/proc/${pid}/mountinfo`, 'utf8').includes(mounted) &&
      readlinkSync(`/proc/${pid}/ns/net`) !== readlinkSync('/proc/self/ns/net')
    );
  } catch {
    return false; // ended meanwhile
  }
}
