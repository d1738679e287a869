import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type JsonValue, SkillboxError } from '../../src/base/index.ts';
import { openFolder } from '../../src/skill/index.ts';
import { readEvals, readExamples, readTriggers } from '../../src/skilltest/index.ts';
import { tempDirectory, writeFiles } from '../temp.ts';

const SKILL = '---\nname: probe\ndescription: Does a thing. Use when asked.\n---\n\nDo it.\n';
const root = tempDirectory();
let count = 0;

type Read<T> = (folder: Awaited<ReturnType<typeof openFolder>>) => T;

async function reading<T>(file: string, content: string | null, read: Read<T>): Promise<T> {
  const files = { 'SKILL.md': SKILL, ...(content === null ? {} : { [`evals/${file}`]: content }) };
  const folder = await openFolder(writeFiles(`${root}/${++count}`, files));
  try {
    return read(folder);
  } finally {
    folder.close();
  }
}

const triggers = (content: string | null) => reading('triggers.json', content, readTriggers);
const examples = (content: string | null) => reading('examples.json', content, readExamples);
const evals = (content: string | null) => reading('evals.json', content, readEvals);

describe('the files in evals/', () => {
  test('that are not there are null, not an empty list', async () => {
    expect([await triggers(null), await examples(null), await evals(null)]).toEqual([null, null, null]);
    expect([await triggers('[]'), await examples('[]'), await evals('{"evals":[]}')]).toEqual([[], [], []]);
  });

  test('are read as they are documented', async () => {
    expect(await triggers('\ufeff[{"query":"count words","should_trigger":true}]')).toEqual([
      { query: 'count words', shouldTrigger: true },
    ]);
    expect(await examples('[{"target":"a.py","args":["x"],"expect":{"exit_code":3,"output":{"a":1}}}]')).toEqual([
      {
        target: 'a.py',
        input: undefined,
        args: ['x'],
        params: {},
        expect: { status: 'failed', exitCode: 3, output: { a: 1 } },
      },
    ]);
    const entry = '{"id":7,"prompt":"Hi?","expected_output":"hello","must_include":["you"],"files":[]}';
    const one = { id: '7', prompt: 'Hi?', mustInclude: ['hello', 'you'] };
    expect(await evals(`[${entry}]`)).toEqual([one]);
    expect(await evals(`{"skill_name":"probe","evals":[${entry}]}`)).toEqual([one]);
  });

  test.each([
    ['no JSON', triggers, '[{', 'evals/triggers.json: is not JSON'],
    ['no list', triggers, '{}', 'evals/triggers.json: must be a list'],
    ['no object', triggers, '[1]', 'evals/triggers.json, entry 1: must be an object'],
    ['a missing query', triggers, '[{"should_trigger":true}]', '"query" is missing'],
    ['a word for a flag', triggers, '[{"query":"a","should_trigger":"no"}]', '"should_trigger" must be true or false'],
    ['a misspelt field', triggers, '[{"query":"a","shouldTrigger":true}]', 'unknown field "shouldTrigger"'],
    ['nothing expected', examples, '[{"args":[]}]', 'entry 1: "expect" is missing'],
    ['an odd status', examples, '[{"expect":{"status":"fine"}}]', 'entry 1, expect: "status" must be one of success'],
    ['an odd code', examples, '[{"expect":{"exit_code":1.5}}]', '"exit_code" must be a number'],
    ['args that are no texts', examples, '[{"args":[1],"expect":{}}]', '"args" must be a list of texts'],
    ['an empty prompt', evals, '[{"prompt":" "}]', '"prompt" must be a text that is not empty'],
    ['an expectation that all fit', evals, '[{"prompt":"a","must_include":[" "]}]', 'an empty text'],
    ['too many', triggers, JSON.stringify(Array(501).fill({})), '500 are the most'],
    ['too much', triggers, `[${' '.repeat(1024 ** 2)}]`, '1048576 are the most'],
  ])('with %s are refused, and the fault is placed', async (_name, read, content, message) => {
    const error = await read(content).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(SkillboxError);
    expect(error).toMatchObject({ code: 'INVALID_EVALS', message: expect.stringContaining(message) });
  });

  test('of any JSON give entries or that error, and nothing else', async () => {
    const field = fc.constantFrom('query', 'should_trigger', 'prompt', 'expect', 'args', 'must_include', '__proto__');
    const entry = fc.dictionary(field, fc.jsonValue() as fc.Arbitrary<JsonValue>);
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.json(),
          fc.array(entry).map(list => JSON.stringify(list)),
        ),
        async content => {
          for (const read of [triggers, examples, evals]) {
            const result = await read(content).catch((thrown: unknown) => thrown);
            expect(Array.isArray(result) || (result instanceof SkillboxError && result.code === 'INVALID_EVALS')).toBe(
              true,
            );
          }
        },
      ),
      { numRuns: 60 },
    );
  });
});
