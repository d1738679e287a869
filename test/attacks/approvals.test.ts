import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import type { Skillbox } from '../../src/app.ts';
import { newTool, person, SAYS, withData } from '../support/approvals.ts';
import { script as byPath, NO_SANDBOX, newSkill, runSkill, textOf, tool } from '../support/skillbox.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

const opened: Skillbox[] = [];
afterAll(async () => {
  for (const skillbox of opened) await skillbox.close();
});
const open = async () => {
  const made = await withData();
  opened.push(made.skillbox);
  return made;
};
const outputOf = (record: { output: unknown }) => (record.output as { output: string }).output;
const HOOKS = { signal: null, onState: () => undefined, onChunk: () => undefined, onBuild: () => undefined };
const ONCE = { answer: 'once', channel: 'terminal', by: 'tester' } as const;

describe.skipIf(NO_SANDBOX)('approve, then change', () => {
  test('GB-18 one byte of a reference file: asked again, with what changed', async () => {
    const { skillbox } = await open();
    const path = newTool();
    const first = person('always');
    expect(await runSkill(skillbox, path, { ...SAYS, ask: first.ask })).toMatchObject({ state: 'success' });
    expect(first.seen).toMatchObject([{ change: null, problem: null, trust: 'user', banner: false }]);
    const never = person('deny');
    expect(await runSkill(skillbox, path, { ...SAYS, ask: never.ask })).toMatchObject({
      state: 'success',
      approval: null,
    });
    expect(never.seen).toEqual([]);

    appendFileSync(join(path, 'references/notes.md'), '.');
    const again = person('once');
    expect(await runSkill(skillbox, path, { ...SAYS, ask: again.ask })).toMatchObject({
      state: 'success',
      decision: { verdict: 'ask', rule: { name: 'gibberish-writes' } },
      approval: { answer: 'once', channel: 'terminal', by: 'tester' },
    });
    expect(again.seen[0]?.change).toMatchObject({
      approvedAt: expect.any(Number),
      diff: { equal: false, files: [{ path: 'references/notes.md', change: 'changed', content: { kind: 'text' } }] },
    });
    chmodSync(join(path, 'references/notes.md'), 0o755);
    const bit = person('deny');
    expect(await runSkill(skillbox, path, { ...SAYS, ask: bit.ask })).toMatchObject({ error: { code: 'DENIED' } });
    expect(bit.seen[0]?.change?.diff?.files).toMatchObject([{ change: 'mode' }]);
  });

  test('X-10 the folder is swapped between the answer and the start: what was approved runs', async () => {
    const { skillbox } = await open();
    const path = newTool();
    const record = await runSkill(skillbox, path, {
      ...SAYS,
      ask: async () => {
        renameSync(path, `${path}-old`);
        cpSync(`${path}-old`, path, { recursive: true });
        writeFileSync(join(path, 'scripts/say.sh'), '#!/bin/sh\necho "swapped: $1"\n');
        return ONCE;
      },
    });
    expect(record).toMatchObject({ state: 'success' });
    expect(outputOf(record)).toBe('first: hello\n');
  });

  test('X-10 the folder of a waiting run is swapped: the copy that was asked for runs, and its packages are not the new ones', async () => {
    const { skillbox } = await open();
    const path = newTool();
    const { id, state } = await runSkill(skillbox, path, { ...SAYS, ask: null });
    expect(state).toBe('waiting');
    writeFileSync(join(path, 'scripts/say.sh'), '#!/bin/sh\necho "swapped: $1"\n');
    writeFileSync(join(path, 'package.json'), '{"dependencies":{"evil":"1.0.0"}}');
    const question = await skillbox.approvals.question(id);
    expect(question.preview).toMatchObject({ argv: ['/skill/scripts/say.sh', 'hello'], dependencies: [] });
    const record = await skillbox.approvals.settle(id, ONCE, HOOKS);
    expect(outputOf(record)).toBe('first: hello\n');
  });

  test('the kept copy itself is changed: the run ends as denied, and nothing starts', async () => {
    const { skillbox, data } = await open();
    const { id, skill } = await runSkill(skillbox, newTool(), { ...SAYS, ask: null });
    const kept = join(data, 'snapshots', skill.digest.replace(':', '-'), 'scripts/say.sh');
    chmodSync(kept, 0o755);
    writeFileSync(kept, '#!/bin/sh\necho "planted: $1"\n');
    const record = await skillbox.approvals.settle(id, ONCE, HOOKS);
    expect(record).toMatchObject({ state: 'failed', ending: { kind: 'denied' }, startedAt: null, output: null });
    expect(record.error?.message).toContain('kept copy');
  });

  test('a link that becomes another folder: asked again, and the diff is against what was approved there', async () => {
    const { skillbox } = await open();
    const place = tempDir('links', 0o755);
    const [good, evil] = [newTool({ place: join(place, 'a') }), newTool({ place: join(place, 'b') })];
    writeFileSync(join(evil, 'scripts/say.sh'), '#!/bin/sh\necho "evil: $1"\n');
    const link = join(place, 'echoer');
    symlinkSync(good, link);
    await runSkill(skillbox, link, { ...SAYS, ask: person('always').ask });
    rmSync(link);
    symlinkSync(evil, link);
    const asked = person('deny');
    expect(await runSkill(skillbox, link, { ...SAYS, ask: asked.ask, trusted: false })).toMatchObject({
      state: 'failed',
    });
    // By its real path: trust and history of the folder that the link led to before are not its own.
    expect(asked.seen).toMatchObject([{ trust: 'untrusted', banner: true, skill: { place: evil }, change: null }]);
  });

  test('SK-12 a skill of the same name in another place inherits neither trust nor approval', async () => {
    const { skillbox } = await open();
    const approved = newTool();
    await runSkill(skillbox, approved, { ...SAYS, ask: person('always').ask });
    const shadow = newTool();
    writeFileSync(join(shadow, 'scripts/say.sh'), '#!/bin/sh\necho "shadow: $1"\n');
    const asked = person('deny');
    await runSkill(skillbox, shadow, { ...SAYS, ask: asked.ask, trusted: false });
    expect(asked.seen).toMatchObject([{ trust: 'untrusted', banner: true, change: null }]);
    // The same bytes in a place that nobody vouches for: the place still counts.
    const copy = join(tempDir('copy', 0o755), 'echoer');
    cpSync(approved, copy, { recursive: true });
    const twin = person('deny');
    await runSkill(skillbox, copy, { ...SAYS, ask: twin.ask, trusted: false });
    expect(twin.seen).toMatchObject([{ trust: 'untrusted', banner: true }]);
  });
});

