// A PostgreSQL for the tests alone: its own data, its own password, loopback and a socket of its own, gone when they end.
import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const HOMES = '/usr/lib/postgresql';
const USER = 'skillbox';
const READY_MS = 30_000;
const STOP_MS = 20_000;

/** Ends the server and removes its data when whoever started it closes the pipe, however that came about. */
const KEEPER = '"$@" >>log 2>&1 & server=$!; cat >/dev/null; kill -INT $server; wait $server; cd /; rm -rf "$SCRATCH"';

/** Where the newest installed server has its programs; null when there is none. */
export function findPostgres() {
  const versions = existsSync(HOMES) ? readdirSync(HOMES).map(Number).filter(Number.isInteger) : [];
  return (
    versions
      .sort((a, b) => b - a)
      .map(version => join(HOMES, String(version), 'bin'))
      .find(bin => existsSync(join(bin, 'postgres'))) ?? null
  );
}

/** Starts it; answers its URL and how to stop it. Throws when it does not come up. */
export function startPostgres() {
  const bin = findPostgres();
  if (bin === null) throw new Error('PostgreSQL is not installed');
  const scratch = mkdtempSync(join(tmpdir(), 'skillbox-postgres-'));
  const who = ordinaryUser();
  chmodSync(scratch, 0o700);
  const password = randomBytes(16).toString('hex');
  try {
    makeCluster(bin, scratch, password, who);
    return launch(bin, scratch, password, who);
  } catch (error) {
    rmSync(scratch, { recursive: true, force: true });
    throw error;
  }
}

/** PostgreSQL refuses to run as root; then it is the user that its package made, or nobody. */
function ordinaryUser() {
  if (process.getuid?.() !== 0) return {};
  const number = flag => Number(spawnSync('id', [flag, 'postgres'], { encoding: 'utf8' }).stdout.trim() || 65534);
  return { uid: number('-u'), gid: number('-g') };
}

function makeCluster(bin, scratch, password, who) {
  const secret = join(scratch, 'password');
  writeFileSync(secret, password, { mode: 0o600 });
  mkdirSync(join(scratch, 'socket'), { mode: 0o700 });
  if (who.uid !== undefined)
    for (const path of [scratch, secret, join(scratch, 'socket')]) chownSync(path, who.uid, who.gid);
  const { status, stderr } = spawnSync(
    join(bin, 'initdb'),
    ['-D', join(scratch, 'data'), '-U', USER, '-A', 'scram-sha-256', `--pwfile=${secret}`, '-E', 'UTF8', '--locale=C'],
    { cwd: scratch, encoding: 'utf8', ...who },
  );
  if (status !== 0) throw new Error(`initdb failed: ${stderr}`);
}

/** For those who ask for TLS: a certificate of its own. Answers the settings; none where there is no openssl. */
function makeCertificate(scratch, who) {
  const request = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /CN=127.0.0.1';
  const rest = '-addext subjectAltName=IP:127.0.0.1 -keyout data/server.key -out data/server.crt';
  const { status } = spawnSync('openssl', `${request} ${rest}`.split(' '), { cwd: scratch, stdio: 'ignore', ...who });
  return status === 0 ? ['-c', 'ssl=on'] : [];
}

function launch(bin, scratch, password, who) {
  const port = freePort();
  const places = ['-D', join(scratch, 'data'), '-k', join(scratch, 'socket'), '-h', '127.0.0.1', '-p', String(port)];
  const settings = ['-c', 'max_connections=200', '-c', 'shared_buffers=64MB', ...makeCertificate(scratch, who)];
  const keeper = spawn('sh', ['-c', KEEPER, 'keeper', join(bin, 'postgres'), ...places, ...settings], {
    cwd: scratch,
    stdio: ['pipe', 'ignore', 'ignore'],
    env: { PATH: '/usr/bin:/bin', SCRATCH: scratch },
    detached: true,
    ...who,
  });
  // The tests' own process may end while it runs.
  keeper.unref();
  keeper.stdin.unref?.();
  const stop = () => {
    keeper.stdin.destroy();
    waitUntil(() => !existsSync(scratch), STOP_MS);
    rmSync(scratch, { recursive: true, force: true });
  };
  const status = join(scratch, 'data/postmaster.pid');
  // The last line of the server's own file says when it takes connections.
  if (!waitUntil(() => existsSync(status) && /^ready\s*$/m.test(readFileSync(status, 'utf8')), READY_MS)) {
    const log = existsSync(join(scratch, 'log')) ? readFileSync(join(scratch, 'log'), 'utf8') : '';
    stop();
    throw new Error(`PostgreSQL does not come up: ${log}`);
  }
  return { url: `postgres://${USER}:${password}@127.0.0.1:${port}/postgres`, stop };
}

/** One that was free a moment ago. */
function freePort() {
  const ask =
    "const s=require('net').createServer().listen(0,'127.0.0.1',()=>{console.log(s.address().port);s.close()})";
  return Number(spawnSync(process.execPath, ['-e', ask], { encoding: 'utf8' }).stdout);
}

/** Without an event loop: those who start it have nothing else to do. */
function waitUntil(holds, ms) {
  const cell = new Int32Array(new SharedArrayBuffer(4));
  for (const end = Date.now() + ms; Date.now() < end; Atomics.wait(cell, 0, 0, 20)) if (holds()) return true;
  return holds();
}
