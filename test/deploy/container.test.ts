import { spawnSync } from 'node:child_process';
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
import { tidy } from '../support/temp.ts';

tidy();
vi.setConfig({ testTimeout: 60_000 });
const noClient = skipUnless(spawnSync('docker', ['--version']).status === 0, 'docker', 'there is no docker client');
const SKILL = '/opt/skillbox/examples/skillbox/word-count';
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

  test('its program has no power, cannot change what it is made of, and hears that it should stop', async () => {
    // Any command that stays will do.
    const words = ['mcp', '--http', '0'];
    await docker('run', '--detach', '--name', name, ...place, ...flagsOf(service), image.image, ...words);
    try {
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
    } finally {
      await docker('rm', '--force', name);
    }
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