describe.skipIf(NO_SANDBOX)('what an answer is bound to', () => {
  test('"once" is for one call: other arguments, another input, another variable ask again', async () => {
    const { skillbox } = await open();
    const path = newTool();
    const calls = [
      SAYS,
      SAYS,
      { ...SAYS, target: tool('say', { text: 'other' }) },
      { ...SAYS, env: { A: 'b' } },
      { ...SAYS, stdin: 'x' },
      { ...SAYS, workspace: tempDir('ws', 0o755) },
    ];
    const asked = person('once');
    for (const call of calls) await runSkill(skillbox, path, { ...call, ask: asked.ask });
    expect(asked.seen).toHaveLength(calls.length);
  });

  test('"once" for a waiting run starts that run and no other: the stored call is altered, and it does not start', async () => {
    const { skillbox, sql } = await open();
    const { id } = await runSkill(skillbox, newTool(), { ...SAYS, ask: null });
    sql(`UPDATE runs SET record = json_set(record, '$.waiting.call.target.arguments.text', 'rm -rf') WHERE id = ?`, id);
    const record = await skillbox.approvals.settle(id, ONCE, HOOKS);
    expect(record).toMatchObject({ state: 'failed', ending: { kind: 'denied' }, startedAt: null });
    expect(record.error?.message).toContain('not what was asked');
  });

  test('"always" is for this grant: another workspace asks again', async () => {
    const { skillbox } = await open();
    const path = newTool();
    await runSkill(skillbox, path, { ...SAYS, ask: person('always').ask });
    const asked = person('deny');
    await runSkill(skillbox, path, { ...SAYS, workspace: tempDir('ws', 0o755), ask: asked.ask });
    expect(asked.seen).toHaveLength(1);
  });

  test('"deny always" is for the content and target, whatever the grant, the arguments or the name of the script', async () => {
    const { skillbox } = await open();
    const path = newTool();
    await runSkill(skillbox, path, { ...SAYS, ask: person('deny-always').ask });
    const asked = person('once');
    for (const more of [
      {},
      { workspace: tempDir('ws', 0o755) },
      { target: tool('say', { text: 'please' }) },
      { env: { A: 'b' } },
    ])
      expect(await runSkill(skillbox, path, { ...SAYS, ...more, ask: asked.ask })).toMatchObject({
        state: 'failed',
        ending: { kind: 'denied' },
        decision: { verdict: 'deny', rule: { name: 'denied-before' } },
      });
    expect(asked.seen).toEqual([]);
    const script = newSkill('bash', 'echo hi\n');
    await skillbox.trust.remove(script, '/');
    const [one, other] = [byPath('scripts/main.sh'), byPath('main.sh')];
    await runSkill(skillbox, script, { target: one, trusted: false, ask: person('deny-always').ask });
    const second = person('once');
    expect(await runSkill(skillbox, script, { target: other, trusted: false, ask: second.ask })).toMatchObject({
      decision: { rule: { name: 'denied-before' } },
    });
    expect(second.seen).toEqual([]);
  });

  test('an answer that the policy does not take through a channel is no answer: the run waits', async () => {
    const { skillbox, data } = await open();
    writeFileSync(join(data, 'policy.yaml'), 'version: 1\napprovals:\n  flag: []\n', { mode: 0o600 });
    const flag = async () => ({ answer: 'once', channel: 'flag', by: 'tester' }) as const;
    const record = await runSkill(skillbox, newTool(), { ...SAYS, ask: flag });
    expect(record).toMatchObject({ state: 'waiting', approval: null, startedAt: null });
    expect(record.warnings.join()).toContain('flag');
    await expect(skillbox.approvals.settle(record.id, await flag(), HOOKS)).rejects.toMatchObject({
      code: 'ANSWER_REFUSED',
    });
    expect(await skillbox.getRun(record.id)).toMatchObject({ state: 'waiting' });
    // Nor does the default let a flag decide about later runs.
    rmSync(join(data, 'policy.yaml'));
    const always = async () => ({ answer: 'always', channel: 'flag', by: 'tester' }) as const;
    expect(await runSkill(skillbox, newTool(), { ...SAYS, ask: always })).toMatchObject({ state: 'waiting' });
  });
});

