/**
 * A process that stores and reads so many bytes: `node blob-child.ts SETTINGS DIRECTORY BYTES`. Prints by how much its memory
 * grew at most, over what it takes to store and read a little.
 */
import { type BlobSettings, openBlobs } from '../../src/store/index.ts';
import { WRITER } from './record.ts';

const [, , settings = '', directory = '', bytes = ''] = process.argv;
const blobs = openBlobs(JSON.parse(settings) as BlobSettings, directory, WRITER);

async function* content(size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < size; at += 65_536) {
    const piece = Buffer.alloc(Math.min(65_536, size - at));
    piece.writeUInt32LE(at);
    yield piece;
  }
}

async function roundTrip(size: number): Promise<number> {
  const { sha256 } = await blobs.put(content(size));
  let read = 0;
  for await (const piece of (await blobs.read(sha256)) ?? []) read += piece.length;
  return read;
}

await roundTrip(3_000_000);
const before = process.resourceUsage().maxRSS;
const read = await roundTrip(Number(bytes));
const grownBytes = (process.resourceUsage().maxRSS - before) * 1024;
await blobs.close();
process.stdout.write(`${JSON.stringify({ read, grownBytes })}\n`);
