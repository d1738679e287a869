import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Run, RunEvent, Service, StartRequest } from '../../src/service/index.ts';
import { makeZip } from '../skill/make-zip.ts';
import { bytesOf } from '../support/record.ts';
import { askingZip, publish, startOf } from '../support/service.ts';

export type ServiceSubject = {
  /** What somebody of the tenant can do, with every scope; another name is another key. */
  as(tenant: 'one' | 'two', who?: 'first' | 'second'): Promise<Service>;
  close(): Promise<void>;
};

const GREET = `echo "out line"
echo "err line" >&2
mkdir -p "$SANDBOX_FILES_DIR/sub"
printf 'content' > "$SANDBOX_FILES_DIR/sub/file.txt"
printf '{"said":"hello","who":"%s"}' "$WHO" > "$SANDBOX_OUTPUT"
`;
const SLOW = 'for i in 1 2 3 4 5 6; do echo "line $i"; sleep 0.3; done\n';
const SAY: Partial<StartRequest> = { target: { kind: 'tool', name: 'say', arguments: { word: 'hello' } } };
const ENDLESS = 'echo begun; sleep 600\n';

/** Everything that a caller can do, whatever is between the caller and the runs. */
export function serviceContract(name: string, make: () => Promise<ServiceSubject>): void {
  describe(`${name}: the service`, { timeout: 60_000 }, () => {
    let subject: ServiceSubject;
    let one: Service;
    let second: Service;
    let two: Service;
    beforeAll(async () => {
      subject = await make();
      one = await subject.as('one');
      second = await subject.as('one', 'second');
      two = await subject.as('two');
      await publish(one, { name: 'greet', body: GREET });
      await publish(one, { name: 'slow', body: SLOW });
      await publish(one, { name: 'endless', body: ENDLESS });
      await one.skills.publish(bytesOf(askingZip('asks')), { tags: [], version: null });
    }, 60_000);
    afterAll(() => subject?.close());

    const start = (service: Service, skill: string, changes: Partial<StartRequest> = {}, key: string | null = null) =>
      service.runs.start(startOf(skill, changes), { idempotencyKey: key });
    const ended = (service: Service, run: Run) => service.runs.wait(run.id, { timeoutMs: 30_000, signal: null });
    const fails = async (work: Promise<unknown>): Promise<string> => {
      const error: unknown = await work.then(
        () => null,
        (fault: unknown) => fault,
      );
      return error !== null && typeof error === 'object' && 'code' in error ? String(error.code) : 'nothing';
    };
    const take = async (events: AsyncIterable<RunEvent>, enough = Number.POSITIVE_INFINITY): Promise<RunEvent[]> => {
      const all: RunEvent[] = [];
      for await (const event of events) if (all.push(event) >= enough) break;
      return all;
    };
    const text = (events: readonly RunEvent[]) =>
      events.flatMap(event => (event.kind === 'log' ? [event.line.text] : [])).join('');

    it('says who is calling', async () => {
      const me = await one.whoAmI();
      expect(me).toMatchObject({ tenant: 'one', expiresAt: null });
      expect(me.scopes).toContain('run');
      expect(await fails(two.skills.resolve('greet', null))).toBe('NOT_FOUND');
    });

    it('SB-14 a run ends with its output, its artifacts and its log', async () => {
      const run = await ended(one, await start(one, 'greet', { env: { WHO: 'you' } }));
      expect(run).toMatchObject({
        state: 'success',
        exitCode: 0,
        output: { said: 'hello', who: 'you' },
        error: null,
        skill: { name: 'greet', version: '1.0.0' },
        target: 'main',
        decision: { verdict: 'allow', trust: 'user' },
      });
      expect(run.by).toBe((await one.whoAmI()).id);
      expect(run.artifacts).toEqual([
        { path: 'sub/file.txt', bytes: 7, sha256: createHash('sha256').update('content').digest('hex') },
      ]);
      const { artifact, content } = await one.runs.artifact(run.id, 'sub/file.txt');
      const parts: Uint8Array[] = [];
      for await (const part of content) parts.push(part);
      expect(Buffer.concat(parts).toString()).toBe('content');
      expect(artifact.path).toBe('sub/file.txt');
      const archive = await one.runs.artifact(run.id, null);
      const hash = createHash('sha256');
      for await (const part of archive.content) hash.update(part);
      expect(hash.digest('hex')).toBe(run.archive?.sha256);
      const log = await one.runs.logs(run.id, 0);
      expect(log.complete).toBe(true);
      expect(log.lines.filter(line => line.stream === 'stderr').map(line => line.text)).toEqual(['err line\n']);
      expect(await one.runs.logs(run.id, log.offset)).toEqual({ lines: [], offset: log.offset, complete: true });
      expect(await one.runs.artifactUrl(run.id, 'sub/file.txt', 60)).toMatch(/^https?:|^file:|^\//);
      expect(await fails(one.runs.artifact(run.id, 'nothing'))).toBe('NOT_FOUND');
      expect(await one.runs.get(run.id)).toEqual(run);
    });

    it('AS-12 a skill of another format is listed, read, one of its files too, and one of its scripts is run', async () => {
      const zip = makeZip([
        {
          name: 'SKILL.md',
          content: '---\nname: lines\ndescription: Counts lines. Use when asked.\n---\n\nRead the guide.\n',
        },
        { name: 'scripts/count.sh', content: 'printf "%s words" "$#"\n' },
        { name: 'references/guide.md', content: '# Guide\n' },
      ]);
      await one.skills.publish(bytesOf(zip), { tags: [], version: '1.0.0' });
      const { items } = await one.skills.list({ query: 'lines', tag: null, limit: 5, after: null });
      expect(items[0]).toMatchObject({ name: 'lines', version: '1.0.0', dialect: 'agent-skills' });
      const described = await one.skills.describe('lines', null);
      expect(described.instructions).toContain('Read the guide.');
      expect(described.scripts).toEqual(['scripts/count.sh']);
      const parts: Uint8Array[] = [];
      for await (const part of (await one.skills.file('lines', null, 'references/guide.md')).content) parts.push(part);
      expect(Buffer.concat(parts).toString()).toBe('# Guide\n');
      const target = { kind: 'script', path: 'scripts/count.sh', arguments: ['a', 'b c'] } as const;
      const run = await ended(
        one,
        await start(one, 'lines', { target: { ...target, arguments: [...target.arguments] } }),
      );
      expect([run.state, run.error]).toEqual(['success', null]);
      expect((await one.runs.logs(run.id, 0)).lines.map(line => line.text)).toEqual(['2 words']);
    });

    it('what is not there, or not well said, is refused', async () => {
      expect(await fails(start(one, 'nothing'))).toBe('NOT_FOUND');
      expect(await fails(start(one, 'greet', { version: '9.9.9' }))).toBe('NOT_FOUND');
      expect(await fails(start(one, 'greet', { env: { PATH: '/x' } }))).toBe('USAGE');
      expect(await fails(one.runs.get('nothing'))).toBe('NOT_FOUND');
      expect(
        await fails(one.runs.list({ states: null, skill: null, since: null, limit: 10, after: 'no cursor' })),
      ).toMatch(/USAGE|BODY_REFUSED/);
    });

    it('a run is followed from its first word to its end, by many, and by those who come late or come back', async () => {
      const run = await start(one, 'slow');
      const followers = await Promise.all(
        Array.from({ length: 20 }, () => take(one.runs.follow(run.id, { offset: 0, signal: null }))),
      );
      const whole = 'line 1\nline 2\nline 3\nline 4\nline 5\nline 6\n';
      for (const events of followers) {
        expect(text(events)).toBe(whole);
        expect(events.at(-1)).toMatchObject({ kind: 'state', run: { state: 'success' } });
      }
      const [first = []] = followers;
      const cut = first.findIndex(event => event.kind === 'log') + 1;
      const rest = await take(one.runs.follow(run.id, { offset: first[cut - 1]?.offset ?? 0, signal: null }));
      expect(text(first.slice(0, cut)) + text(rest)).toBe(whole);
      const late = await take(one.runs.follow(run.id, { offset: 0, signal: null }));
      expect(text(late)).toBe(whole);
      expect(late.filter(event => event.kind === 'state')).toHaveLength(1);
    });

    it('whoever stops following is left alone, and the run goes on', async () => {
      const run = await start(one, 'endless');
      // How many there are by then depends on how soon one comes.
      const begun = await take(one.runs.follow(run.id, { offset: 0, signal: null }), 1);
      expect(begun.length).toBeGreaterThan(0);
      const gone = new AbortController();
      const following = take(one.runs.follow(run.id, { offset: 0, signal: gone.signal })).catch(() => []);
      setTimeout(() => gone.abort(), 100);
      await following;
      const waited = await one.runs.wait(run.id, { timeoutMs: 50, signal: null });
      expect(['preparing', 'running']).toContain(waited.state);
      expect(await one.runs.cancel(run.id)).toBe(true);
      expect(await ended(one, run)).toMatchObject({ state: 'failed', ending: { kind: 'canceled' } });
      expect(await one.runs.cancel(run.id)).toBe(false);
    });

    it('the same key is the same run; with another request it is refused; another tenant has keys of its own', async () => {
      const run = await start(one, 'greet', { env: { WHO: 'a' } }, 'key-1');
      const again = await Promise.all([1, 2, 3].map(() => start(second, 'greet', { env: { WHO: 'a' } }, 'key-1')));
      expect(again.map(each => each.id)).toEqual([run.id, run.id, run.id]);
      expect(await fails(start(one, 'greet', { env: { WHO: 'b' } }, 'key-1'))).toBe('IDEMPOTENCY_MISMATCH');
      expect(await fails(start(two, 'greet', {}, 'key-1'))).toBe('NOT_FOUND');
      await ended(one, run);
      const many = await Promise.all(Array.from({ length: 8 }, () => start(one, 'greet', {}, 'at-once')));
      expect(new Set(many.map(each => each.id)).size).toBe(1);
      for (const each of many) await ended(one, each);
    });

    it('runs are listed, the newest first, page by page, by state, skill and time', async () => {
      const page = (after: string | null, limit = 3) =>
        one.runs.list({ states: null, skill: null, since: null, limit, after });
      const all: Run[] = [];
      for (let after: string | null = null; ; ) {
        const { items, next } = await page(after);
        all.push(...items);
        after = next;
        if (after === null) break;
      }
      expect(all.map(run => run.id)).toEqual((await page(null, 100)).items.map(run => run.id));
      expect(new Set(all.map(run => run.id)).size).toBe(all.length);
      expect(all.every(run => run.output === null)).toBe(true);
      const slow = await one.runs.list({ states: ['success'], skill: 'slow', since: null, limit: 10, after: null });
      expect(slow.items.map(run => run.skill.name)).toEqual(['slow']);
      const later = await one.runs.list({
        states: null,
        skill: null,
        since: Date.now() + 60_000,
        limit: 10,
        after: null,
      });
      expect(later).toEqual({ items: [], next: null });
    });

    it('a plan says what would run, and nothing of where things lie on the machine', async () => {
      const plan = await one.runs.plan(startOf('greet'));
      expect(plan).toMatchObject({ decision: { verdict: 'allow' }, network: 'none' });
      expect(JSON.stringify(plan)).not.toContain('snapshots');
      const explained = await one.policy.explain({ skill: 'greet', version: null, target: null });
      expect(explained).toMatchObject({ trust: 'user', publisher: 'one', targets: [{ verdict: 'allow' }] });
    });

    it('a question is answered by somebody else than who asked, and a yes puts the run in the line', async () => {
      const run = await start(one, 'asks', SAY);
      expect(run.state).toBe('waiting');
      expect((await one.approvals.waiting({ limit: 10, after: null })).items.map(each => each.id)).toContain(run.id);
      const question = await second.approvals.question(run.id);
      expect(question).toMatchObject({ skill: { name: 'asks' }, trust: 'user' });
      expect(JSON.stringify(question)).not.toContain('snapshots');
      expect(await fails(one.approvals.answer(run.id, 'once'))).toBe('ANSWER_REFUSED');
      expect(await fails(two.approvals.answer(run.id, 'once'))).toBe('NOT_FOUND');
      expect(['queued', 'preparing']).toContain((await second.approvals.answer(run.id, 'once')).state);
      const done = await ended(one, run);
      expect(done).toMatchObject({ state: 'success', approval: { answer: 'once', by: (await second.whoAmI()).id } });
      expect(await fails(second.approvals.answer(run.id, 'once'))).toBe('NOT_WAITING');
      const { items } = await one.approvals.answers({ limit: 10, after: null });
      expect(items[0]).toMatchObject({ answer: 'once', channel: 'key', skill: { name: 'asks' } });
      expect(await fails(two.approvals.revoke(items[0]?.id ?? ''))).toBe('NOT_FOUND');
      expect((await one.approvals.revoke(items[0]?.id ?? '')).revokedAt).not.toBeNull();
      const denied = await start(one, 'asks', SAY);
      expect(await second.approvals.answer(denied.id, 'deny')).toMatchObject({
        state: 'failed',
        ending: { kind: 'denied' },
      });
    });

    it('a run that waits is canceled, and nobody can answer for it any more', async () => {
      const run = await start(one, 'asks', SAY);
      expect(await two.runs.cancel(run.id).catch((error: { code: string }) => error.code)).toBe('NOT_FOUND');
      expect(await one.runs.cancel(run.id)).toBe(true);
      expect(await one.runs.get(run.id)).toMatchObject({ state: 'failed', ending: { kind: 'canceled' } });
      expect(await fails(second.approvals.answer(run.id, 'once'))).toBe('NOT_WAITING');
      // Who asked is not sent to look for somebody else to answer.
      expect(await fails(one.approvals.answer(run.id, 'once'))).toBe('NOT_WAITING');
    });

    it('the catalog is of the tenant’s own skills, and a skill is given with its instructions', async () => {
      const shown = await one.catalog.render({ format: 'xml', budget: null, query: null });
      expect(shown).toContain('<name>greet</name>');
      expect(shown).not.toContain('snapshots');
      expect(JSON.parse(await two.catalog.render({ format: 'json', budget: null, query: null }))).toEqual({
        skills: [],
      });
      expect(await two.catalog.render({ format: 'xml', budget: null, query: null })).toBe('');
      const activation = await one.catalog.activate('greet', null);
      expect(activation).toMatchObject({ name: 'greet', version: '1.0.0' });
      expect(activation.text).toContain('Do as you are told.');
      expect(activation.text).not.toContain('snapshots');
      expect(await fails(two.catalog.activate('greet', null))).toBe('NOT_FOUND');
      expect(await fails(one.catalog.render({ format: 'nothing', budget: null, query: null }))).toMatch(
        /USAGE|BODY_REFUSED/,
      );
    });

    it('secrets are a tenant’s own, and never come back', async () => {
      const value = 'a-value-of-some-length';
      expect(await one.secrets.set('custom/deploy-key', value, null)).toMatchObject({ version: 1, kind: 'custom' });
      await two.secrets.set('custom/deploy-key', 'another-value-of-two', null);
      expect(await one.secrets.set('custom/deploy-key', value, ['example.com'])).toMatchObject({ version: 2 });
      const listed = await one.secrets.list();
      expect(listed.map(each => [each.name, each.hosts])).toEqual([['custom/deploy-key', ['example.com']]]);
      expect(JSON.stringify([listed, (await one.audit.list(ANY_ENTRY)).items])).not.toContain(value);
      await one.secrets.remove('custom/deploy-key');
      expect(await one.secrets.list()).toEqual([]);
      expect(await two.secrets.list()).toHaveLength(1);
      expect(await fails(one.secrets.remove('custom/deploy-key'))).toBe('NOT_FOUND');
      expect((await one.providers.list()).map(each => each.name)).toContain('anthropic');
    });

    it('the journal of a tenant is its own, page by page, and whole', async () => {
      const seqs: number[] = [];
      for (let after: string | null = null; ; ) {
        const page = await one.audit.list({ ...ANY_ENTRY, limit: 7, after });
        seqs.push(...page.items.map(entry => entry.seq));
        after = page.next;
        if (after === null) break;
      }
      expect(seqs.length).toBeGreaterThan(20);
      expect(seqs).toEqual(Array.from({ length: seqs.length }, (_, at) => seqs.length - at));
      const runs = await one.audit.list({ ...ANY_ENTRY, types: ['run.ended'], limit: 100 });
      expect(runs.items.every(entry => entry.type === 'run.ended')).toBe(true);
      expect(await one.audit.verify()).toEqual({ ok: true, entries: seqs.length, wrong: null });
      const other = await two.audit.list(ANY_ENTRY);
      expect(other.items.every(entry => entry.type === 'secret.set' || !entry.type.startsWith('run'))).toBe(true);
    });

    it('nothing of a run is there for another tenant', async () => {
      const run = await ended(one, await start(one, 'greet'));
      const reads: Promise<unknown>[] = [
        two.runs.get(run.id),
        two.runs.wait(run.id, { timeoutMs: 10, signal: null }),
        two.runs.logs(run.id, 0),
        take(two.runs.follow(run.id, { offset: 0, signal: null })),
        two.runs.cancel(run.id),
        two.runs.artifact(run.id, 'sub/file.txt'),
        two.runs.artifact(run.id, null),
        two.runs.artifactUrl(run.id, 'sub/file.txt', 60),
        two.approvals.question(run.id),
        two.approvals.answer(run.id, 'once'),
        two.policy.explain({ skill: 'greet', version: null, target: null }),
        two.runs.plan(startOf('greet')),
        start(two, 'greet'),
      ];
      expect(await Promise.all(reads.map(fails))).toEqual(reads.map(() => 'NOT_FOUND'));
      expect(await two.runs.list({ states: null, skill: null, since: null, limit: 10, after: null })).toEqual({
        items: [],
        next: null,
      });
    });

    it('what one tenant allowed always is asked in another, though it is the same skill to the byte', async () => {
      for (const service of [one, two])
        await service.skills.publish(bytesOf(askingZip('shared', false)), { tags: [], version: null });
      const first = await start(one, 'shared', SAY);
      expect((await second.approvals.question(first.id)).answers).toMatchObject({
        key: expect.arrayContaining(['always']),
      });
      await second.approvals.answer(first.id, 'always');
      expect(await ended(one, first)).toMatchObject({ state: 'success' });
      expect(await ended(one, await start(one, 'shared', SAY))).toMatchObject({ state: 'success' });
      const other = await start(two, 'shared', SAY);
      expect(other.state).toBe('waiting');
      expect(await two.runs.cancel(other.id)).toBe(true);
    });
  });
}

const ANY_ENTRY = { types: null, subject: null, since: null, limit: 200, after: null };
