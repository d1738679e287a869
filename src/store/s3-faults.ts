import { errnoOf, SkillboxError } from '../base/index.ts';
import type { S3Settings } from './s3-client.ts';

/** What the server, or the SDK before it, says when it is the settings that are wrong; and which of them. */
const SETTINGS: Record<string, readonly [sentence: string, hint: string]> = {
  NoSuchBucket: ['there is no such bucket', 'Make the bucket, or correct `store.s3.bucket`.'],
  InvalidBucketName: ['that is no name of a bucket', 'Correct `store.s3.bucket`.'],
  InvalidAccessKeyId: ['it does not know the access key', 'Correct `store.s3.accessKeyId`.'],
  SignatureDoesNotMatch: ['the secret is not that of the access key', 'Correct `store.s3.secretAccessKey`.'],
  CredentialsProviderError: [
    'no credentials were found',
    'Set `store.s3.accessKeyId` and `store.s3.secretAccessKey`, or give them as the AWS SDK reads them.',
  ],
  AccessDenied: [
    'the access key may not do that',
    'Let it read, write, list and delete in the bucket, or correct `store.s3.accessKeyId`.',
  ],
  ExpiredToken: ['the credentials have expired', 'Renew them where the AWS SDK reads them.'],
  PermanentRedirect: ['the bucket is elsewhere', 'Correct `store.s3.region` or `store.s3.endpoint`.'],
  AuthorizationHeaderMalformed: ['the bucket is in another region', 'Correct `store.s3.region`.'],
  RequestTimeTooSkewed: ["this machine's clock is wrong", 'Set the clock.'],
};

/** An answer to HEAD has no body, so only its status is known. */
const BY_STATUS: Record<number, string> = { 301: 'PermanentRedirect', 403: 'AccessDenied' };

const FULL: ReadonlySet<string> = new Set(['QuotaExceeded', 'InsufficientStorage', 'EntityTooLarge']);

export function statusOf(error: unknown): number | null {
  if (!(error instanceof Error) || !('$metadata' in error)) return null;
  const { $metadata: metadata } = error;
  const status = metadata instanceof Object && 'httpStatusCode' in metadata ? metadata.httpStatusCode : null;
  return typeof status === 'number' ? status : null;
}

/** Whether the server says that there is no such object; not that there is no such bucket. */
export function isAbsent(error: unknown): boolean {
  return error instanceof Error && statusOf(error) === 404 && error.name !== 'NoSuchBucket';
}

/** What went wrong between us and the server, as a sentence that says what to do. */
export function translateS3(error: unknown, settings: S3Settings): Error {
  if (error instanceof SkillboxError || isDefect(error)) return error;
  const where = `the bucket "${settings.bucket}" at ${settings.endpoint ?? `AWS ${settings.region}`}`;
  const name = error instanceof Error ? error.name : '';
  const status = statusOf(error);
  const known = SETTINGS[name] ?? SETTINGS[BY_STATUS[status ?? 0] ?? ''];
  if (FULL.has(name) || status === 507)
    return new SkillboxError('UNWRITABLE', `cannot store in ${where}: it is full (${name})`, { cause: error });
  if (known !== undefined)
    return new SkillboxError('BACKEND_UNAVAILABLE', `cannot use ${where}: ${known[0]}`, {
      hint: known[1],
      cause: error,
    });
  return new SkillboxError('BACKEND_UNAVAILABLE', `cannot use ${where}: ${reasonOf(error, name, status)}`, {
    ...(status === null ? { hint: 'Check that the server runs, and `store.s3.endpoint`. Then try again.' } : {}),
    cause: error,
  });
}

/** Not the server's doing, nor that of the way to it. */
function isDefect(error: unknown): error is Error {
  const wrong = error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError;
  return wrong && statusOf(error) === null && errnoOf(error) === null;
}

function reasonOf(error: unknown, name: string, status: number | null): string {
  if (status !== null && status >= 400) return `it answers ${status} (${name})`;
  return `it does not answer (${errnoOf(error) ?? (name || String(error))})`;
}
