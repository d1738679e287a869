// A second real S3 server for the tests alone, of quite another make: OpenStack Swift behind its S3 interface. What works on
// both is S3, and not what one server makes of it. `node scripts/swift-server.mjs` is started as s3-server.mjs is.
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { daemon, freePorts, makeBucket, run, serveApart, startApart } from './server-apart.mjs';

const PROGRAMS = [
  'memcached',
  'swift-ring-builder',
  ...['account', 'container', 'object', 'proxy'].map(name => `swift-${name}-server`),
];

/** Whether everything that it takes is installed. */
export function hasSwift() {
  return PROGRAMS.every(name => existsSync(`/usr/bin/${name}`));
}

export function startSwift() {
  return startApart(fileURLToPath(import.meta.url));
}

async function bringUp(scratch, daemons) {
  const kinds = ['account', 'container', 'object'];
  const [http, cache, ...ports] = await freePorts(5);
  const secretKey = randomBytes(20).toString('hex');
  const suffix = randomBytes(8).toString('hex');
  writeFileSync(join(scratch, 'swift.conf'), SWIFT.replace('SUFFIX', suffix));
  mkdirSync(join(scratch, 'disks/one'), { recursive: true });
  await Promise.all(kinds.map((kind, at) => makeRing(scratch, kind, ports[at])));
  for (const [at, kind] of kinds.entries()) {
    writeFileSync(join(scratch, `${kind}.conf`), storageConf(scratch, kind, ports[at]));
    daemons.push(daemon(scratch, `swift-${kind}-server`, [join(scratch, `${kind}.conf`), '-v']));
  }
  daemons.push(daemon(scratch, 'memcached', ['-u', 'root', '-l', '127.0.0.1', '-p', String(cache), '-m', '16']));
  writeFileSync(join(scratch, 'proxy.conf'), proxyConf(scratch, http, cache, secretKey), { mode: 0o600 });
  daemons.push(daemon(scratch, 'swift-proxy-server', [join(scratch, 'proxy.conf'), '-v']));
  const endpoint = `http://127.0.0.1:${http}`;
  const access = { endpoint, region: 'us-east-1', bucket: 'skillbox-test', accessKey: 'test:tester', secretKey };
  await makeBucket(access, daemons);
  return access;
}

/** Where things of a kind are: all in one place here. */
async function makeRing(scratch, kind, port) {
  const build = (...args) => run(scratch, 'swift-ring-builder', [join(scratch, `${kind}.builder`), ...args]);
  await build('create', '4', '1', '0');
  await build('add', `r1z1-127.0.0.1:${port}/one`, '1');
  await build('rebalance');
}

const SWIFT = `[swift-hash]
swift_hash_path_suffix = SUFFIX
[storage-policy:0]
name = one
default = yes
`;

function storageConf(scratch, kind, port) {
  return `[DEFAULT]
bind_ip = 127.0.0.1
bind_port = ${port}
workers = 0
user = root
swift_dir = ${scratch}
devices = ${scratch}/disks
mount_check = false
log_level = ERROR
[pipeline:main]
pipeline = ${kind}-server
[app:${kind}-server]
use = egg:swift#${kind}
`;
}

function proxyConf(scratch, port, cache, secretKey) {
  return `[DEFAULT]
bind_ip = 127.0.0.1
bind_port = ${port}
workers = 0
user = root
swift_dir = ${scratch}
log_level = ERROR
[pipeline:main]
pipeline = catch_errors gatekeeper cache listing_formats bulk s3api tempauth copy slo dlo versioned_writes symlink proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
allow_account_management = true
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:gatekeeper]
use = egg:swift#gatekeeper
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:${cache}
[filter:listing_formats]
use = egg:swift#listing_formats
[filter:bulk]
use = egg:swift#bulk
[filter:s3api]
use = egg:swift#s3api
location = us-east-1
[filter:tempauth]
use = egg:swift#tempauth
user_test_tester = ${secretKey} .admin
[filter:copy]
use = egg:swift#copy
[filter:slo]
use = egg:swift#slo
[filter:dlo]
use = egg:swift#dlo
[filter:versioned_writes]
use = egg:swift#versioned_writes
allow_versioned_writes = true
[filter:symlink]
use = egg:swift#symlink
`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await serveApart('swift', bringUp);