describe.skipIf(NO_SANDBOX)('the store of answers is forged', () => {
  const approved = async () => {
    const made = await open();
    const path = newTool();
    await runSkill(made.skillbox, path, { ...SAYS, ask: person('always').ask });
    return { ...made, path };
  };
  const asks = async (skillbox: Skillbox, path: string) => {
    const asked = person('deny');
    const record = await runSkill(skillbox, path, { ...SAYS, ask: asked.ask });
    return { record, question: asked.seen[0] };
  };

  test('a row that was copied to another digest does not count, and it is said', async () => {
    const { skillbox, sql, path } = await approved();
    const other = newTool();
    writeFileSync(join(other, 'scripts/say.sh'), '#!/bin/sh\necho evil\n');
    await runSkill(skillbox, other, { ...SAYS, ask: person('once').ask });
    const [target] = sql(`SELECT binding FROM answers WHERE body LIKE '%"once"%'`);
    sql(`UPDATE answers SET binding = ? WHERE body LIKE '%"always"%'`, String(target?.binding));
    const { record, question } = await asks(skillbox, other);
    expect(record).toMatchObject({ state: 'failed', ending: { kind: 'denied' } });
    expect(question?.problem).toContain('altered');
    expect(existsSync(path)).toBe(true);
  });

  test.each([
    ['the digest in the body', `UPDATE answers SET body = json_set(body, '$.bound.digest', 'sb1-sha256:0')`],
    ['the expiry', `UPDATE answers SET body = json_set(body, '$.expiresAt', 9e15)`],
    ['the answer', `UPDATE answers SET body = json_set(body, '$.answer', 'once')`],
    ['the id', `UPDATE answers SET id = 'other'`],
    ['the MAC', `UPDATE answers SET mac = '${'0'.repeat(64)}'`],
    ['the seal', `UPDATE answers_seal SET body = json_set(body, '$.denied', json('[]'), '$.x', 1)`],
    ['the seal is gone', 'DELETE FROM answers_seal'],
  ])('altered: %s. Everything is asked, also what would need no answer, and it is said', async (_what, text) => {
    const { skillbox, sql, path } = await approved();
    sql(text);
    const { record, question } = await asks(skillbox, path);
    expect(record).toMatchObject({ state: 'failed', ending: { kind: 'denied' } });
    expect(question?.problem).not.toBeNull();
    expect(question?.answers).toMatchObject({ terminal: ['once', 'deny'] });
    expect(question?.answers.flag).toBeUndefined();
  });

  test('the seal is over all: what needs no answer is asked too, until a person begins anew', async () => {
    const { skillbox, sql, path } = await approved();
    sql('DELETE FROM answers_seal');
    const plain = newSkill('bash', 'echo hi\n');
    const asked = person('once');
    expect(await runSkill(skillbox, plain, { ask: asked.ask })).toMatchObject({ state: 'success' });
    expect(asked.seen).toMatchObject([{ problem: expect.stringContaining('seal') }]);
    expect(await runSkill(skillbox, plain, { ask: null })).toMatchObject({ state: 'waiting' });
    await expect(skillbox.approvals.answers()).rejects.toMatchObject({ code: 'APPROVALS_ALTERED' });
    await skillbox.approvals.reset({ id: 'tester', channel: 'terminal' });
    expect(await runSkill(skillbox, plain, { ask: null })).toMatchObject({ state: 'success' });
    expect((await asks(skillbox, path)).question).toMatchObject({ problem: null });
  });

  test('a row made by hand, without the key, is no answer', async () => {
    const { skillbox, sql } = await open();
    const path = newTool();
    await runSkill(skillbox, path, { ...SAYS, ask: person('once').ask });
    const [row] = sql('SELECT * FROM answers');
    const body = String(row?.body).replace('"answer":"once"', '"answer":"always"');
    sql(
      'INSERT INTO answers (id, binding, refusal, origin, created_at, body, mac) VALUES (?, ?, ?, ?, ?, ?, ?)',
      'forged',
      String(row?.binding),
      String(row?.refusal),
      String(row?.origin),
      Date.now(),
      body.replace(String(row?.id), 'forged'),
      String(row?.mac),
    );
    expect((await asks(skillbox, path)).question?.problem).toContain('altered');
  });

  test('an answer that has expired, or was taken back, is not brought back by its own row', async () => {
    const { skillbox, sql, path } = await approved();
    const [row] = sql(`SELECT * FROM answers`);
    const [given] = await skillbox.approvals.answers();
    expect(given).toMatchObject({ answer: 'always', expiresAt: expect.any(Number) });
    await skillbox.approvals.revoke(given?.id ?? '', { id: 'tester', channel: 'terminal' });
    expect((await asks(skillbox, path)).question).toMatchObject({ problem: null });
    sql('UPDATE answers SET body = ?, mac = ? WHERE id = ?', String(row?.body), String(row?.mac), String(row?.id));
    expect((await asks(skillbox, path)).question).toBeDefined();
    await expect(skillbox.approvals.revoke(given?.id ?? '', { id: 'x', channel: 'y' })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    });
  });

  test('"deny always" that was deleted is missed: everything is asked', async () => {
    const { skillbox, sql } = await open();
    const plain = newSkill('bash', 'echo hi\n');
    await runSkill(skillbox, plain, { trusted: false, ask: person('deny-always').ask });
    await skillbox.trust.add(plain, '/');
    // Trusted since, and with the least power: only the denial stands in its way.
    expect(await runSkill(skillbox, plain, { ask: null })).toMatchObject({
      decision: { rule: { name: 'denied-before' } },
    });
    sql('DELETE FROM answers');
    expect(await runSkill(skillbox, plain, { ask: null })).toMatchObject({ state: 'waiting', startedAt: null });
  });

  test.each([
    ['gone', (key: string) => rmSync(key)],
    ['readable for others', (key: string) => chmodSync(key, 0o644)],
    ['another', (key: string) => writeFileSync(key, `${'ab'.repeat(32)}\n`)],
    ['no key', (key: string) => writeFileSync(key, 'x')],
    [
      'a link',
      (key: string) => {
        renameSync(key, `${key}.old`);
        symlinkSync(`${key}.old`, key);
      },
    ],
  ])('a key that is %s: everything is asked', async (_what, spoil) => {
    const { skillbox, data, path } = await approved();
    spoil(join(data, 'approvals.key'));
    expect((await asks(skillbox, path)).question?.problem).not.toBeNull();
    expect(await runSkill(skillbox, newSkill('bash', 'echo hi\n'), { ask: null })).toMatchObject({ state: 'waiting' });
  });

  test('the first answer cannot be written, as on a full disk: nothing is kept, and nothing looks forged', async () => {
    const { skillbox, sql } = await open();
    const path = newTool();
    sql(`CREATE TRIGGER full BEFORE INSERT ON answers BEGIN SELECT raise(ABORT, 'no room'); END`);
    await expect(runSkill(skillbox, path, { ...SAYS, ask: person('always').ask })).rejects.toThrow('no room');
    sql('DROP TRIGGER full');
    expect(await runSkill(skillbox, newSkill('bash', 'echo hi\n'), { ask: null })).toMatchObject({ state: 'success' });
    expect((await asks(skillbox, path)).question).toMatchObject({ problem: null });
    await runSkill(skillbox, path, { ...SAYS, ask: person('always').ask });
    expect(await runSkill(skillbox, path, { ...SAYS, ask: null })).toMatchObject({ state: 'success' });
  });

  test('every row and the seal are gone, and the key is not: that is no beginning', async () => {
    const { skillbox, sql } = await approved();
    sql('DELETE FROM answers');
    sql('DELETE FROM answers_seal');
    expect(await runSkill(skillbox, newSkill('bash', 'echo hi\n'), { ask: null })).toMatchObject({ state: 'waiting' });
  });

  test('the key is made private, once, and lies in the data directory', async () => {
    const { data, skillbox } = await open();
    const key = join(data, 'approvals.key');
    await runSkill(skillbox, newSkill('bash', 'echo hi\n'), { ask: null });
    expect(existsSync(key)).toBe(false);
    const path = newTool();
    await runSkill(skillbox, path, { ...SAYS, ask: person('once').ask });
    const before = readFileSync(key, 'utf8');
    await runSkill(skillbox, path, { ...SAYS, ask: person('once').ask });
    expect(readFileSync(key, 'utf8')).toBe(before);
  });
});

