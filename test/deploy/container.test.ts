import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import {
  buildImage,
  composeService,
  docker,
  flagsOf,
  type Ran,
  type Service,
  writableCgroups,
} from '../support/container.ts';
import { DOCKER } from '../support/drivers.ts';
import { skipUnless } from '../support/require.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();
vi.setConfig({ testTimeout: 60_000 });
const noClient = skipUnless(spawnSync('docker', ['--version']).status === 0, 'docker', 'there is no docker client');
const SKILL = '/opt/skillbox/examples/skillbox/word-count';
const URL = 'http://127.0.0.1:8080';
type Json = Record<string, unknown>;
type Served = { publish(): Promise<Json>; run(): Promise<Json> };
const RUN = ['run', SKILL, '--input', '{"text":"a b"}', '--json'];

describe.skipIf(DOCKER.skip ?? noClient)('the container of deploy/', () => {
  const service = composeService();
  const name = `skillbox-try-${process.pid}`;
  const place = ['--network', 'none', '--volume', `${name}:/var/lib/skillbox`];
  let image = { image: '', remove: () => {} };

  beforeAll(async () => {
    image = buildImage(process.env.SKILLBOX_DOCKER_IMAGE ?? 'skillbox-test');
    await docker('volume', 'create', name);
  }, 180_000);
  afterAll(async () => {
    await docker('volume', 'rm', '--force', name);
    image.remove();
  });

  const skillbox = (words: string[], as: Service = service, more: string[] = []): Promise<Ran> =>
    docker('run', '--rm', ...place, ...flagsOf(as), ...more, image.image, ...words);

  test('runs a skill in bubblewrap, with the flags of the compose file and nothing more', async () => {
    const { code, out, err } = await skillbox(RUN);
    expect([code, err]).toEqual([0, expect.any(String)]);
    expect(JSON.parse(out)).toMatchObject({
      status: 'success',
      output: { words: 2 },
      sandbox: {
        driver: 'bubblewrap',
        enforces: {
          files: 'kernel-tree',
          network: 'kernel-tree',
          processes: 'kernel-tree',
          syscalls: 'kernel-tree',
          privileges: 'kernel-tree',
        },
      },
    });
  });

  test('gives each run its own memory and processors, where cgroups may be written', async context => {
    const cgroups = writableCgroups(name);
    if (cgroups === null) return context.skip('no cgroup can be given to a container here');
    try {
      const { code, out } = await skillbox(RUN, service, cgroups.flags);
      expect(code).toBe(0);
      expect(JSON.parse(out)).toMatchObject({
        sandbox: { enforces: { memory: 'kernel-tree', cpu: 'kernel-tree', pids: 'kernel-tree' } },
      });
    } finally {
      cgroups.remove();
    }
  });

  test('keeps what must be kept in its volume', async () => {
    await skillbox(RUN);
    expect((await skillbox(['exec', 'list', '--json'])).out).toContain('word-count');
    expect((await skillbox(['audit', 'verify'])).code).toBe(0);
  });

  test.each(['seccomp', 'systempaths'])('refuses to run anything without its %s', async option => {
    const less = { ...service, security_opt: service.security_opt.filter(each => !each.startsWith(option)) };
    expect(less.security_opt).toHaveLength(service.security_opt.length - 1);
    const { code, out } = await skillbox(RUN, less);
    expect([code, JSON.parse(out)]).toEqual([6, expect.objectContaining({ error: 'SANDBOX_UNAVAILABLE' })]);
  });

  test('as root with too few capabilities it refuses, and ends', async () => {
    // Past the entry that would become another account.
    const more = ['--entrypoint', 'skillbox', '--env', 'SKILLBOX_DATA_DIR=/tmp/data', '--cap-add', 'DAC_OVERRIDE'];
    const { code, out } = await skillbox(RUN, service, more);
    expect([code, JSON.parse(out)]).toEqual([6, expect.objectContaining({ error: 'SANDBOX_UNAVAILABLE' })]);
  });

  test('has a configuration that is right', async () => {
    const { code, out } = await skillbox(['config', 'check', '--for', 'server']);
    expect([code, out]).toEqual([0, 'valid (no file)\n']);
  });

  /** The server as the compose file starts it, for as long as the body lasts. */
  async function serving(more: string[], body: (server: Served) => Promise<void>): Promise<void> {
    const flags = [...place, ...flagsOf(service), ...more];
    await docker('run', '--detach', '--name', name, ...flags, image.image, ...service.command);
    try {
      for (let tries = 0; (await docker('exec', name, 'curl', '-sf', `${URL}/ready`)).code !== 0; tries++) {
        if (tries > 100) throw new Error(`it did not start: ${(await docker('logs', name)).err}`);
        await sleep(100);
      }
      const key = (await docker('exec', '--user', '10001', name, 'cat', '/var/lib/skillbox/first-key')).out.trim();
      const curl = async (...words: string[]) =>
        JSON.parse(
          (await docker('exec', name, 'curl', '-s', '-H', `authorization: Bearer ${key}`, ...words)).out,
        ) as Json;
      await body({
        publish: async () => {
          // Any account may pack; the one of the server has a place to write.
          await docker('exec', '--user', '10001', name, 'skillbox', 'skill', 'package', SKILL, '-o', '/tmp/skill.zip');
          const zip = ['-H', 'content-type: application/zip', '--data-binary', '@/tmp/skill.zip'];
          return curl(...zip, `${URL}/v1/skills`);
        },
        run: () => {
          const json = ['-H', 'content-type: application/json', '-d', '{"skill":"word-count","input":{"text":"a b"}}'];
          return curl(...json, `${URL}/v1/executions`);
        },
      });
    } finally {
      await docker('rm', '--force', name);
    }
  }

  test('serves: a skill is published and run through the API, with memory and processors of its own', async context => {
    const cgroups = writableCgroups(`${name}-serving`);
    if (cgroups === null) return context.skip('no cgroup can be given to a container here');
    try {
      await serving(cgroups.flags, async server => {
        expect(await server.publish()).toMatchObject({ name: 'word-count' });
        expect(await server.run()).toMatchObject({
          status: 'success',
          output: { words: 2 },
          sandbox: { driver: 'bubblewrap', enforces: { memory: 'kernel-tree', cpu: 'kernel-tree' } },
        });
      });
    } finally {
      cgroups.remove();
    }
  });

  test('without such cgroups it refuses the runs of tenants, unless the operator lowers what they need', async () => {
    await serving([], async server => {
      await server.publish();
      expect(await server.run()).toMatchObject({ status: 'failed', error_code: 'SANDBOX_CANNOT_ENFORCE' });
    });
    const policy = join(tempDir('policy', 0o755), 'policy.yaml');
    writeFileSync(policy, 'version: 1\nlower: { memory: kernel-process, cpu: kernel-process }\n');
    await serving(['--volume', `${policy}:/etc/skillbox/policy.yaml:ro`], async server => {
      expect(await server.run()).toMatchObject({ status: 'success' });
    });
  });

  test('its server has no power, cannot change what it is made of, and hears that it should stop', async () => {
    await serving([], async () => {
      const status = await statusOf(name);
      expect(status).toMatch(/CapEff:\s+0+\n/);
      expect(status).toMatch(/CapBnd:\s+0+\n/);
      expect(status).toMatch(/NoNewPrivs:\s+1\n/);
      expect(status).toMatch(/Seccomp:\s+2\n/);
      expect(status).toMatch(/Uid:\s+10001\s+10001\s+10001\s+10001\n/);
      const writes = await docker('exec', '--user', '10001', name, 'touch', '/opt/skillbox/x');
      expect([writes.code === 0, writes.err]).toEqual([false, expect.stringContaining('Read-only')]);
      await docker('stop', '--time', '30', name);
      expect((await docker('inspect', '--format', '{{.State.ExitCode}}', name)).out).toBe('0\n');
    });
  });
});

/** Of the program, once it is what it will be: not the init, and not the shell before it. */
async function statusOf(container: string): Promise<string> {
  const find =
    'for p in /proc/[0-9]*; do case $(tr "\\0" " " < $p/cmdline) in node*skillbox*) cat $p/status;; esac; done';
  for (let tries = 0; tries < 50; tries++) {
    const { out } = await docker('exec', container, 'sh', '-c', find);
    if (/CapEff:\s+0+\n/.test(out)) return out;
    await sleep(200);
  }
  throw new Error(`no program was found: ${(await docker('logs', container)).err}`);
}
