import { mkdirSync, mkdtempSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import Anthropic from '@anthropic-ai/sdk';
import { asSchema, createGateway, generateText, stepCountIs } from 'ai';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { functionsOf, type LocalDesk } from '../../src/agent/index.ts';
import { openDesk } from '../support/mcp.ts';
import { startModel } from '../support/model-stub.ts';
import { EXAMPLES, NO_SANDBOX } from '../support/skillbox.ts';
import { tempDirectory, writeFiles } from '../temp.ts';

const temp = tempDirectory();
let desk: LocalDesk;
let close: () => Promise<void>;

beforeAll(async () => {
  const base = realpathSync(mkdtempSync(join(temp, 'case-')));
  mkdirSync(join(base, 'home'));
  const strange = join(base, 'strange');
  writeFiles(join(strange, 'stranger'), {
    'SKILL.md': '---\nname: stranger\nversion: 1.0.0\ndescription: Nobody knows it.\nlang: bash\n---\nText.\n',
    'scripts/main.sh*': 'echo \'{"ran":true}\' > "$SANDBOX_OUTPUT"\n',
  });
  const opened = await openDesk({
    dataDirectory: join(base, 'data'),
    home: join(base, 'home'),
    dirs: [strange],
    bundled: [EXAMPLES],
  });
  desk = opened.desk;
  close = async () => {
    opened.watched.close();
    await opened.skillbox.close();
  };
});

afterAll(() => close());

describe('AS-12: the shapes', () => {
  test('OpenAI: names, schemas and a message for each call', async () => {
    const { tools, dispatch } = await functionsOf(desk, { format: 'openai' });
    const checked: OpenAI.ChatCompletionTool[] = tools;
    expect(checked).toContainEqual(
      expect.objectContaining({ type: 'function', function: expect.objectContaining({ name: 'git_log' }) }),
    );
    for (const { function: each } of tools) expect(each.name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    const message: OpenAI.ChatCompletionMessageParam = await dispatch({
      id: 'c1',
      function: { name: 'activate_skill', arguments: '{"name":"word-count"}' },
    });
    expect(message).toMatchObject({ role: 'tool', tool_call_id: 'c1' });
    expect(message.content).toHaveLength(2);
    const wrong = await dispatch({ id: 'c2', function: { name: 'activate_skill', arguments: '{"name"' } });
    expect(wrong.content[0]?.text).toContain('INVALID_CALL');
    const unknown = await dispatch({ id: 'c3', function: { name: 'rm_rf', arguments: '{}' } });
    expect(unknown.content[0]?.text).toContain('NOT_FOUND');
  });

  test('a format that there is not is told with those that there are', async () => {
    const options = JSON.parse('{"format":"gemini"}');
    await expect(functionsOf(desk, options)).rejects.toMatchObject({
      code: 'USAGE',
      hint: expect.stringContaining('anthropic'),
    });
    await expect(functionsOf(desk, options)).rejects.toThrow('"gemini"');
  });

  test('Anthropic: names, schemas and a block for each call', async () => {
    const { tools, dispatch } = await functionsOf(desk, { format: 'anthropic' });
    const checked: Anthropic.Tool[] = tools;
    expect(checked.map(({ name }) => name)).toContain('run_skill');
    for (const { input_schema: schema } of tools) expect(schema.type).toBe('object');
    const block: Anthropic.ToolResultBlockParam = await dispatch({
      id: 't1',
      name: 'activate_skill',
      input: { name: 'none' },
    });
    expect(block).toMatchObject({ type: 'tool_result', tool_use_id: 't1', is_error: true });
  });

  test('AI SDK: schemas that the package reads', async () => {
    const { tools } = await functionsOf(desk, { format: 'ai-sdk' });
    const schema = asSchema(tools.activate_skill?.inputSchema);
    expect(await schema.jsonSchema).toMatchObject({ type: 'object', properties: { name: { type: 'string' } } });
    expect(Object.getPrototypeOf(tools)).toBeNull();
  });
});

describe.skipIf(NO_SANDBOX)('the real packages against a model at the wire', () => {
  const calls = [{ name: 'run_skill', input: { skill: 'word-count', input: { text: 'a b c' } } }];

  test('OpenAI', async () => {
    const model = await startModel(calls);
    const client = new OpenAI({ apiKey: 'none', baseURL: `${model.url}/v1` });
    const { tools, dispatch } = await functionsOf(desk, { format: 'openai' });
    const first = await client.chat.completions.create({
      model: 'stub',
      messages: [{ role: 'user', content: '?' }],
      tools,
    });
    const [call] = first.choices[0]?.message.tool_calls ?? [];
    if (call?.type !== 'function') throw new Error('no call');
    const answer = await dispatch(call);
    expect(answer.content[1]?.text).toContain('"words": 3');
    expect(model.requests[0]?.tools).toHaveLength(tools.length);
    await model.close();
  });

  test('Anthropic', async () => {
    const model = await startModel(calls);
    const client = new Anthropic({ apiKey: 'none', baseURL: model.url });
    const { tools, dispatch } = await functionsOf(desk, { format: 'anthropic' });
    const messages: Anthropic.MessageParam[] = [{ role: 'user', content: '?' }];
    const { content } = await client.messages.create({ model: 'stub', max_tokens: 9, messages, tools });
    const [call] = content;
    if (call?.type !== 'tool_use') throw new Error('no call');
    expect(await dispatch(call)).toMatchObject({ is_error: false });
    await model.close();
  });

  test('AI SDK', async () => {
    const model = await startModel(calls);
    const { tools } = await functionsOf(desk, { format: 'ai-sdk' });
    const gateway = createGateway({ apiKey: 'none', baseURL: model.url });
    const { text } = await generateText({ model: gateway('stub'), prompt: '?', tools, stopWhen: stepCountIs(3) });
    expect(text).toContain('words');
    expect(model.requests).toHaveLength(2);
    await model.close();
  });
});

describe.skipIf(NO_SANDBOX)('approvals by the program', () => {
  const run = async (approve?: () => Promise<boolean | null>) => {
    const { dispatch } = await functionsOf(desk, { format: 'ai-sdk', ...(approve ? { approve } : {}) });
    return dispatch('run_skill', { skill: 'stranger' });
  };

  test('nobody to ask: it waits', async () => {
    expect(await run()).toMatchObject({ isError: false, data: { status: 'waiting' } });
  });

  test('yes runs it, no denies it, and no answer leaves it waiting', async () => {
    expect(await run(async () => true)).toMatchObject({ data: { status: 'success', output: { ran: true } } });
    expect(await run(async () => false)).toMatchObject({ isError: true, data: { status: 'failed' } });
    expect(await run(async () => null)).toMatchObject({ data: { status: 'waiting' } });
  });
});
