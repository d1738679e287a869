import { SkillboxError, visibleLine } from '../base/index.ts';

/** Why an image is refused as a whole; in `details.reason`, for those who must not parse the message. */
const REASONS = {
  'not-an-image': 'IMAGE_UNSAFE',
  manifest: 'IMAGE_UNSAFE',
  platform: 'IMAGE_UNSAFE',
  several: 'IMAGE_UNSAFE',
  'missing-blob': 'IMAGE_UNSAFE',
  digest: 'IMAGE_UNSAFE',
  size: 'IMAGE_UNSAFE',
  compression: 'IMAGE_UNSAFE',
  tar: 'IMAGE_UNSAFE',
  name: 'IMAGE_UNSAFE',
  type: 'IMAGE_UNSAFE',
  'link-target': 'IMAGE_UNSAFE',
  'link-parent': 'IMAGE_UNSAFE',
  'file-parent': 'IMAGE_UNSAFE',
  whiteout: 'IMAGE_UNSAFE',
  layers: 'IMAGE_TOO_LARGE',
  bytes: 'IMAGE_TOO_LARGE',
  entries: 'IMAGE_TOO_LARGE',
  links: 'IMAGE_TOO_LARGE',
  ratio: 'IMAGE_TOO_LARGE',
  document: 'IMAGE_TOO_LARGE',
} as const satisfies Record<string, 'IMAGE_UNSAFE' | 'IMAGE_TOO_LARGE'>;

export type ImageRefusal = keyof typeof REASONS;

/** `entry` is null where the image as a whole is at fault; `what` continues the sentence that names it. */
export function refuse(reason: ImageRefusal, entry: string | null, what: string, cause?: unknown): SkillboxError {
  const shown = entry === null ? null : visibleLine(entry);
  const message = shown === null ? `The image ${what}` : `The image's "${shown}" ${what}`;
  return new SkillboxError(REASONS[reason], message, { details: { entry: shown, reason }, cause });
}