describe.skipIf(NO_SANDBOX)('a waiting run', () => {
  test('X-13 two answer at once: one wins, the other is told', async () => {
    const { skillbox } = await open();
    const { id } = await runSkill(skillbox, newTool(), { ...SAYS, ask: null });
    const results = await Promise.allSettled(
      Array.from({ length: 4 }, () => skillbox.approvals.settle(id, ONCE, HOOKS)),
    );
    const won = results.filter(({ status }) => status === 'fulfilled');
    expect(won).toHaveLength(1);
    for (const result of results)
      if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'NOT_WAITING' });
    expect(await skillbox.getRun(id)).toMatchObject({ state: 'success', waiting: null });
  });

  test('is denied, canceled, or expires; and then waits no more', async () => {
    const { skillbox, sql } = await open();
    const path = newTool();
    const wait = async () => (await runSkill(skillbox, path, { ...SAYS, ask: null })).id;
    const denied = await wait();
    expect(await skillbox.approvals.settle(denied, { ...ONCE, answer: 'deny' }, HOOKS)).toMatchObject({
      error: { code: 'DENIED' },
    });
    const canceled = await wait();
    expect(await skillbox.cancelRun(canceled)).toBe(true);
    expect(await skillbox.getRun(canceled)).toMatchObject({ state: 'failed', ending: { kind: 'canceled' } });
    const late = await wait();
    sql(`UPDATE runs SET record = json_set(record, '$.waiting.expiresAt', 1) WHERE id = ?`, late);
    await expect(skillbox.approvals.settle(late, ONCE, HOOKS)).rejects.toMatchObject({ code: 'NOT_WAITING' });
    expect(await skillbox.getRun(late)).toMatchObject({ state: 'failed', ending: { kind: 'denied' }, startedAt: null });
    for (const id of [denied, canceled, late])
      await expect(skillbox.approvals.settle(id, ONCE, HOOKS)).rejects.toMatchObject({ code: 'NOT_WAITING' });
  });

  test('keeps of the environment of whoever asked only what the run will have', async () => {
    const { skillbox, sql } = await open();
    const callerEnv = { LANG: 'C.UTF-8', HOST_SECRET: 'host-secret-value', TERM: 'dumb' };
    const { id } = await runSkill(skillbox, newTool(), { ...SAYS, callerEnv, ask: null });
    expect(JSON.stringify(sql('SELECT record FROM runs'))).not.toContain('host-secret-value');
    expect(outputOf(await skillbox.approvals.settle(id, ONCE, HOOKS))).toBe('first: hello\n');
  });

  test('is judged again: a rule that was written since denies it', async () => {
    const { skillbox, data } = await open();
    const { id } = await runSkill(skillbox, newTool(), { ...SAYS, ask: null });
    const rules =
      'version: 1\nrules:\n  - name: never\n    verdict: deny\n    when: { skill: echoer }\n    why: Not here.\n';
    writeFileSync(join(data, 'policy.yaml'), rules, { mode: 0o600 });
    expect(await skillbox.approvals.settle(id, ONCE, HOOKS)).toMatchObject({
      state: 'failed',
      ending: { kind: 'denied' },
      decision: { verdict: 'deny', rule: { name: 'never' } },
      startedAt: null,
    });
  });
});

