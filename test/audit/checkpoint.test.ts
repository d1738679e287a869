import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { chmodSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { signCheckpoint } from '../../src/audit/checkpoint.ts';
import { type Audit, type Checkpoint, type Head, openAudit } from '../../src/audit/index.ts';
import { readKey } from '../../src/audit/key-file.ts';
import { openStore } from '../../src/store/index.ts';
import { ALL } from '../contracts/journal.ts';
import { newEvent } from '../support/events.ts';
import { WRITER } from '../support/record.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

const ACTOR = { id: 'uid:1000', channel: 'terminal' };

async function open(): Promise<{ audit: Audit; directory: string; append: () => Promise<void> }> {
  const directory = tempDir('checkpoint');
  const store = openStore(directory, WRITER);
  onTestFinished(() => store.close());
  const append = () => store.journal.append(newEvent(), newEvent({ tenant: 'other' }));
  await append();
  return { audit: openAudit(store.journal, join(directory, 'audit')), directory, append };
}

describe('a checkpoint', () => {
  test('has the head of every chain, is signed with a private key of this store, and is told', async () => {
    const { audit, directory, append } = await open();
    const checkpoint = await audit.checkpoint(ACTOR);
    expect(checkpoint).toMatchObject({ kind: 'skillbox-checkpoint', version: 1 });
    // The second entry of the chain without a tenant tells of the key.
    expect(checkpoint.heads.map(({ seq }) => seq)).toEqual([2, 1]);
    const file = join(directory, 'audit/checkpoint.key');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(join(directory, 'audit'))).toEqual(['checkpoint.key']);
    await append();
    const again = await audit.checkpoint(ACTOR);
    expect(again.key).toBe(checkpoint.key);
    for (const each of [checkpoint, again])
      expect(await audit.verify(JSON.stringify(each), null)).toMatchObject({
        wrong: null,
        checkpoint: { time: each.time },
      });
    const told = (await audit.list({ ...ALL, types: ['key.created', 'checkpoint.made'] }, 10)).entries;
    expect(told.map(({ type }) => type)).toEqual(['key.created', 'checkpoint.made', 'checkpoint.made']);
    expect(told[0]?.data.publicKey).toBe(checkpoint.key);
    expect(JSON.stringify(told)).not.toContain('PRIVATE');
  });

  test('still holds after a rotation, and can be checked by its key alone', async () => {
    const { audit, directory, append } = await open();
    const checkpoint = await audit.checkpoint(ACTOR);
    await audit.rotate(Number.MAX_SAFE_INTEGER, ACTOR);
    await append();
    rmSync(join(directory, 'audit/checkpoint.key'));
    const text = JSON.stringify(checkpoint);
    await expect(audit.verify(text, null)).rejects.toThrow(/no key/);
    expect((await audit.verify(text, checkpoint.key)).wrong).toBeNull();
  });

  test('put behind others, one on each line, is held against the journal with all of them', async () => {
    const { audit, append, directory } = await open();
    const first = await audit.checkpoint(ACTOR);
    await append();
    const made = [first, await audit.checkpoint(ACTOR)] as const;
    const lines = (...each: readonly Checkpoint[]) => each.map(one => `${JSON.stringify(one)}\n`).join('');
    // Appended by two programs at once, the newest need not be the last.
    const text = lines(made[1], made[0]);
    expect(await audit.verify(text, null)).toMatchObject({ wrong: null, checkpoint: { time: made[1].time } });
    expect(await audit.verify(JSON.stringify(made[0], null, 2), null)).toMatchObject({ wrong: null });
    const cut = { code: 'USAGE', message: 'checkpoint 3 is no checkpoint: it is not JSON' };
    await expect(audit.verify(`${text}{"kind":`, null)).rejects.toMatchObject(cut);
    const changed = { ...made[1], time: 1 };
    expect((await audit.verify(lines(made[0], changed), null)).wrong?.what).toMatch(/not signed with the key/);
    // Of two that saw different entries in one place one is wrong, whichever comes first.
    const key = readKey(join(directory, 'audit/checkpoint.key')) as KeyObject;
    const [head, ...others] = made[0].heads as [Head, ...Head[]];
    const other = signCheckpoint(made[0].store, 1, [{ ...head, hash: 'f'.repeat(64) }, ...others], key);
    for (const both of [lines(made[0], other), lines(other, made[0])])
      expect((await audit.verify(both, null)).wrong).toMatchObject({ seq: head.seq, chain: head.chain });
    const beyond = signCheckpoint(made[0].store, 1, [{ ...head, seq: 99 }], key);
    expect((await audit.verify(lines(made[0], beyond), null)).wrong?.what).toMatch(/saw entry 99/);
  });

  test('with another key is refused, also when it is signed well', async () => {
    const { audit } = await open();
    const theirs = await (await open()).audit.checkpoint(ACTOR);
    const mine = await audit.checkpoint(ACTOR);
    expect((await audit.verify(JSON.stringify(theirs), null)).wrong?.what).toMatch(/not signed with the key/);
    expect((await audit.verify(JSON.stringify(theirs), theirs.key)).wrong?.what).toMatch(/of the store/);
    expect((await audit.verify(JSON.stringify(mine), theirs.key)).wrong?.what).toMatch(/not signed with the key/);
  });

  test.each(['', 'garbage', '-----BEGIN PRIVATE KEY-----\nMC4CAQ'])(
    'with %j for its key says what to do',
    async text => {
      const { audit, directory } = await open();
      const checkpoint = JSON.stringify(await audit.checkpoint(ACTOR));
      writeFileSync(join(directory, 'audit/checkpoint.key'), text);
      await expect(audit.verify(checkpoint, null)).rejects.toMatchObject({
        code: 'UNREADABLE',
        message: expect.stringContaining('holds no Ed25519 key'),
        hint: expect.stringContaining('backup'),
      });
    },
  );

  describe('that was changed', () => {
    let audit: Audit;
    let checkpoint: Checkpoint;
    beforeAll(async () => {
      const store = openStore(tempDir('checkpoint'), WRITER);
      await store.journal.append(newEvent(), newEvent({ tenant: 'other' }));
      audit = openAudit(store.journal, tempDir('key'));
      checkpoint = await audit.checkpoint(ACTOR);
      return () => store.close();
    });

    test('in any character is refused', async () => {
      const text = JSON.stringify(checkpoint);
      await fc.assert(
        fc.asyncProperty(
          fc.nat(text.length - 1),
          fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 1 }),
          async (at, other) => {
            const changed = text.slice(0, at) + other + text.slice(at + 1);
            fc.pre(changed !== text && !sameValue(changed, checkpoint));
            const said = await audit.verify(changed, checkpoint.key).catch((error: unknown) => error);
            if (said instanceof Error) expect(said).toMatchObject({ code: 'USAGE' });
            else expect(said).toMatchObject({ wrong: { where: 'the checkpoint' } });
          },
        ),
      );
    });

    test.each(['', '{', '[]', 'null', '{"kind":"skillbox-checkpoint"}', '{"kind":"skillbox-checkpoint","version":2}'])(
      'to %j is no checkpoint',
      async text => expect(audit.verify(text, checkpoint.key)).rejects.toMatchObject({ code: 'USAGE' }),
    );

    test.each([
      { heads: 'x' },
      { heads: [{ chain: 'a', seq: 1.5, hash: 'x' }] },
      { key: 'AAAA' },
      { more: 1 },
      { time: '1' },
    ])('with %j is no checkpoint', async change =>
      expect(audit.verify(JSON.stringify({ ...checkpoint, ...change }), checkpoint.key)).rejects.toMatchObject({
        code: 'USAGE',
      }),
    );

    test('a key that is none is refused', () =>
      expect(audit.verify(JSON.stringify(checkpoint), 'x')).rejects.toMatchObject({ code: 'USAGE' }));
  });

  test('is not signed with a key that others can read, or that is of another kind', async () => {
    const { audit, directory } = await open();
    await audit.checkpoint(ACTOR);
    const file = join(directory, 'audit/checkpoint.key');
    chmodSync(file, 0o640);
    await expect(audit.checkpoint(ACTOR)).rejects.toMatchObject({ code: 'UNREADABLE' });
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    rmSync(file);
    writeFileSync(file, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
    await expect(audit.checkpoint(ACTOR)).rejects.toMatchObject({ code: 'UNREADABLE' });
  });

  test('several at once have one key', async () => {
    const { audit, directory } = await open();
    const made = await Promise.all([1, 2, 3, 4].map(() => audit.checkpoint(ACTOR)));
    expect(new Set(made.map(({ key }) => key)).size).toBe(1);
    expect(readFileSync(join(directory, 'audit/checkpoint.key'), 'utf8')).toContain('PRIVATE KEY');
  });
});

/** JSON that reads the same, such as another space, or a base64 text with other unused bits, is the same checkpoint. */
function sameValue(text: string, checkpoint: Checkpoint): boolean {
  try {
    const { signature, ...rest } = JSON.parse(text) as Checkpoint;
    const { signature: mine, ...own } = checkpoint;
    return (
      JSON.stringify(rest) === JSON.stringify(own) &&
      Buffer.from(signature, 'base64').equals(Buffer.from(mine, 'base64'))
    );
  } catch {
    return false;
  }
}
