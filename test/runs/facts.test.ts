import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Call, invokeSkill, readSkill } from '../../src/dialects/index.ts';
import { refuseDashed } from '../../src/runs/check-call.ts';
import { type RunFacts, toPolicyRequest } from '../../src/runs/index.ts';
import { openFolder, type Skill } from '../../src/skill/index.ts';
import { EXAMPLES, PROBES, script, tool } from '../support/skillbox.ts';

async function skillAt(path: string): Promise<Skill> {
  const folder = await openFolder(path);
  const { skill } = readSkill(folder, { mode: 'lenient', dialect: null });
  folder.close();
  if (skill === null) throw new Error(path);
  return skill;
}

const toCall = (target: Call['target']): Call => ({ target, input: {}, stdin: null, mode: 'Global', callerEnv: {} });

function factsOf(skill: Skill, target: Call['target'], more: Partial<RunFacts> = {}) {
  const call = toCall(target);
  return toPolicyRequest({
    skill,
    digest: 'd1',
    call,
    invocation: invokeSkill(skill, call),
    workspace: '/home/me/project',
    paths: [],
    isolated: true,
    vouched: { trust: 'user', publisher: null, why: '' },
    ...more,
  });
}

describe('the wish of a run', () => {
  test('GB-20 a tool: its name, read_only and always_ask, and a workspace that a read_only tool cannot write', async () => {
    const git = await skillAt(join(EXAMPLES, 'gibberish/git'));
    expect(factsOf(git, tool('git_log'))).toEqual({
      trust: 'user',
      dialect: 'gibberish',
      skill: { name: 'git', version: git.version, digest: 'd1' },
      publisher: null,
      target: { kind: 'tool', name: 'git_log' },
      readOnly: true,
      alwaysAsk: false,
      grant: {
        network: { kind: 'none' },
        secrets: [],
        workspace: { path: '/home/me/project', writable: false },
        paths: [],
        isolated: true,
      },
    });
    const needs = { ...git.needs, readOnly: false, alwaysAsk: true };
    expect(factsOf({ ...git, needs }, tool('git_log'))).toMatchObject({
      readOnly: false,
      alwaysAsk: true,
      grant: { workspace: { writable: true } },
    });
  });

  test('GB-21 network false is none; true is a wish for any public address', async () => {
    const git = await skillAt(join(EXAMPLES, 'gibberish/git'));
    const open = { ...git, needs: { ...git.needs, network: 'open' as const } };
    expect(factsOf(open, tool('git_log')).grant.network).toEqual({ kind: 'public' });
  });

  test('the broker with its capabilities, sorted and once each; no workspace where the dialect mounts none', async () => {
    const weather = await skillAt(join(EXAMPLES, 'seksbot/weather-lookup'));
    const needs = { ...weather.needs, secrets: ['custom/b', 'custom/a', 'custom/b'] };
    expect(factsOf({ ...weather, needs }, { kind: 'main' }).grant).toEqual({
      network: { kind: 'broker' },
      secrets: ['custom/a', 'custom/b'],
      workspace: null,
      paths: [],
      isolated: true,
    });
  });

  test('what the caller gives is beside what the skill declares, and goes through the broker', async () => {
    const git = await skillAt(join(EXAMPLES, 'gibberish/git'));
    const given = ['openai/chat.completions', 'anthropic/messages.create', 'openai/chat.completions'];
    expect(factsOf(git, tool('git_log'), { given }).grant).toMatchObject({
      network: { kind: 'broker' },
      secrets: ['anthropic/messages.create', 'openai/chat.completions'],
    });
    const weather = await skillAt(join(EXAMPLES, 'seksbot/weather-lookup'));
    expect(factsOf(weather, { kind: 'main' }, { given }).grant.secrets).toEqual([
      'anthropic/messages.create',
      'custom/openweathermap-api-key',
      'openai/chat.completions',
    ]);
    // Whoever judges is told which of them nothing of the skill asks for.
    expect(factsOf(weather, { kind: 'main' }, { given: [...given, ...weather.needs.secrets] }).given).toEqual(given);
    expect(factsOf(weather, { kind: 'main' }).given).toBeUndefined();
    expect(factsOf(git, tool('git_log'), { given: [] }).grant).toMatchObject({
      network: { kind: 'none' },
      secrets: [],
    });
  });

  test('a script is one file, however it is called; a workspace it can write', async () => {
    const json = await skillAt(join(EXAMPLES, 'workspace/json-tools'));
    const [short, long] = [factsOf(json, script('flatten.ts')), factsOf(json, script('scripts/flatten.ts'))];
    expect(short).toEqual(long);
    expect(short.target).toEqual({ kind: 'script', name: 'scripts/flatten.ts' });
    expect(short.grant.workspace).toEqual({ path: '/home/me/project', writable: true });
    expect(factsOf(json, script('flatten.ts'), { workspace: null }).grant.workspace).toBeNull();
  });

  test('a command is all of its words, so that no two read the same', async () => {
    const note = await skillAt(join(EXAMPLES, 'seksbot/daily-note'));
    const name = (...argv: string[]) => factsOf(note, { kind: 'command', argv }).target.name;
    expect(name('ls', '-l', 'a b')).toBe('ls -l "a b"');
    expect(name('ls', '-l', 'a', 'b')).not.toBe(name('ls', '-l', 'a b'));
    expect(name('ls', '"a"')).not.toBe(name('ls', 'a'));
  });

  test('who vouches, and whether anything isolates', async () => {
    const git = await skillAt(join(EXAMPLES, 'gibberish/git'));
    const vouched = { trust: 'untrusted' as const, publisher: 'acme', why: '' };
    expect(factsOf(git, tool('git_log'), { vouched, isolated: false })).toMatchObject({
      trust: 'untrusted',
      publisher: 'acme',
      grant: { isolated: false },
    });
  });
});

test('GB-09 a strict policy refuses a value that the program could take for an option', async () => {
  const probe = await skillAt(join(PROBES, 'tool-probe'));
  const words = (...list: string[]) => toCall(tool('report', { words: list }));
  expect(() => refuseDashed(probe, words('a', '-rf'))).toThrow('the value of "words" begins with "-"');
  expect(() => refuseDashed(probe, words('a', './-rf'))).not.toThrow();
});
