import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  hashToken,
  type MintRequest,
  matchesToken,
  newToken,
  resolveCapabilities,
  type Secrets,
  SHIPPED_PROVIDERS,
  Tokens,
} from '../../src/secrets/index.ts';
import type { Store } from '../../src/store/index.ts';
import { TESTER } from '../support/events.ts';
import { eventsIn, openTestSecrets } from '../support/secrets.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

const VALUES: Record<string, string> = {
  anthropic: 'sk-ant-0123456789',
  openai: 'sk-oai-0123456789',
  discord: 'discord-bot-0123456789',
  'custom/deploy-token': 'deploy-0123456789',
};

async function filled(): Promise<Secrets & { store: Store }> {
  const opened = openTestSecrets(tempDir('mint'));
  for (const [name, value] of Object.entries(VALUES)) {
    await opened.secrets.set(name, Buffer.from(value), null, TESTER);
  }
  await opened.secrets.set('custom/openweathermap-api-key', Buffer.from('owm-0123456789'), null, TESTER);
  await opened.secrets.set('custom/short', Buffer.from('1234567'), null, TESTER);
  return opened;
}

function wish(capabilities: string[], changes: Partial<MintRequest> = {}): MintRequest {
  return {
    caller: { tenant: null, actor: TESTER },
    run: 'run-1',
    skill: { name: 'probe', digest: 'sha256:1' },
    declared: capabilities,
    granted: capabilities,
    hosts: [],
    timeoutMs: 60_000,
    ...changes,
  };
}

