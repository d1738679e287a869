// `npm test`: installs what the tests need, then checks everything. A part that could be installed must not be skipped.
import { spawnSync } from 'node:child_process';
import { IMAGE, startEngine } from './docker-engine.mjs';
import { installSystemPackages } from './packages.mjs';
import { hasPodman, startPodman } from './podman-engine.mjs';
import { startPostgres } from './postgres.mjs';
import { startS3 } from './s3-server.mjs';
import { installPackages, root, say } from './setup.mjs';
import { hasSwift, startSwift } from './swift-server.mjs';

installPackages();
const complete = installSystemPackages({ forTests: true });
// They take the longest, in processes of their own: the others come up meanwhile.
const s3 = complete ? startS3() : null;
// Where somebody has it: its many Python packages change what every Python on the machine loads, so nobody gets them for a test.
const swift = complete && hasSwift() ? startSwift() : null;
const engine = complete && process.getuid?.() === 0 ? startEngine() : null;
const podman = engine !== null && hasPodman() ? startPodman() : null;
const postgres = complete ? tryPostgres() : null;
const env = { ...process.env };
if (engine !== null) Object.assign(env, { SKILLBOX_DOCKER_SOCKET: engine.socket, SKILLBOX_DOCKER_IMAGE: IMAGE });
if (podman !== null) env.SKILLBOX_TEST_PODMAN = podman.socket;
if (postgres !== null) env.SKILLBOX_TEST_POSTGRES = postgres.url;
for (const [name, server] of Object.entries({ S3: s3, SWIFT: swift })) {
  const access = await server?.ready().catch(error => say(`No ${name} for the tests: ${error.message}`));
  if (access !== undefined) env[`SKILLBOX_TEST_${name}`] = access;
}
env.SKILLBOX_REQUIRE ??= [
  ...(complete ? ['bubblewrap', 'busybox', 'keyring', 'postgres', 's3'] : []),
  ...(process.platform === 'linux' && process.arch === 'x64' ? ['oldest-node'] : []),
  ...(engine === null ? [] : ['docker', 'crun']),
  ...(podman === null ? [] : ['podman']),
].join(',');
try {
  const { status } = spawnSync('npm', ['run', '--silent', 'check'], { cwd: root, stdio: 'inherit', env });
  process.exitCode = status ?? 1;
} finally {
  engine?.stop();
  podman?.stop();
  postgres?.stop();
  await Promise.all([s3?.stop(), swift?.stop()]);
}

/** What keeps it from starting is said; the tests that need it then fail, because it is installed. */
function tryPostgres() {
  try {
    return startPostgres();
  } catch (error) {
    say(`No PostgreSQL for the tests: ${error.message}`);
    return null;
  }
}
