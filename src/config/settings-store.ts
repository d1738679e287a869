import { absolutePath, duration, integer, text, url, yesOrNo } from './kinds.ts';
import { one, optional, secret } from './setting.ts';

const IDENTIFIER = {
  ...text(63),
  what: 'a lower-case identifier of up to 63 characters',
  parse: (value: string) => (/^[a-z_][a-z0-9_]{0,62}$/.test(value) ? value : undefined),
};

const BUCKET = {
  ...text(63),
  what: 'the name of a bucket',
  parse: (value: string) => (/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(value) ? value : undefined),
};

/** Ends where a name begins, so that no object of another prefix is ever met. */
const PREFIX = {
  ...text(200),
  what: 'empty, or a path that ends with / and does not begin with it',
  parse: (value: string) => (/^(?:[A-Za-z0-9_-][A-Za-z0-9._-]*\/)+$/.test(value) ? value : undefined),
};

/** SQLite and a folder in the data directory, unless PostgreSQL and S3 are named. */
export const STORE_SETTINGS = {
  'store.postgres.url': secret({
    help: 'The PostgreSQL database for records: postgres://user:password@host:port/database. Without it they are in SQLite, in the data directory.',
  }),
  'store.postgres.schema': one(IDENTIFIER, {
    help: 'The schema that the tables are in.',
    fallback: 'skillbox',
  }),
  'store.postgres.pool': one(integer(2, 1000), {
    help: 'How many connections this process holds at most.',
    fallback: 10,
  }),
  'store.postgres.ca': optional(absolutePath, {
    help: "A PEM file with the authority of the database's certificate. With it TLS is required and checked.",
    fallbackText: 'as the URL says',
  }),
  'store.postgres.statementTimeout': one(duration(1000, 3_600_000), {
    help: 'How long the database may take for one statement.',
    fallback: 30_000,
  }),
  'store.s3.bucket': optional(BUCKET, {
    help: 'The S3 bucket for blobs. Without it they are in a folder in the data directory.',
    fallbackText: 'none: a folder',
  }),
  'store.s3.endpoint': optional(url('https', 'http'), {
    help: 'The S3 server.',
    fallbackText: 'that of AWS in the region',
  }),
  'store.s3.publicEndpoint': optional(url('https', 'http'), {
    help: 'The address of the same server for callers, in signed links.',
    fallbackText: 'as `store.s3.endpoint`',
  }),
  'store.s3.region': one(text(64), { help: 'The region of the bucket.', fallback: 'us-east-1' }),
  'store.s3.prefix': optional(PREFIX, {
    help: 'What the keys of all objects begin with.',
    fallbackText: 'nothing',
  }),
  'store.s3.pathStyle': one(yesOrNo, {
    help: 'Whether the bucket stands in the path instead of the host name, as most servers other than AWS want it.',
    fallback: false,
  }),
  'store.s3.accessKeyId': optional(text(200), {
    help: 'Who asks.',
    fallbackText: 'as the AWS SDK finds it: AWS_ACCESS_KEY_ID, profile, instance role',
  }),
  'store.s3.secretAccessKey': secret({
    help: 'The secret of that access key.',
  }),
};
