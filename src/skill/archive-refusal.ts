import { SkillboxError } from '../base/index.ts';
import { showPath } from './names.ts';

/** Why an archive is refused as a whole; in `details.reason`, for those who must not parse the message. */
const REASONS = {
  'not-a-zip': 'ARCHIVE_UNSAFE',
  truncated: 'ARCHIVE_UNSAFE',
  'end-record': 'ARCHIVE_UNSAFE',
  zip64: 'ARCHIVE_UNSAFE',
  'trailing-data': 'ARCHIVE_UNSAFE',
  'prepended-data': 'ARCHIVE_UNSAFE',
  'hidden-data': 'ARCHIVE_UNSAFE',
  overlap: 'ARCHIVE_UNSAFE',
  'central-directory': 'ARCHIVE_UNSAFE',
  'local-header': 'ARCHIVE_UNSAFE',
  'data-descriptor': 'ARCHIVE_UNSAFE',
  name: 'ARCHIVE_UNSAFE',
  collision: 'ARCHIVE_UNSAFE',
  link: 'ARCHIVE_UNSAFE',
  'special-file': 'ARCHIVE_UNSAFE',
  encrypted: 'ARCHIVE_UNSAFE',
  method: 'ARCHIVE_UNSAFE',
  content: 'ARCHIVE_UNSAFE',
  size: 'ARCHIVE_UNSAFE',
  crc: 'ARCHIVE_UNSAFE',
  ratio: 'ARCHIVE_TOO_LARGE',
  entries: 'ARCHIVE_TOO_LARGE',
  bytes: 'ARCHIVE_TOO_LARGE',
} as const satisfies Record<string, 'ARCHIVE_UNSAFE' | 'ARCHIVE_TOO_LARGE'>;

export type RefusalReason = keyof typeof REASONS;

/** `entry` is null where the archive as a whole is at fault; `what` continues the sentence that names it. */
export function refuse(reason: RefusalReason, entry: string | null, what: string, cause?: unknown): SkillboxError {
  // Cut, so that a name of 64 KiB does not fill the log; quoted, so that a name of blanks is seen.
  const shown = entry === null ? null : cut(showPath(entry));
  const message = shown === null ? `The archive ${what}` : `The archive's entry "${shown}" ${what}`;
  return new SkillboxError(REASONS[reason], message, { details: { entry: shown, reason }, cause });
}

function cut(text: string): string {
  const points = Array.from(text);
  return points.length > 200 ? `${points.slice(0, 199).join('')}…` : text;
}
