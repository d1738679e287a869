import { spawnSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildImage, composeService, docker, flagsOf, type Ran, type Service } from '../support/container.ts';
import { DOCKER } from '../support/drivers.ts';
import { skipUnless } from '../support/require.ts';
import { tidy } from '../support/temp.ts';

tidy();
const noClient = skipUnless(spawnSync('docker', ['--version']).status === 0, 'docker', 'there is no docker client');
const SKILL = '/opt/skillbox/examples/skillbox/word-count';
const RUN = ['run', SKILL, '--input', '{"text":"a b"}', '--json'];

describe.skipIf(DOCKER.skip ?? noClient)(
  'the container of deploy/',
  () => {
    const service = composeService();
    const volume = `skillbox-try-${process.pid}`;
    let image = { image: '', remove: () => {} };

    beforeAll(async () => {
      image = buildImage(process.env.SKILLBOX_DOCKER_IMAGE ?? 'skillbox-test');
      await docker('volume', 'create', volume);
    }, 180_000);
    afterAll(async () => {
      await docker('volume', 'rm', '--force', volume);
      image.remove();
    });

    const skillbox = (words: string[], as: Service = service): Promise<Ran> => {
      const place = ['--rm', '--network', 'none', '--volume', `${volume}:/var/lib/skillbox`];
      return docker('run', ...place, ...flagsOf(as), image.image, ...words);
    };

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

    test('keeps what must be kept in its volume', async () => {
      await skillbox(RUN);
      const { out } = await skillbox(['exec', 'list', '--json']);
      expect(out).toContain('word-count');
      expect((await skillbox(['audit', 'verify'])).code).toBe(0);
    });

    test.each(['seccomp', 'systempaths'])('refuses to run anything without its %s', async name => {
      const less = { ...service, security_opt: service.security_opt.filter(each => !each.startsWith(name)) };
      expect(less.security_opt).toHaveLength(service.security_opt.length - 1);
      const { code, out } = await skillbox(RUN, less);
      expect([code, JSON.parse(out)]).toEqual([6, expect.objectContaining({ error: 'SANDBOX_UNAVAILABLE' })]);
    });

    test('has a configuration that is right', async () => {
      const { code, out } = await skillbox(['config', 'check', '--for', 'server']);
      expect([code, out]).toEqual([0, 'valid (no file)\n']);
    });

    test('gives its processes no power', async () => {
      const words = ['--network', 'none', ...flagsOf(service), '--entrypoint', 'sh', image.image];
      const status = await docker(
        'run',
        '--rm',
        ...words,
        '-c',
        'grep -E "^(Cap|NoNewPrivs|Seccomp:|Uid)" /proc/self/status',
      );
      expect(status.out).toMatch(/CapEff:\s+0+\n/);
      expect(status.out).toMatch(/CapBnd:\s+0+\n/);
      expect(status.out).toMatch(/NoNewPrivs:\s+1\n/);
      expect(status.out).toMatch(/Seccomp:\s+2\n/);
      expect(status.out).toMatch(/Uid:\s+10001\s/);
      const writes = await docker('run', '--rm', ...words, '-c', 'touch /opt/skillbox/x || touch /etc/skillbox/x');
      expect([writes.code === 0, writes.err]).toEqual([false, expect.stringContaining('Read-only')]);
    });
  },
  60_000,
);
