import { blobsContract } from '../contracts/blobs.ts';
import { everyContract } from '../contracts/every.ts';
import { memoryBlobs, newMemoryPlace } from '../support/memory-store.ts';

everyContract('memory', async () => {
  const place = newMemoryPlace();
  return { open: async () => place.open(), close: async () => place.close() };
});

blobsContract('memory', async () => {
  const blobs = memoryBlobs();
  return { open: async () => blobs, close: async () => undefined, runs: 50 };
});
