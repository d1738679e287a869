// ANTHROPIC_API_KEY=… node examples/agents/anthropic.ts "How many words has: to be or not to be"
import Anthropic from '@anthropic-ai/sdk';
import { openSkillbox, toolsFor } from 'skillbox';

const skillbox = await openSkillbox();
const { tools, dispatch } = await toolsFor(skillbox, { format: 'anthropic', workspace: process.cwd() });
const model = process.env.MODEL ?? 'claude-sonnet-5-5';
const client = new Anthropic();
const messages: Anthropic.MessageParam[] = [{ role: 'user', content: process.argv[2] ?? '' }];
for (;;) {
  const { content } = await client.messages.create({ model, messages, tools, max_tokens: 4096 });
  messages.push({ role: 'assistant', content });
  const calls = content.filter(block => block.type === 'tool_use');
  if (calls.length === 0) {
    for (const block of content) if (block.type === 'text') console.log(block.text);
    break;
  }
  messages.push({ role: 'user', content: await Promise.all(calls.map(dispatch)) });
}
await skillbox.close();
