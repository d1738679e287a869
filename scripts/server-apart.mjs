// What the servers for the tests have in common: each runs in a process of its own, with all that it makes in one scratch
// directory, on loopback, and ends with whoever started it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const STEP_MS = 60_000;
/** A port may be taken by another in the moment between looking and listening. */
const ATTEMPTS = 2;

/**
 * Starts the script beside whatever else is set up meanwhile. `ready` answers what it says when it is up, or throws why it is
 * not. When the pipe to it closes, however that came about, it stops.
 */
export function startApart(script) {
  const child = spawn(process.execPath, [script], { stdio: ['pipe', 'pipe', 'pipe'] });
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
    child.once('close', () => reject(new Error(`it did not start: ${fault.trim()}`)));
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

/** The other side: brings a server up, says how to reach it in one line of JSON, and ends it when standard input does. */
export async function serveApart(name, bringUp) {
  const ended = Promise.race([once(process.stdin.resume(), 'end'), once(process.stdin, 'close')]).then(() => null);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.stdin.destroy());
  for (let left = ATTEMPTS; left > 0; left--) {
    const scratch = mkdtempSync(join(tmpdir(), `skillbox-${name}-`));
    const daemons = [];
    try {
      const access = await Promise.race([bringUp(scratch, daemons), ended]);
      if (access !== null) process.stdout.write(`${JSON.stringify(access)}\n`);
      await ended;
      left = 0;
    } catch (error) {
      process.stderr.write(`${error.message}\n`);
      process.exitCode = left === 1 ? 1 : 0;
    } finally {
      for (const daemon of daemons.reverse()) await end(daemon);
      rmSync(scratch, { recursive: true, force: true });
    }
  }
  // Whatever was still being set up ends here.
  process.exit();
}

/** A step that must succeed. Its last lines are enough for whoever reads the output of the tests. */
export async function run(scratch, program, args) {
  const path = join(scratch, 'steps.log');
  const log = openSync(path, 'a');
  const child = spawn(program, args, { cwd: scratch, stdio: ['ignore', log, log], timeout: STEP_MS });
  const [code] = await once(child, 'close');
  if (code === 0) return;
  const last = readFileSync(path, 'utf8').trim().split('\n').slice(-3).join(' / ');
  throw new Error(`${program} ${args.slice(0, 6).join(' ')} ended with ${code}: ${last}`);
}

/** Started in the foreground; the kernel ends it with this process, should that be killed. */
export function daemon(scratch, program, args) {
  const log = openSync(join(scratch, 'daemons.log'), 'a');
  return spawn('setpriv', ['--pdeathsig', 'KILL', program, ...args], { cwd: scratch, stdio: ['ignore', log, log] });
}

async function end(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const closed = once(child, 'close');
  // There is nothing to keep, so nothing is written down in peace.
  child.kill('SIGKILL');
  await closed;
}

/** Ports that were free a moment ago, held together so that they differ. */
export async function freePorts(count) {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map(server => once(server, 'listening')));
  const ports = servers.map(server => server.address().port);
  await Promise.all(servers.map(server => new Promise(resolve => server.close(resolve))));
  return ports;
}

/** The first request that is answered; until then the server is not up. */
export async function makeBucket({ endpoint, region, bucket, accessKey, secretKey }, daemons) {
  const { CreateBucketCommand, S3Client } = await import('@aws-sdk/client-s3');
  const credentials = { accessKeyId: accessKey, secretAccessKey: secretKey };
  const client = new S3Client({ endpoint, region, credentials, forcePathStyle: true });
  for (const last = Date.now() + STEP_MS; ; await sleep(100)) {
    if (daemons.some(({ exitCode }) => exitCode !== null)) throw new Error('one of its processes ended');
    try {
      await client.send(new CreateBucketCommand({ Bucket: bucket }));
      client.destroy();
      return;
    } catch (error) {
      if (Date.now() > last) throw error;
    }
  }
}
