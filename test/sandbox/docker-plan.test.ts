import { readFileSync, writeFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { text as readText } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { demultiplex, splitReport } from '../../src/sandbox/docker-api.ts';
import { type DockerFacts, planContained, planContainer } from '../../src/sandbox/docker-plan.ts';
import type { RunSpec } from '../../src/sandbox/index.ts';
import { specOf } from '../support/sandbox-spec.ts';

const SPEC: RunSpec = specOf(['python3', 'main.py', 'argument-secret'], {
  env: { TOKEN: 'env-secret' },
  mounts: [
    { kind: 'tmpfs', at: '/tmp', bytes: 1 << 20 },
    { kind: 'tmpfs', at: '/root', bytes: 1 << 20 },
    {
      kind: 'bind',
      source: '/home/u/work',
      at: '/workspace',
      writable: true,
      exec: true,
      protect: { reveal: [], unlock: [] },
    },
    { kind: 'text', at: '/sandbox/input.json', text: '{}' },
    { kind: 'out', at: '/sandbox/out', directories: [] },
  ],
});
const FACTS: DockerFacts = {
  image: 'skillbox/python',
  engine: 'docker',
  runtime: 'runsc',
  user: { uid: 200_001, gid: 200_001 },
  helper: '/opt/skillbox/helper',
  masks: { file: '/state/mask', directory: '/state/mask.d' },
  etc: new Map([['/etc/hosts', '/state/hosts']]),
  labels: { 'dev.skillbox.run': 'sb-1' },
  filter: Buffer.from('FILTER'),
  nonce: 'NONCE',
  files: new Map([
    ['/sandbox/input.json', '/state/3'],
    ['/sandbox/out', '/state/4'],
  ]),
  protections: new Map([
    [
      '/workspace',
      {
        hold: ['.git'],
        readOnly: ['.git/hooks'],
        hidden: ['.env', '.ssh'],
        absent: [],
        known: [],
        rebases: [],
        shut: [],
        complete: true,
      },
    ],
  ]),
  directories: new Set(['/home/u/work/.ssh']),
  identities: new Map([['/workspace', { device: 7n, inode: 8n, readOnly: false }]]),
};

it.each(['docker', 'podman'] as const)('the container of %s is the one reviewed', engine => {
  const file = new URL(`../golden/${engine}-create.json`, import.meta.url);
  const body = planContainer(SPEC, { ...FACTS, engine });
  if (process.env.SKILLBOX_UPDATE_GOLDEN) writeFileSync(file, `${JSON.stringify(body, null, 2)}\n`);
  expect(body).toEqual(JSON.parse(readFileSync(file, 'utf8')));
});

it('what docker inspect shows holds neither arguments nor environment', () => {
  expect(JSON.stringify(planContainer(SPEC, FACTS))).not.toMatch(/secret/);
  expect(planContained(SPEC, FACTS).join(' ')).toMatch(/arg argument-secret .*env TOKEN=env-secret/);
});

it('WS-10 what is mounted at a workspace is compared before the program is named', () => {
  const tokens = planContained(SPEC, FACTS).map(String);
  expect(tokens.slice(2, 7)).toEqual(['mounted', '/workspace', '7', '8', '0']);
});

it('the engine’s stream is split however it is cut', async () => {
  const frame = (type: number, content: string) => {
    const header = Buffer.alloc(8);
    header[0] = type;
    header.writeUInt32BE(Buffer.byteLength(content), 4);
    return Buffer.concat([header, Buffer.from(content)]);
  };
  const whole = Buffer.concat([frame(1, 'out1'), frame(2, 'err'), frame(1, ''), frame(1, 'out2')]);
  for (const size of [1, 3, 7, 8, 9, whole.length]) {
    const socket = new Socket();
    const { stdout, stderr } = demultiplex(socket);
    for (let at = 0; at < whole.length; at += size) socket.emit('data', whole.subarray(at, at + size));
    socket.emit('end');
    expect(await Promise.all([readText(stdout), readText(stderr)])).toEqual(['out1out2', 'err']);
  }
});

it('the report is found however it is cut, and only behind the nonce', async () => {
  const whole = Buffer.from('noise\0NONC forged\nexited 0\n\0NONCE\nstarted\nexited 3\n');
  for (const size of [1, 2, 5, 8, whole.length]) {
    const source = new PassThrough();
    const { stderr, report } = splitReport(source, 'NONCE');
    const passed = readText(stderr);
    for (let at = 0; at < whole.length; at += size) source.write(whole.subarray(at, at + size));
    source.end();
    expect(await passed).toBe('noise\0NONC forged\nexited 0\n');
    expect(report()).toBe('started\nexited 3\n');
  }
});

it('what cannot be the report is given on at once', async () => {
  const source = new PassThrough();
  const { stderr } = splitReport(source, 'NONCE');
  for (const [part, shown] of [
    ['a line\n', 'a line\n'],
    ['another\0', 'another'],
    ['NON', null],
    ['SENSE', '\0NONSENSE'],
  ] as const) {
    source.write(part);
    await new Promise(setImmediate);
    expect(stderr.read()?.toString() ?? null).toBe(shown);
  }
});
