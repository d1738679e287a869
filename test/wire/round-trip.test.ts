import * as fc from 'fast-check';
import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { describe, expect, it } from 'vitest';
import { SkillboxError } from '../../src/base/index.ts';
import { RUN_STATES, type Run, type RunTarget, type StartRequest } from '../../src/service/index.ts';
import * as wire from '../../src/wire/index.ts';

const time = fc.integer({ min: 0, max: 4_102_444_800_000 });
const timeOrNull = fc.option(time, { nil: null });
const text = fc.string({ unit: 'grapheme' });
const textOrNull = fc.option(text, { nil: null });
const json = fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Run['output']>;
const object = fc.dictionary(text, json, { maxKeys: 3, noNullPrototype: true }) as fc.Arbitrary<Record<string, never>>;
const count = fc.nat();
const sha = fc.string({ unit: fc.constantFrom(...Array.from('0123456789abcdef')), minLength: 64, maxLength: 64 });
const file = fc.record({ path: text, bytes: count, sha256: sha });
const texts = fc.array(text, { maxLength: 3 });
const textMap = fc.dictionary(text, text, { maxKeys: 3, noNullPrototype: true });

const run: fc.Arbitrary<Run> = fc.record({
  id: text,
  state: fc.constantFrom(...RUN_STATES),
  createdAt: time,
  startedAt: timeOrNull,
  endedAt: timeOrNull,
  skill: fc.record({ name: text, version: textOrNull, digest: text, dialect: text }),
  target: text,
  by: text,
  ending: json,
  exitCode: fc.option(fc.integer(), { nil: null }),
  output: json,
  error: fc.option(fc.record({ code: text, message: text }), { nil: null }),
  warnings: texts,
  sandbox: fc.option(fc.record({ driver: text, enforces: textMap, runtime: textOrNull }), { nil: null }),
  decision: fc.option(fc.record({ verdict: text, trust: text, rule: object, reasons: texts }), { nil: null }),
  approval: fc.option(fc.record({ answer: text, channel: text, by: text, at: time }), { nil: null }),
  artifacts: fc.array(file, { maxLength: 3 }),
  archive: fc.option(fc.record({ sha256: sha, bytes: count }), { nil: null }),
  usage: fc.option(fc.record({ cpuMs: count, maxMemoryBytes: count }), { nil: null }),
  logBytes: count,
});

const over = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;
function there<T, W>(arbitrary: fc.Arbitrary<T>, to: (value: T) => W, schema: TSchema, back: (wire: W) => T): void {
  const checker = Compile(schema);
  fc.assert(
    fc.property(arbitrary, value => {
      const sent = over(to(value));
      expect(checker.Check(sent) ? [] : checker.Errors(sent)).toEqual([]);
      expect(back(sent)).toEqual(over(value));
    }),
  );
}

