// AI_GATEWAY_API_KEY=… node examples/agents/ai-sdk.ts "How many words has: to be or not to be"
import { createGateway, generateText, stepCountIs } from 'ai';
import { openSkillbox, toolsFor } from 'skillbox';

const skillbox = await openSkillbox();
const { tools } = await toolsFor(skillbox, { format: 'ai-sdk', workspace: process.cwd() });
const baseURL = process.env.AI_GATEWAY_BASE_URL;
const gateway = createGateway(baseURL === undefined ? {} : { baseURL });
const { text } = await generateText({
  model: gateway(process.env.MODEL ?? 'openai/gpt-5-mini'),
  prompt: process.argv[2] ?? '',
  tools,
  stopWhen: stepCountIs(20),
});
console.log(text);
await skillbox.close();