describe('minting', () => {
  test('every secret that is not set is told at once', async () => {
    const { lending, store } = await filled();
    const names = ['slack/messages.send', 'slack/messages.read', 'custom/none', 'anthropic/messages.create'];
    await expect(lending.mint(wish(names))).rejects.toMatchObject({
      code: 'SECRET_MISSING',
      message: 'secrets are not set: slack (for slack/messages.send), custom/none',
    });
    await expect(lending.mint(wish(['custom/none']))).rejects.toMatchObject({
      message: 'a secret is not set: custom/none',
      hint: 'Store it with `skillbox secret set custom/none`.',
    });
    // And before anybody is asked, where what is unknown is left to the mint.
    const { caller } = wish([]);
    expect(await lending.unset(caller, [...names, 'nobody/knows'])).toEqual(['slack', 'custom/none']);
    expect(await lending.unset(caller, ['anthropic/*'])).toEqual([]);
    expect(await lending.unset({ ...caller, tenant: 'other' }, ['anthropic/*'])).toEqual(['anthropic']);
    await store.close();
  });

  test('a run is lent what its tenant has, and nothing of another', async () => {
    const opened = await filled();
    const { lending, store } = opened;
    await opened.secretsOf('a').set('custom/deploy-token', Buffer.from('deploy-of-a-012345'), null, TESTER);
    const mine = (tenant: string | null) => ({ caller: { tenant, actor: TESTER } });
    const valueFor = async (tenant: string | null) =>
      (await lending.mint(wish(['custom/deploy-token'], mine(tenant)))).values[0]?.value;
    expect(await valueFor('a')).toBe('deploy-of-a-012345');
    expect(await valueFor(null)).toBe('deploy-0123456789');
    await expect(lending.mint(wish(['custom/deploy-token'], mine('b')))).rejects.toMatchObject({
      code: 'SECRET_MISSING',
    });
    await expect(lending.mint(wish(['anthropic/messages.create'], mine('a')))).rejects.toMatchObject({
      code: 'SECRET_MISSING',
    });
    const filter = { types: null, subject: null, sinceMs: null, untilMs: null, tenants: ['a'], beforeSeq: null };
    const { entries } = await store.journal.list(filter, 10);
    expect(entries.map(({ type }) => type)).toEqual(['secret.set', 'token.minted', 'token.refused']);
    await store.close();
  });

  test('SK-05 a token and a brief for exactly what was granted', async () => {
    const { lending, store, secrets } = await filled();
    const before = Date.now();
    const { token, brief, values, warnings } = await lending.mint(
      wish(['anthropic/messages.create', 'custom/deploy-token']),
    );
    expect(token).toMatch(/^sbt_[\w-]{43}$/);
    expect(brief).toMatchObject({ run: 'run-1', skill: { name: 'probe', digest: 'sha256:1' }, hosts: [] });
    expect(brief.tokenHash).toBe(hashToken(token));
    expect(brief.expiresAt).toBeGreaterThanOrEqual(before + 90_000);
    expect(brief.expiresAt).toBeLessThanOrEqual(Date.now() + 90_000);
    expect(brief.endpoints).toEqual([
      {
        capability: 'anthropic/messages.create',
        provider: 'anthropic',
        scheme: 'https',
        host: 'api.anthropic.com',
        port: 443,
        methods: ['POST'],
        path: '/v1/messages',
        auth: { form: 'header', name: 'x-api-key', value: VALUES.anthropic },
        limits: { requests: 200, bytes: null, tokens: 2_000_000 },
        allowPrivate: false,
      },
    ]);
    expect(brief.customs).toEqual([
      { key: 'deploy-token', value: VALUES['custom/deploy-token'], hosts: [], placeholder: null },
    ]);
    expect(warnings).toEqual([]);
    expect(values.map(({ name }) => name).sort()).toEqual(['anthropic', 'custom/deploy-token', 'token']);
    // SK-07, SK-10: nothing of what it did not ask for.
    expect(JSON.stringify(brief)).not.toMatch(/sk-oai|discord-bot|owm-/);
    expect(JSON.stringify(brief)).not.toContain(token);
    expect((await secrets.get('anthropic'))?.usedAt).toBeGreaterThanOrEqual(before);
    expect((await secrets.get('openai'))?.usedAt).toBeNull();
    const told = (await eventsIn(store)).at(-1);
    expect(told).toMatchObject({
      type: 'token.minted',
      subject: 'run-1',
      data: { capabilities: ['anthropic/messages.create', 'custom/deploy-token'], carriesOut: [] },
    });
    expect(JSON.stringify(await eventsIn(store))).not.toMatch(new RegExp([token, ...Object.values(VALUES)].join('|')));
    await store.close();
  });

  test("SK-10 the seed's key is bound to its host by itself: the run sees a placeholder of its own", async () => {
    const { lending, store } = await filled();
    const first = await lending.mint(wish(['custom/openweathermap-api-key']));
    const second = await lending.mint(wish(['custom/openweathermap-api-key'], { run: 'run-2' }));
    const [one, two] = [first, second].map(({ brief }) => brief.customs[0]);
    expect(one).toMatchObject({ hosts: ['api.openweathermap.org'], value: 'owm-0123456789' });
    expect(one?.placeholder).toMatch(/^sbp_[0-9a-f]{32}$/);
    expect(one?.placeholder).not.toBe(two?.placeholder);
    await store.close();
  });

  test('SK-04 a whole provider stands for each of its endpoints, with a warning', async () => {
    const { lending, store } = await filled();
    const { brief, warnings } = await lending.mint(wish(['discord/*']));
    const discord = SHIPPED_PROVIDERS.find(({ name }) => name === 'discord');
    expect(new Set(brief.endpoints.map(({ capability }) => capability))).toEqual(
      new Set(discord?.endpoints.map(({ name }) => `discord/${name}`)),
    );
    expect(warnings[0]).toContain('discord/* stands for discord/messages.send');
    expect((await eventsIn(store)).at(-1)?.data).toMatchObject({
      carriesOut: ['discord/messages.send', 'discord/messages.edit', 'discord/reactions.add'],
    });
    await store.close();
  });

  test.each([
    [
      'fewer were granted',
      ['anthropic/messages.create', 'openai/chat.completions'],
      ['anthropic/messages.create'],
      'CAPABILITY_REFUSED',
    ],
    ['none was granted', ['anthropic/messages.create'], [], 'CAPABILITY_REFUSED'],
    [
      'more was granted',
      ['anthropic/messages.create'],
      ['anthropic/messages.create', 'openai/chat.completions'],
      'CAPABILITY_REFUSED',
    ],
    ['a wildcard was granted for one', ['anthropic/messages.create'], ['anthropic/*'], 'CAPABILITY_REFUSED'],
    ['one was granted for a wildcard', ['anthropic/*'], ['anthropic/messages.create'], 'CAPABILITY_REFUSED'],
    ['no such endpoint', ['anthropic/messages.steal'], ['anthropic/messages.steal'], 'CAPABILITY_UNKNOWN'],
    ['no such provider', ['acme/orders.read'], ['acme/orders.read'], 'CAPABILITY_UNKNOWN'],
    ['every custom secret', ['custom/*'], ['custom/*'], 'CAPABILITY_UNKNOWN'],
    ['everything', ['*/*'], ['*/*'], 'CAPABILITY_UNKNOWN'],
    ['a name of an object', ['__proto__/x'], ['__proto__/x'], 'CAPABILITY_UNKNOWN'],
    ['the key of the provider is not set', ['slack/messages.send'], ['slack/messages.send'], 'SECRET_MISSING'],
    ['the custom secret is not set', ['custom/none'], ['custom/none'], 'SECRET_MISSING'],
    ['the value is too short to be scrubbed', ['custom/short'], ['custom/short'], 'SECRET_INVALID'],
  ])('SK-05 SK-06 refused whole, and told: %s', async (_what, declared, granted, code) => {
    const { lending, store, secrets } = await filled();
    await expect(lending.mint(wish([], { declared, granted }))).rejects.toMatchObject({ code });
    const told = (await eventsIn(store)).at(-1);
    expect(told).toMatchObject({ type: 'token.refused', subject: 'run-1', data: { reason: code } });
    expect((await secrets.list()).every(({ usedAt }) => usedAt === null)).toBe(true);
    await store.close();
  });

  test('SK-05 whatever is declared and granted, a brief holds just the declared or there is none', async () => {
    const { lending, store } = await filled();
    const names = fc.subarray([
      'anthropic/messages.create',
      'anthropic/models.list',
      'openai/chat.completions',
      'custom/deploy-token',
      'discord/messages.send',
    ]);
    await fc.assert(
      fc.asyncProperty(names, names, async (declared, granted) => {
        const same = declared.length === granted.length && declared.every(name => granted.includes(name));
        const minted = await lending.mint(wish([], { declared, granted })).catch(() => null);
        expect(minted !== null).toBe(same);
        if (minted === null) return;
        const held = [
          ...minted.brief.endpoints.map(({ capability }) => capability),
          ...minted.brief.customs.map(({ key }) => `custom/${key}`),
        ];
        expect(new Set(held)).toEqual(new Set(declared));
      }),
      { numRuns: 60 },
    );
    await store.close();
  });

  test('SK-06 what cannot be written down is not handed out', async () => {
    const { lending, store } = await filled();
    await store.close();
    await expect(lending.mint(wish(['anthropic/messages.create']))).rejects.toThrow();
  });

  test('resolving never gives more than the names say', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 40 }), name => {
        try {
          const { capabilities } = resolveCapabilities([name], SHIPPED_PROVIDERS);
          if (!name.endsWith('/*')) expect(capabilities.map(each => each.name)).toEqual([name]);
        } catch (error) {
          expect(error).toMatchObject({ code: 'CAPABILITY_UNKNOWN' });
        }
      }),
    );
  });
});

