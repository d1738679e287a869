import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { examineConfig, readNamed, SETTING_NAMES, variableOf } from '../../src/config/index.ts';
import { tempDirectory } from '../temp.ts';

const deploy = join(import.meta.dirname, '../../deploy');
const read = (name: string) => readFileSync(join(deploy, name), 'utf8');
const base = tempDirectory();

/** Every variable of ours that a file of deploy/ sets or asks for. */
function variablesIn(text: string): string[] {
  return [...new Set(Array.from(text.matchAll(/\bSKILLBOX_[A-Z0-9_]+/g), match => match[0]))];
}

describe('deploy/', () => {
  const known = new Set(SETTING_NAMES.flatMap(name => [variableOf(name), `${variableOf(name)}_FILE`]));
  // Of the compose file and of the unit: for themselves, not for the program.
  const own = new Set([
    'SKILLBOX_IMAGE',
    'SKILLBOX_MEMORY',
    'SKILLBOX_HOST_PORT',
    'SKILLBOX_CONFIG_DIR',
    'SKILLBOX_PORT',
  ]);

  test.each(readdirSync(deploy).filter(name => !name.endsWith('.json')))('%s names no setting that is none', name => {
    expect(variablesIn(read(name)).filter(variable => !known.has(variable) && !own.has(variable))).toEqual([]);
  });

  test('what compose asks for stands in the example', () => {
    const asked = Array.from(
      `${read('compose.yaml')}${read('compose.postgres-s3.yaml')}`.matchAll(/\$\{(\w+):/g),
      m => m[1],
    );
    const given = read('example.env').matchAll(/^(\w+)=/gm);
    const optional = ['POSTGRES_IMAGE', 'SKILLBOX_SERVER_HOSTS'];
    const there = [...Array.from(given, match => match[1]), ...optional];
    expect(asked.filter(name => !there.includes(name))).toEqual([]);
  });

  test('the configuration for Kubernetes is right', () => {
    const documents = parseAllDocuments(read('kubernetes.yaml')).map(
      each => each.toJS() as { kind: string; data?: Record<string, string> },
    );
    expect(documents.map(({ kind }) => kind)).toEqual(['ConfigMap', 'Deployment', 'Service']);
    const path = join(base, 'config.yaml');
    writeFileSync(path, documents[0]?.data?.['config.yaml'] ?? '');
    chmodSync(path, 0o644);
    const place = { from: 'file', file: path, line: 1, column: 1 } as const;
    const { faults, config } = examineConfig({ env: { SKILLBOX_MASTER_KEY: 'x' }, role: 'server' }, found =>
      readNamed(path, found, place),
    );
    expect(faults).toEqual([]);
    expect(config.get('store.s3.bucket')).toBe('skillbox');
  });

  test('runs may end before a container or a unit is killed', () => {
    const drainMs = examineConfig({ env: { HOME: base }, role: 'server' }).config.get('runs.drainDeadline');
    const compose = parse(read('compose.yaml')) as { services: { skillbox: { stop_grace_period: string } } };
    const seconds = [
      /(\d+)s$/.exec(compose.services.skillbox.stop_grace_period)?.[1],
      /^TimeoutStopSec=(\d+)$/m.exec(read('skillbox.service'))?.[1],
      /terminationGracePeriodSeconds: (\d+)/.exec(read('kubernetes.yaml'))?.[1],
    ].map(Number);
    for (const each of seconds) expect(each * 1000).toBeGreaterThan(drainMs + 10_000);
  });
});
