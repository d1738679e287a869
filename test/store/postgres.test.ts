import { it } from 'vitest';
import { openDisk } from '../../src/store/disk.ts';
import { openPostgres } from '../../src/store/index.ts';
import { everyContract } from '../contracts/every.ts';
import { newSchema, noPostgres } from '../support/postgres.ts';
import { WRITER } from '../support/record.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

const makeSubject = async () => {
  const schema = await newSchema();
  const directory = tempDir('blobs');
  return { open: () => openPostgres(schema.url, openDisk(directory, WRITER)), close: () => schema.close() };
};

if (noPostgres === null) everyContract('PostgreSQL store', makeSubject);
else it.skip(noPostgres);