describe('there and back again', () => {
  it('runs, with and without what they brought', () => {
    there(run, wire.toState, wire.ExecutionState, wire.fromExecution);
    there(
      run.map(each => ({ ...each, output: null })),
      wire.toSummary,
      wire.ExecutionSummary,
      wire.fromExecution,
    );
  });

  it('lines of a log', () => {
    const line = fc.record({ stream: fc.constantFrom('stdout' as const, 'stderr' as const), timeMs: time, text });
    there(line, wire.toLogLine, wire.LogLineAnswer, wire.fromLogLine);
  });

  const version = fc.record({
    name: text,
    version: text,
    description: text,
    dialect: fc.constantFrom('skillbox' as const, 'gibberish' as const),
    digest: text,
    archive: fc.record({ sha256: sha, bytes: count }),
    publishedAt: time,
    publishedBy: text,
    yanked: fc.option(fc.record({ at: time, reason: text }), { nil: null }),
    tags: texts,
  });
  it('skills', () => {
    there(version, wire.toSkill, wire.SkillAnswer, wire.fromSkill);
    const more = fc.record({
      instructions: text,
      lang: textOrNull,
      image: textOrNull,
      tools: fc.array(
        fc.record({
          name: text,
          description: text,
          parameters: object,
          readOnly: fc.boolean(),
          alwaysAsk: fc.boolean(),
        }),
        { maxLength: 2 },
      ),
      scripts: texts,
      files: fc.array(fc.record({ path: text, bytes: count }), { maxLength: 2 }),
      needs: fc.record({ network: text, secrets: texts }),
    });
    const detail = fc.tuple(version, more).map(([a, b]) => ({ ...a, ...b }));
    there(detail, wire.toSkillDetail, wire.SkillDetailAnswer, wire.fromSkillDetail);
    const published = version.map(skill => ({ skill, created: true, warnings: [] }));
    there(published, wire.toPublished, wire.PublishedAnswer, wire.fromPublished);
  });

  it('differences', () => {
    const state = fc.option(fc.record({ size: count, executable: fc.boolean(), digest: text }), { nil: null });
    const line = fc.record({
      kind: fc.constantFrom('same' as const, 'added' as const, 'removed' as const),
      text,
      ended: fc.boolean(),
    });
    const hunk = fc.record({
      oldStart: count,
      oldLines: count,
      newStart: count,
      newLines: count,
      lines: fc.array(line, { maxLength: 4 }),
    });
    const content = fc.oneof(
      fc.record({ kind: fc.constant('text' as const), hunks: fc.array(hunk, { maxLength: 3 }), minimal: fc.boolean() }),
      fc.constantFrom({ kind: 'same' as const }, { kind: 'binary' as const }, { kind: 'large' as const }),
    );
    const change = fc.constantFrom('added' as const, 'removed' as const, 'changed' as const, 'mode' as const);
    const files = fc.array(fc.record({ path: text, change, before: state, after: state, content }), { maxLength: 3 });
    const kind = fc.constantFrom('added' as const, 'removed' as const, 'changed' as const);
    const fields = fc.array(fc.record({ field: text, change: kind, before: json, after: json }), { maxLength: 2 });
    const diff = fc.record({ equal: fc.boolean(), fields, files });
    there(diff, each => wire.toDiff('n', '1', '2', each), wire.DiffAnswer, wire.fromDiff);
  });

  it('people and what they said', () => {
    const scopes = fc.uniqueArray(fc.constantFrom('read' as const, 'run' as const, 'admin' as const));
    there(
      fc.record({ tenant: text, id: text, scopes, expiresAt: timeOrNull }),
      wire.toWhoAmI,
      wire.WhoAmIAnswer,
      wire.fromWhoAmI,
    );
    const key = fc.record({
      id: text,
      tenant: text,
      name: text,
      scopes,
      createdAt: time,
      createdBy: text,
      expiresAt: timeOrNull,
      lastUsedAt: timeOrNull,
      revokedAt: timeOrNull,
    });
    there(key, wire.toKey, wire.KeyAnswer, wire.fromKey);
    const secret = fc.record({
      name: text,
      kind: text,
      hosts: texts,
      version: count,
      createdAt: time,
      changedAt: time,
      usedAt: timeOrNull,
    });
    there(secret, wire.toSecret, wire.SecretAnswer, wire.fromSecret);
    const quotas = fc.record({ running: count, queued: count, storageBytes: count, requestsPerMinute: count });
    const usage = fc.record({ running: count, queued: count, storageBytes: count });
    there(
      fc.record({ name: text, createdAt: time, disabledAt: timeOrNull, quotas, usage }),
      wire.toTenant,
      wire.TenantAnswer,
      wire.fromTenant,
    );
    const given = fc.record({
      id: text,
      answer: fc.constantFrom(...wire.ANSWERS),
      by: text,
      channel: text,
      createdAt: time,
      expiresAt: timeOrNull,
      revokedAt: timeOrNull,
      skill: fc.record({ name: text, version: textOrNull, digest: text }),
      target: text,
    });
    there(given, wire.toGiven, wire.GivenAnswerAnswer, wire.fromGiven);
    const entry = fc.record({
      chain: text,
      seq: count,
      time,
      type: text,
      actor: fc.record({ id: text, channel: text }),
      subject: textOrNull,
      data: object,
      prev: text,
      hash: text,
    });
    there(entry, wire.toEntry, wire.AuditEntryAnswer, wire.fromEntry);
    fc.assert(
      fc.property(fc.record({ running: count, storageBytes: count }, { requiredKeys: [] }), each => {
        expect(wire.toQuotas(wire.fromQuotas(each))).toEqual(each);
      }),
    );
  });

  it('requests', () => {
    const target: fc.Arbitrary<RunTarget> = fc.oneof(
      fc.constant({ kind: 'main' as const }),
      fc.record({
        kind: fc.constant('tool' as const),
        name: fc.string({ minLength: 1, maxLength: 20 }),
        arguments: object,
      }),
      fc.record({
        kind: fc.constant('script' as const),
        path: fc.string({ minLength: 1, maxLength: 20 }),
        arguments: texts,
      }),
    );
    const fields = {
      skill: fc.string({ minLength: 1, maxLength: 20 }),
      version: fc.option(fc.constantFrom('1.0.0', '^1', 'stable'), { nil: null }),
      target,
      input: json,
      stdin: textOrNull,
      env: textMap,
      timeoutMs: fc.option(fc.integer({ min: 1, max: 1000 }), { nil: null }),
    };
    const capabilities = fc.array(fc.constantFrom('custom/a', 'openai/*'), { minLength: 1, maxLength: 3 });
    const request: fc.Arbitrary<StartRequest> = fc.oneof(fc.record(fields), fc.record({ ...fields, capabilities }));
    there(request, wire.fromStartRequest as never, wire.ExecutionRequest, wire.toStartRequest as never);
  });

  it('what the published clients can say and this server cannot do is refused by name', () => {
    for (const extra of [{ input_files: ['a'] }, { entrypoint: 'x.py' }, { session_id: 's' }]) {
      expect(() => wire.toStartRequest({ skill: 'a', ...extra })).toThrow(SkillboxError);
      expect(() => wire.toStartRequest({ skill: 'a', ...extra })).toThrow(Object.keys(extra)[0] ?? '');
    }
  });
});
