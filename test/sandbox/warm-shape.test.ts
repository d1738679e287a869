import { renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { RunSpec, SandboxMount } from '../../src/sandbox/index.ts';
import type { HostProgram } from '../../src/sandbox/runtime.ts';
import { shapeOf } from '../../src/sandbox/warm-shape.ts';
import { MOUNTS, specOf } from '../support/sandbox-spec.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

const python = (version: string): HostProgram[] => [
  {
    used: { name: 'python3', version, from: 'host', path: '/usr/bin/python3' },
    real: '/usr/bin/python3',
    mounts: [],
    bin: null,
  },
];
const readOnly = (source: string, at: string): SandboxMount => ({
  kind: 'bind',
  source,
  at,
  writable: false,
  exec: true,
  protect: null,
});
const skill = (body: string) => {
  const directory = tempDir('skill', 0o755);
  writeFileSync(join(directory, 'main.py'), body);
  return directory;
};
const layer = () => {
  const directory = tempDir('layer', 0o755);
  for (let i = 0; i < 200; i++) writeFileSync(join(directory, `module${i}.py`), '');
  return directory;
};
const SOCKET = join(tempDir('way'), 'run.sock');
writeFileSync(SOCKET, '');
const main = ['python3', '/sandbox/scripts/main.py'];
const base = (changes: Parameters<typeof specOf>[1] = {}) => specOf(main, changes);
const keyOf = (spec: RunSpec, version = '3.11') => shapeOf(spec, python(version))?.shape.key ?? null;

it('what a run brings itself is not in the key: skill, input, arguments, its own variables', () => {
  const one = base({
    mounts: [
      readOnly(skill('1'), '/sandbox/scripts'),
      { kind: 'text', at: '/sandbox/input.json', text: '1' },
      ...MOUNTS,
    ],
    env: { HOME: '/root', SANDBOX_INPUT: '1' },
  });
  const two = {
    ...base({
      mounts: [
        readOnly(skill('2'), '/sandbox/scripts'),
        { kind: 'text', at: '/sandbox/input.json', text: '2' },
        ...MOUNTS,
      ],
      env: { HOME: '/root', SANDBOX_INPUT: '2', OTHER: 'x' },
    }),
    argv: [...main, 'argument'],
  };
  expect(keyOf(one)).not.toBeNull();
  expect(keyOf(one)).toBe(keyOf(two));
});

it('everything that is fixed at the start is: two specs that differ in it never share', () => {
  const [first, second] = [layer(), layer()];
  const specs: RunSpec[] = [
    base(),
    ...Object.keys(base().limits).map(name => base({ limits: { [name]: 123_456 } })),
    base({ tenant: 'one' }),
    base({ tenant: 'two' }),
    base({ mounts: [...MOUNTS, readOnly(first, '/sandbox/site-packages')] }),
    base({ mounts: [...MOUNTS, readOnly(second, '/sandbox/site-packages')] }),
    base({ mounts: [...MOUNTS, readOnly(second, '/sandbox/node_modules')] }),
    base({ mounts: MOUNTS.slice(1) }),
    base({ mounts: [...MOUNTS, { kind: 'tmpfs', at: '/home/skill', bytes: 4096 }] }),
    base({ mounts: [...MOUNTS, { kind: 'tmpfs', at: '/home/skill', bytes: 8192 }] }),
    base({ runtime: { kind: 'host', also: ['node'] } }),
    base({ env: { LANG: 'C' } }),
    base({ env: { HOME: '/tmp' } }),
    { ...base(), argv: ['python3', '-I', ...main.slice(1)] },
    { ...base(), argv: ['python3', '-c', 'pass'] },
    { ...base(), argv: ['bash', '/sandbox/scripts/main.sh'] },
    { ...base(), argv: ['node', '/sandbox/scripts/main.js'] },
  ];
  const keys = [...specs.map(spec => keyOf(spec)), keyOf(base(), '3.12')];
  expect(keys).not.toContain(null);
  expect(new Set(keys).size).toBe(keys.length);
});

it('a layer that was replaced at the same path is another one', () => {
  const path = layer();
  const spec = base({ mounts: [...MOUNTS, readOnly(path, '/sandbox/site-packages')] });
  const before = keyOf(spec);
  const other = layer(); // while the first is there, so that it has another inode
  rmSync(path, { recursive: true });
  renameSync(other, path);
  expect(keyOf(spec)).not.toBeNull();
  expect(keyOf(spec)).not.toBe(before);
});

it('what cannot be served exactly goes the cold way', () => {
  const folder = skill('');
  const link = join(tempDir('link'), 'link');
  symlinkSync(folder, link);
  const text = (at: string): SandboxMount => ({ kind: 'text', at, text: '' });
  for (const spec of [
    base({ network: { kind: 'egress', socket: SOCKET, at: '/y' } }),
    base({ network: { kind: 'egress', socket: SOCKET, at: '/tmp/y' } }),
    base({ mounts: [text('/way/out/ca.pem')], network: { kind: 'egress', socket: SOCKET, at: '/way/out' } }),
    base({ network: { kind: 'egress', socket: join(link, 'main.py'), at: '/way/out' } }),
    base({ mounts: [{ ...readOnly(folder, '/workspace'), writable: true } as SandboxMount] }),
    base({ mounts: [{ ...readOnly(folder, '/workspace'), protect: { reveal: [], unlock: [] } } as SandboxMount] }),
    base({ mounts: [...MOUNTS, text('/tmp/inside')] }),
    base({ mounts: [...MOUNTS, text('/sandbox/out/inside')] }),
    base({ mounts: [readOnly(folder, '/skill'), text('/skill/main.py')] }),
    base({ mounts: [text('/alone')] }),
    base({ mounts: [readOnly(link, '/skill')] }),
  ])
    expect(shapeOf(spec, python('3'))).toBeNull();
});

it('variables that an interpreter reads as it starts leave its start to the run', () => {
  const bootWith = (argv: string[], name: string) =>
    shapeOf({ ...base({ env: { [name]: 'x' } }), argv }, python('3'))?.shape.boot;
  const script = ['node', '/sandbox/scripts/main.js'];
  for (const name of ['LD_PRELOAD', 'OPENSSL_CONF', 'SSL_OTHER', 'PYTHONHASHSEED', 'PYTHONSTARTUP'])
    expect([name, bootWith(main, name)]).toEqual([name, 'exec']);
  for (const name of [
    'LD_PRELOAD',
    'OPENSSL_CONF',
    'SSL_CERT_FILE',
    'NODE_OPTIONS',
    'NODE_EXTRA_CA_CERTS',
    'NODE_USE_ENV_PROXY',
  ])
    expect([name, bootWith(script, name)]).toEqual([name, 'exec']);
  // Each time they are wanted, or by the other interpreter alone.
  for (const name of ['PYTHONPATH', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'HTTPS_PROXY', 'NODE_EXTRA_CA_CERTS'])
    expect([name, bootWith(main, name)]).toEqual([name, 'python']);
  for (const name of ['PYTHONHASHSEED', 'NODE_ENV']) expect([name, bootWith(script, name)]).toEqual([name, 'node']);
});

it('of an image the key has its digest and the very directory; its programs start with the run', () => {
  const image = (root: string, digest = '0'.repeat(64), name = 'tiny:1') =>
    shapeOf(base({ runtime: { kind: 'image', name, digest, root } }), []);
  const [first, second] = [tempDir('image', 0o755), tempDir('image', 0o755)];
  const keys = [image(first), image(second), image(first, '1'.repeat(64)), image(first, '0'.repeat(64), 'other:1')];
  expect(new Set(keys.map(found => found?.shape.key)).size).toBe(4);
  expect(keys[0]?.shape).toMatchObject({ boot: 'exec', label: 'any program, tiny:1@sha256:000000000000' });
  rmSync(first, { recursive: true });
  renameSync(second, first); // imported anew, under the same name and digest
  expect(image(first)?.shape.key).not.toBe(keys[0]?.shape.key);
});

it('of a network the key has the bridge, and nothing of the socket, which comes with the run', () => {
  const other = join(tempDir('way'), 'other.sock');
  writeFileSync(other, '');
  const through = (socket: string, at = '/skillbox/broker.sock') =>
    shapeOf(base({ network: { kind: 'egress', socket, at } }), python('3'));
  const [one, two] = [through(SOCKET), through(other)];
  expect(one?.shape.key).toBe(two?.shape.key);
  expect(one?.shape.key).not.toContain(SOCKET);
  expect(one?.shape.key).not.toBe(keyOf(base(), '3'));
  expect(one?.shape.key).not.toBe(through(SOCKET, '/skillbox/proxy.sock')?.shape.key);
  expect(one?.shape).toMatchObject({
    bridge: { at: '/skillbox/broker.sock', port: 3128 },
    slots: [{ at: '/skillbox' }],
  });
  expect(two?.fills.get('/skillbox')).toEqual([{ kind: 'socket', at: 'broker.sock', source: other }]);
});
