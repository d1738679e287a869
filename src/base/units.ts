/** the one parser of durations, sizes and cpu shares. `null` means "not such a value", never "unlimited". */

const DURATION_MS: Record<string, number> = { ms: 1, '': 1000, s: 1000, m: 60_000, h: 3_600_000 };
const SIZE_BYTES: Record<string, number> = {
  '': 1,
  b: 1,
  k: 1024,
  kb: 1000,
  ki: 1024,
  kib: 1024,
  m: 1024 ** 2,
  mb: 1000 ** 2,
  mi: 1024 ** 2,
  mib: 1024 ** 2,
  g: 1024 ** 3,
  gb: 1000 ** 3,
  gi: 1024 ** 3,
  gib: 1024 ** 3,
};

const NUMBER_AND_UNIT = /^(\d{1,15}(?:\.\d{1,9})?)\s?([A-Za-z]{0,3})$/;

function scale(text: string, units: Record<string, number>, fold: boolean): number | null {
  const match = NUMBER_AND_UNIT.exec(text.trim());
  if (!match) return null;
  const unit = match[2] ?? '';
  const factor = units[fold ? unit.toLowerCase() : unit];
  if (factor === undefined) return null;
  const value = Number(match[1]) * factor;
  // However large: the maximum is the caller's to hold (limit-clamped), not a reason to read it as no size.
  return value > 0 ? value : null;
}

/** `60s`, `2m`, `1h`, `250ms`, bare seconds → milliseconds. */
export function parseDuration(text: string): number | null {
  const ms = scale(text, DURATION_MS, false);
  return ms === null || ms < 1 ? null : Math.round(ms);
}

/** `128Mi`, `1Gi`, `512m`, `1g`, bare bytes → bytes. */
export function parseSize(text: string): number | null {
  const bytes = scale(text, SIZE_BYTES, true);
  return bytes === null || bytes < 1 ? null : Math.round(bytes);
}

/** `0.5`, `2`, `500m` → cpus, in steps of a thousandth. */
export function parseCpu(text: string): number | null {
  const cpus = scale(text, { '': 1, m: 0.001 }, false);
  return cpus === null || cpus < 0.001 ? null : Math.round(cpus * 1000) / 1000;
}

export function renderDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)}ms`;
  if (ms % 3_600_000 === 0) return `${ms / 3_600_000}h`;
  if (ms % 60_000 === 0) return `${ms / 60_000}m`;
  return `${Math.round(ms / 100) / 10}s`;
}

export function renderSize(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 ** 2) return `${Math.round(bytes / 102.4) / 10} KiB`;
  if (bytes < 1024 ** 3) return `${Math.round(bytes / 1024 ** 2 / 0.1) / 10} MiB`;
  return `${Math.round(bytes / 1024 ** 3 / 0.1) / 10} GiB`;
}

/** Characters over four: the usual rough count, stated as an estimate wherever it is shown. */
export function estimateTokens(text: string): number {
  return Math.ceil(text.length / 4);
}