describe.skipIf(NO_SANDBOX)('the journal', () => {
  test('AS-14 tells who was asked, who answered what through which channel, and what it was bound to; no secret of the call', async () => {
    const { skillbox, sql } = await open();
    const path = newTool();
    const secret = 'ghp_0123456789abcdefghij0123456789abcdef';
    const call = { ...SAYS, target: tool('say', { text: secret }) };
    const allowed = await runSkill(skillbox, path, { ...call, ask: person('always').ask });
    const waiting = await runSkill(skillbox, newTool({ name: 'other' }), { ...call, ask: null });
    await skillbox.approvals.settle(waiting.id, { ...ONCE, answer: 'deny' }, HOOKS);
    const rows = sql('SELECT body FROM audit ORDER BY position').map(({ body }) => JSON.parse(String(body)));
    const of = (id: string) => rows.filter(({ subject }) => subject === id);
    expect(of(allowed.id)).toMatchObject([
      { type: 'decision.made', data: { verdict: 'ask', rule: { name: 'gibberish-writes' } } },
      { type: 'approval.given', actor: { id: 'tester', channel: 'terminal' }, data: { scope: 'always' } },
      { type: 'run.accepted' },
      { type: 'run.started' },
      { type: 'run.ended' },
    ]);
    expect(of(waiting.id)).toMatchObject([
      { type: 'decision.made' },
      { type: 'approval.asked', data: { approval: waiting.id } },
      { type: 'decision.made' },
      { type: 'approval.denied', actor: { id: 'tester', channel: 'terminal' }, data: { scope: 'deny' } },
      { type: 'run.ended', data: { state: 'failed', ending: { kind: 'denied' } } },
    ]);
    expect(JSON.stringify(rows)).not.toContain(secret);
    expect(await textOf(skillbox, allowed)).toContain('first');
  });
});
