import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { run } from '../../src/sandbox/index.ts';
import { BUBBLEWRAPS, type Driver, type Subject } from '../support/drivers.ts';
import { errors, MOUNTS, QUIET, specOf, text } from '../support/sandbox-spec.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();
const AT = '/way/out.sock';
const MIB = 1024 ** 2;
const MUCH = Buffer.alloc(24 * MIB, 'abcdefghijklmnopqrstuvwxyz 0123456789');
const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

/** What lies behind the bridge; the first byte of a connection says which of them answers. */
const ANSWERS: Record<string, (connection: Socket) => void> = {
  // Says it again, and one word more when the other side is done.
  e(connection) {
    connection.on('data', bytes => connection.write(bytes));
    connection.on('end', () => connection.end(' bye'));
  },
  // Has an answer, and hears nothing.
  c(connection) {
    connection.end('closed').destroySoon();
  },
  d: connection => void connection.end(MUCH),
  // Takes its time before it listens, and answers when all has come.
  u(connection) {
    const hash = createHash('sha256');
    connection.pause();
    setTimeout(() => connection.resume(), 300);
    connection.on('data', bytes => hash.update(bytes));
    connection.on('end', () => connection.end(hash.digest('hex')));
  },
  // Never listens, and leaves.
  l(connection) {
    connection.pause();
    setTimeout(() => connection.destroy(), 300);
  },
};

const CLIENT = `
import hashlib, os, socket, struct, time
def say(word):
  s = socket.create_connection(('127.0.0.1', 3128)); s.settimeout(20)
  s.sendall(word)
  return s
def rest(s):
  parts = []
  while part := s.recv(65536): parts.append(part)
  return b''.join(parts)
def ticks():
  # Of what is not this program: PID 1 and the bridge.
  return sum(sum(map(int, open(f'/proc/{pid}/stat').read().rsplit(')', 1)[1].split()[11:13])) for pid in os.listdir('/proc') if pid.isdigit() and int(pid) != os.getpid())
`;

const [DRIVER] = BUBBLEWRAPS as [Driver];

describe.skipIf(DRIVER.skip !== null)('the bridge to the way out', () => {
  let subject: Subject;
  let server: Server;
  let socket: string;
  beforeAll(async () => {
    subject = await DRIVER.make();
    socket = join(tempDir('way', 0o711), 'own.sock');
    server = createServer({ allowHalfOpen: true }, connection => {
      connection.on('error', () => connection.destroy());
      connection.once('data', first => {
        connection.unshift(first.subarray(1));
        ANSWERS[first.toString('latin1', 0, 1)]?.(connection);
      });
    }).listen(socket);
    await once(server, 'listening');
    chmodSync(socket, 0o666);
  });
  afterAll(async () => {
    server.close();
    await subject.close();
  });

  const inside = async (script: string): Promise<string> => {
    const spec = specOf(['python3', '/app/main.py'], {
      network: { kind: 'egress', socket, at: AT },
      mounts: [...MOUNTS, { kind: 'text', at: '/app/main.py', text: CLIENT + script }],
      limits: { openFiles: 512, timeMs: 30_000 },
    });
    const outcome = await run(subject.sandbox, spec, QUIET);
    expect([outcome.end, errors(outcome)]).toEqual([{ kind: 'exited', code: 0 }, '']);
    return text(outcome).trim();
  };

  it('who is done with speaking still hears the answer', async () => {
    expect(await inside(`s = say(b'ehello'); s.shutdown(socket.SHUT_WR); print(rest(s).decode())`)).toBe('hello bye');
  });

  it('much goes through whole, either way, however slowly it is taken', async () => {
    const script = `
down = say(b'd'); time.sleep(.3)
print(hashlib.sha256(rest(down)).hexdigest())
much = (b'abcdefghijklmnopqrstuvwxyz 0123456789' * ${Math.ceil(MUCH.length / 37)})[:${MUCH.length}]
up = say(b'u' + much); up.shutdown(socket.SHUT_WR)
print(rest(up).decode())`;
    expect((await inside(script)).split('\n')).toEqual([sha256(MUCH), sha256(MUCH)]);
  });

  it('of more than it has places for the others wait, and come in when one leaves', async () => {
    const script = `
all = [socket.create_connection(('127.0.0.1', 3128)) for _ in range(150)]
for index, s in enumerate(all):
  s.settimeout(20); s.sendall(b'e%d;' % index)
def heard(s):
  word = b''
  while not word.endswith(b';'): word += s.recv(100)
  return word[:-1].decode()
print(*[heard(s) for s in all[:128]], '|', end=' ')
all[128].settimeout(1); before = ticks()
try: print(heard(all[128]), end=' ')
except TimeoutError: print('nothing yet,', ticks() - before < 20, '|', end=' ')
for s in all[:128]: s.close()
all[128].settimeout(20)
print(*[heard(s) for s in all[128:]])`;
    const count = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => from + at).join(' ');
    expect(await inside(script)).toBe(`${count(0, 128)} | nothing yet, True | ${count(128, 150)}`);
  });

  it('what broke off on one side breaks off on the other, and nothing else does', async () => {
    const script = `
stays = say(b'estays ')
gone = say(b'd'); gone.recv(10)
gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0)); gone.close()
left = say(b'l')
try:
  for _ in range(1000): left.sendall(bytes(65536))
  print('all was taken')
except OSError as error: print(type(error).__name__)
stays.sendall(b'here'); stays.shutdown(socket.SHUT_WR)
print(rest(stays).decode())`;
    const [broke = '', stays] = (await inside(script)).split('\n');
    expect(broke).toMatch(/^(ConnectionResetError|BrokenPipeError)$/);
    expect(stays).toBe('stays here bye');
  });

  it('takes no time while one side has gone and the other is still there', async () => {
    const script = `
ended = [say(b'c') for _ in range(3)]
half = say(b'ehalf'); half.shutdown(socket.SHUT_WR)
broken = say(b'l'); broken.setblocking(False)
try:
  while True: broken.send(bytes(65536))
except BlockingIOError: pass
time.sleep(.6)
before = ticks(); time.sleep(1); print(ticks() - before < 20)
print(*[rest(s).decode() for s in ended], rest(half).decode())`;
    expect((await inside(script)).split('\n')).toEqual(['True', 'closed closed closed half bye']);
  });
});