describe('tokens', () => {
  test('SK-05 good for their run and skill alone, until they are revoked or expire', () => {
    const tokens = new Tokens();
    const one = tokens.issue('run-1', 'sha256:1', 1000);
    const two = tokens.issue('run-2', 'sha256:2', 1000);
    expect(JSON.stringify(one.record)).not.toContain(one.token);
    expect(tokens.check(one.token, 'run-1', 'sha256:1', 999)).toBe('valid');
    expect(tokens.check(one.token, 'run-2', 'sha256:2', 999)).toBe('unknown');
    expect(tokens.check(two.token, 'run-1', 'sha256:1', 999)).toBe('unknown');
    expect(tokens.check(one.token, 'run-1', 'sha256:other', 999)).toBe('other-run');
    expect(tokens.check(one.token, 'run-1', 'sha256:1', 1000)).toBe('expired');
    expect(tokens.check(`${one.token}x`, 'run-1', 'sha256:1', 999)).toBe('unknown');
    expect(tokens.revoke('run-1')).toBe(true);
    expect(tokens.check(one.token, 'run-1', 'sha256:1', 999)).toBe('unknown');
    expect(tokens.revoke('run-1')).toBe(false);
  });

  test('no two are the same, none is matched by another, and a hash is no token', () => {
    const made = Array.from({ length: 200 }, newToken);
    expect(new Set(made.map(({ token }) => token)).size).toBe(200);
    const [{ token, hash } = newToken()] = made;
    expect(matchesToken(token, hash)).toBe(true);
    expect(made.slice(1).some(other => matchesToken(other.token, hash))).toBe(false);
    expect(matchesToken(hash, hash)).toBe(false);
    expect(matchesToken('', hash)).toBe(false);
    expect(matchesToken(token, '')).toBe(false);
  });
});
