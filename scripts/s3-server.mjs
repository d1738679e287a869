// A real S3 server for the tests alone: Ceph's gateway with one monitor and one store in memory, on loopback, in one scratch
// directory. `node scripts/s3-server.mjs` prints one line of JSON when it answers, and stops when its standard input ends.
import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { daemon, freePorts, makeBucket, run, serveApart, startApart } from './server-apart.mjs';

const PROGRAMS = ['ceph-mon', 'ceph-osd', 'radosgw', 'radosgw-admin', 'ceph', 'ceph-authtool', 'monmaptool'];
const BUCKET = 'skillbox-test';

/** Whether everything that it takes is installed. */
export function hasS3() {
  return PROGRAMS.every(name => existsSync(`/usr/bin/${name}`));
}

export function startS3() {
  return startApart(fileURLToPath(import.meta.url));
}

async function bringUp(scratch, daemons) {
  const [v2, v1, http] = await freePorts(3);
  const conf = join(scratch, 'ceph.conf');
  const fsid = randomUUID();
  writeFileSync(conf, confOf(scratch, fsid, v2, v1, http), { mode: 0o600 });
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

if (process.argv[1] === fileURLToPath(import.meta.url)) await serveApart('s3', bringUp);
