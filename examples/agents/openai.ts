// OPENAI_API_KEY=… node examples/agents/openai.ts "How many words has: to be or not to be"
import OpenAI from 'openai';
import { openSkillbox, toolsFor } from 'skillbox';

const skillbox = await openSkillbox();
const { tools, dispatch } = await toolsFor(skillbox, { format: 'openai', workspace: process.cwd() });
const model = process.env.MODEL ?? 'gpt-5-mini';
const client = new OpenAI();
const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: process.argv[2] ?? '' }];
for (;;) {
  const { choices } = await client.chat.completions.create({ model, messages, tools });
  const message = choices[0]?.message;
  if (message === undefined) break;
  messages.push(message);
  if (!message.tool_calls?.length) {
    console.log(message.content);
    break;
  }
  for (const call of message.tool_calls) if (call.type === 'function') messages.push(await dispatch(call));
}
await skillbox.close();
