import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { tempDir, tidy } from '../support/temp.ts';

tidy();
const module = join(import.meta.dirname, '../../src/cli/compile-cache.ts');

/** Where a process of its own keeps compiled code with this cache directory; null: nowhere. */
function cacheWith(base: string, home?: string): string | null {
  const script = `import { useCompileCache } from ${JSON.stringify(module)};
    useCompileCache(process.env);
    process.stdout.write(process.getBuiltinModule('node:module').getCompileCacheDir() ?? '');`;
  const said = execFileSync(process.execPath, ['--input-type=module', '-e', script], {
    env: { PATH: '/usr/bin:/bin', XDG_CACHE_HOME: base, ...(home === undefined ? {} : { HOME: home }) },
    encoding: 'utf8',
  });
  return said === '' ? null : said;
}

describe('the cache of compiled code', () => {
  test('lies in a directory of its own that is made private', () => {
    const base = tempDir('cache');
    expect(cacheWith(base)).toContain(join(base, 'skillbox', 'compile-'));
  });

  test('a relative path counts as none', () => {
    const home = tempDir('home');
    expect(cacheWith('relative', home)).toContain(join(home, '.cache/skillbox', 'compile-'));
    expect(cacheWith('relative')).toBeNull();
    expect(cacheWith('relative', 'here')).toBeNull();
  });

  test('is not used where others may write', () => {
    const base = tempDir('cache');
    mkdirSync(join(base, 'skillbox'));
    chmodSync(join(base, 'skillbox'), 0o777);
    expect(cacheWith(base)).toBeNull();
  });

  test('is not used through a link', () => {
    const base = tempDir('cache');
    mkdirSync(join(base, 'elsewhere'));
    symlinkSync(join(base, 'elsewhere'), join(base, 'skillbox'));
    expect(cacheWith(base)).toBeNull();
  });

  test.skipIf(process.getuid?.() !== 0)('nothing is made in the home of another account (needs root)', () => {
    const base = tempDir('cache', 0o755);
    chownSync(base, 12_345, 12_345);
    expect(cacheWith(base)).toBeNull();
    mkdirSync(join(base, 'chosen'));
    symlinkSync(join(base, 'chosen'), join(base, 'skillbox'));
    expect(cacheWith(base)).toBeNull();
    expect([readdirSync(base), readdirSync(join(base, 'chosen'))]).toEqual([['chosen', 'skillbox'], []]);
  });

  test('a path that cannot be made is no fault', () => {
    expect(cacheWith('/proc/nowhere')).toBeNull();
    expect(existsSync('/proc/nowhere')).toBe(false);
  });
});
