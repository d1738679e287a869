// A real S3 server for the tests alone: Ceph's gateway with one monitor and one store in memory, on loopback, in one scratch
// directory. `node scripts/s3-server.mjs` prints one line of JSON when it answers, and stops when its standard input ends.
import { spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const PROGRAMS = ['ceph-mon', 'ceph-osd', 'radosgw', 'radosgw-admin', 'ceph', 'ceph-authtool', 'monmaptool'];
const BUCKET = 'skillbox-test';
const STEP_MS = 60_000;

/** Whether everything that it takes is installed. */
export function hasS3() {
  return PROGRAMS.every(name => existsSync(`/usr/bin/${name}`));
}

/**
 * Starts it in a process of its own, beside whatever else is set up meanwhile. `ready` answers how to reach it, as JSON, or
 * throws why it cannot be. The server ends with whoever started it, however that came about: then the pipe is closed.
 */
export function startS3() {
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url)], { stdio: ['pipe', 'pipe', 'pipe'] });
  const parts = [child, child.stdin, child.stdout, child.stderr];
  const hold = held => {
    for (const part of parts) part[held ? 'ref' : 'unref']();
  };
  let said = '';
  let fault = '';
  child.stderr.setEncoding('utf8').on('data', text => {
    fault += text;
  });
  const answer = new Promise((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', text => {
      said += text;
      if (said.endsWith('\n')) resolve(said.trim());
    });
    child.once('close', () => reject(new Error(`the S3 server did not start: ${fault.trim()}`)));
  });
  // Whoever never asks must not be ended by the answer.
  answer.catch(() => undefined);
  child.stdin.on('error', () => undefined);
  hold(false);
  return {
    async ready() {
      hold(true);
      try {
        return await answer;
      } finally {
        hold(false);
      }
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      hold(true);
      child.stdin.end();
      await once(child, 'close');
    },
  };
}

async function serve() {
  const scratch = mkdtempSync(join(tmpdir(), 'skillbox-s3-'));
  const daemons = [];
  const ended = once(process.stdin.resume(), 'end');
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.stdin.destroy());
  const closed = once(process.stdin, 'close');
  try {
    const access = await Promise.race([bringUp(scratch, daemons), ended, closed]);
    if (access.endpoint === undefined) return;
    process.stdout.write(`${JSON.stringify(access)}\n`);
    await Promise.race([ended, closed]);
  } finally {
    for (const daemon of daemons.reverse()) await end(daemon);
    rmSync(scratch, { recursive: true, force: true });
  }
}

async function bringUp(scratch, daemons) {
  const [v2, v1, http] = await freePorts(3);
  const conf = join(scratch, 'ceph.conf');
  writeFileSync(conf, confOf(scratch, randomUUID(), v2, v1, http), { mode: 0o600 });
  const on = (program, ...args) => run(scratch, program, ['-c', conf, ...args]);
  const begin = (program, ...args) => daemons.push(daemon(scratch, program, ['-c', conf, '-f', ...args]));
  const keyring = join(scratch, 'keyring');
  const osd = randomUUID();
  for (const [at, [name, ...caps]] of KEYS.entries())
    await run(scratch, 'ceph-authtool', [
      keyring,
      ...(at === 0 ? ['--create-keyring'] : []),
      '--gen-key',
      '-n',
      name,
      ...caps.flatMap(([on, cap]) => ['--cap', on, cap]),
    ]);
  const fsid = /fsid = (\S+)/.exec(readFileSync(conf, 'utf8'))[1];
  const map = join(scratch, 'monmap');
  const addresses = `[v2:127.0.0.1:${v2},v1:127.0.0.1:${v1}]`;
  await run(scratch, 'monmaptool', ['--create', '--addv', 'a', addresses, '--fsid', fsid, map]);
  for (const part of ['mon-a', 'osd-0', 'rgw-a']) mkdirSync(join(scratch, part));
  await on('ceph-mon', '--mkfs', '-i', 'a', '--monmap', map, '--keyring', keyring);
  begin('ceph-mon', '-i', 'a');
  await on('ceph', 'osd', 'new', osd, '0');
  await on('ceph', 'osd', 'crush', 'add', 'osd.0', '1.0', 'root=default', 'host=localhost');
  await on('ceph-osd', '--mkfs', '-i', '0', '--osd-uuid', osd);
  begin('ceph-osd', '-i', '0');
  const accessKey = randomBytes(10).toString('hex');
  const secretKey = randomBytes(20).toString('hex');
  const user = ['user', 'create', '--uid=test', '--display-name=test'];
  await on('radosgw-admin', '-n', 'client.rgw.a', ...user, `--access-key=${accessKey}`, `--secret-key=${secretKey}`);
  begin('radosgw', '-n', 'client.rgw.a');
  const access = { endpoint: `http://127.0.0.1:${http}`, region: 'us-east-1', bucket: BUCKET, accessKey, secretKey };
  await makeBucket(access, daemons);
  return access;
}

