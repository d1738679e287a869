/** A wheel as it was downloaded: what the lock of a Python layer is made of. */
export type Wheel = { name: string; version: string; sha256: string };

/** PEP 427; a build number may stand between version and tags. */
const WHEEL =
  /^([A-Za-z0-9_.]+)-([A-Za-z0-9_.!+]+)(?:-\d[A-Za-z0-9_.]*)?-[A-Za-z0-9_.]+-[A-Za-z0-9_.]+-[A-Za-z0-9_.]+\.whl$/;

/** null for what is no wheel. */
export function parseWheelName(file: string): { name: string; version: string } | null {
  const match = WHEEL.exec(file);
  if (match === null) return null;
  // PEP 503 spelling, so that the same package always gives the same line.
  return {
    name: (match[1] ?? '').replace(/[-_.]+/g, '-').toLowerCase(),
    version: (match[2] ?? '').replaceAll('_', '-'),
  };
}

/** One line per package, pinned and hashed: what `pip install --require-hashes` reads. */
export function renderWheelLock(wheels: readonly Wheel[]): string {
  const lines = wheels.map(({ name, version, sha256 }) => `${name}==${version} --hash=sha256:${sha256}`);
  return `${[...new Set(lines)].sort().join('\n')}\n`;
}
