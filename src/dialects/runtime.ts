import type { Language } from '../skill/index.ts';

/** Where things sit inside every sandbox, whichever driver builds it. */
export const PATHS = {
  skill: '/skill',
  workspace: '/workspace',
  compiled: '/skillbox/compiled',
  sitePackages: '/skillbox/site-packages',
  sandbox: '/sandbox',
  home: '/home/skill',
} as const;

/** SB-05: the sizes of the writable, noexec file systems. */
export const TMP_BYTES = 64 * 1024 ** 2;
export const ROOT_BYTES = 1024 ** 2;

/** Linux refuses a single variable over 128 KiB (MAX_ARG_STRLEN), its name and the closing NUL included. */
const MAX_VARIABLE_BYTES = 128 * 1024;

export const BASE_ENV: Readonly<Record<string, string>> = {
  PATH: '/usr/local/bin:/usr/bin:/bin',
  LANG: 'C.UTF-8',
};

/** Interpreters by name; the sandbox resolves them to what the host or the image really has. */
export function interpreterOf(language: Language): string {
  return { python: 'python3', node: 'node', typescript: 'node', bash: 'bash' }[language];
}

/** SB-06: sets a variable if Linux can carry it; otherwise leaves it out and says so. */
export function setIfFits(
  env: Record<string, string>,
  name: string,
  value: string,
  warnings: string[],
  instead: string,
): void {
  if (Buffer.byteLength(value) + name.length + 2 > MAX_VARIABLE_BYTES) {
    warnings.push(`${name} is over 128 KiB and was left out; ${instead}`);
  } else if (value.includes('\0')) {
    warnings.push(`${name} holds a NUL and was left out; ${instead}`);
  } else env[name] = value;
}
