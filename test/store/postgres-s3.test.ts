import { it } from 'vitest';
import { openBlobs, openPostgres } from '../../src/store/index.ts';
import { everyContract } from '../contracts/every.ts';
import { newSchema, noPostgres } from '../support/postgres.ts';
import { WRITER } from '../support/record.ts';
import { NO_S3, needsS3, s3Settings } from '../support/s3.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();
needsS3();

const missing = noPostgres ?? NO_S3;

const makeSubject = async () => {
  const schema = await newSchema();
  const blobs = openBlobs({ kind: 's3', s3: await s3Settings() }, tempDir('spool'), WRITER);
  const close = async () => {
    await blobs.close();
    await schema.close();
  };
  return { open: () => openPostgres(schema.url, blobs), close };
};

if (missing === null) everyContract('PostgreSQL and S3', makeSubject);
else it.skip(missing);