const KEYS = [
  ['mon.', ['mon', 'allow *']],
  ['client.admin', ['mon', 'allow *'], ['osd', 'allow *'], ['mgr', 'allow *']],
  ['osd.0', ['mon', 'allow profile osd'], ['osd', 'allow *']],
  ['client.rgw.a', ['mon', 'allow rw'], ['osd', 'allow rwx']],
];

function confOf(scratch, fsid, v2, v1, http) {
  return `[global]
fsid = ${fsid}
mon host = [v2:127.0.0.1:${v2},v1:127.0.0.1:${v1}]
public addr = 127.0.0.1
cluster addr = 127.0.0.1
auth cluster required = cephx
auth service required = cephx
auth client required = cephx
keyring = ${scratch}/keyring
run dir = ${scratch}
admin socket = ${scratch}/$name.sock
pid file =
log file = ${scratch}/$name.log
crash dir = ${scratch}
mon data = ${scratch}/mon-a
mon data avail crit = 1
mon allow pool size one = true
mon max pg per osd = 1000
osd data = ${scratch}/osd-0
osd objectstore = memstore
memstore device bytes = 4294967296
osd journal =
osd class load list = *
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pgp num = 1
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
rgw data = ${scratch}/rgw-a
rgw frontends = beast endpoint=127.0.0.1:${http} tcp_nodelay=1
rgw thread pool size = 64
`;
}

/** One line of what went wrong is enough for whoever reads the test's output. */
async function run(scratch, program, args) {
  const log = openSync(join(scratch, 'steps.log'), 'a');
  const child = spawn(program, args, { cwd: scratch, stdio: ['ignore', log, log], timeout: STEP_MS });
  const [code] = await once(child, 'close');
  if (code === 0) return;
  const last = readFileSync(join(scratch, 'steps.log'), 'utf8').trim().split('\n').slice(-3).join(' / ');
  throw new Error(`${program} ${args.slice(0, 6).join(' ')} ended with ${code}: ${last}`);
}

function daemon(scratch, program, args) {
  const log = openSync(join(scratch, 'daemons.log'), 'a');
  // The kernel ends it with this process, should that be killed.
  return spawn('setpriv', ['--pdeathsig', 'KILL', program, ...args], { cwd: scratch, stdio: ['ignore', log, log] });
}

async function end(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const closed = once(child, 'close');
  // There is nothing to keep, so nothing is written down in peace.
  child.kill('SIGKILL');
  await closed;
}

async function makeBucket({ endpoint, region, bucket, accessKey, secretKey }, daemons) {
  const { CreateBucketCommand, S3Client } = await import('@aws-sdk/client-s3');
  const credentials = { accessKeyId: accessKey, secretAccessKey: secretKey };
  const client = new S3Client({ endpoint, region, credentials, forcePathStyle: true });
  for (const last = Date.now() + STEP_MS; ; await sleep(100)) {
    if (daemons.some(({ exitCode }) => exitCode !== null)) throw new Error('a daemon of Ceph ended');
    try {
      await client.send(new CreateBucketCommand({ Bucket: bucket }));
      client.destroy();
      return;
    } catch (error) {
      if (Date.now() > last) throw error;
    }
  }
}

/** Ports that were free a moment ago, held together so that they differ. */
async function freePorts(count) {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map(server => once(server, 'listening')));
  const ports = servers.map(server => server.address().port);
  await Promise.all(servers.map(server => new Promise(resolve => server.close(resolve))));
  return ports;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    await serve();
  } catch (error) {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  }
  // Whatever was still being set up ends here.
  process.exit();
}
