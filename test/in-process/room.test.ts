import { expect, test } from 'vitest';
import { Room } from '../../src/in-process/room.ts';

const roomOf = (most: number, used = { bytes: 0 }) =>
  new Room({
    mostOf: async () => most,
    async usedBy() {
      const { bytes } = used;
      await new Promise(resolve => setTimeout(resolve, 1));
      return bytes;
    },
  });
const FULL = { code: 'QUOTA_EXCEEDED' };

test('many at once do not find the same room', async () => {
  const room = roomOf(100);
  const found = await Promise.allSettled(Array.from({ length: 50 }, () => room.hold('a', 10, 0)));
  expect(found.filter(({ status }) => status === 'fulfilled')).toHaveLength(10);
  await expect(room.hold('a', 1, 0)).rejects.toMatchObject(FULL);
  expect(await room.hold('b', 100, 0)).toBeTypeOf('function');
});

test('what was not kept makes room again, what was kept does not, also before it is counted', async () => {
  const used = { bytes: 0 };
  const room = roomOf(100, used);
  (await room.hold('a', 100, 60_000))(false);
  const end = await room.hold('a', 90, 60_000);
  // It is counted while another is being kept: the count may not know of it.
  const meanwhile = room.hold('a', 20, 0);
  used.bytes = 90;
  end(true);
  await expect(meanwhile).rejects.toMatchObject(FULL);
  await expect(room.hold('a', 20, 60_000)).rejects.toMatchObject(FULL);
  (await room.hold('a', 10, 60_000))(true);
  await expect(room.hold('a', 0, 60_000)).rejects.toMatchObject(FULL);
  used.bytes = 50;
  expect(await room.hold('a', 50, 0)).toBeTypeOf('function');
});
