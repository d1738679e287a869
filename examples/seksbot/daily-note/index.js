// Asks a model for a note; the broker adds the real key on the way out.
const fs = require('node:fs');

async function main() {
  const response = await fetch(`${process.env.ANTHROPIC_BASE_URL}/v1/messages`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'anthropic-version': '2023-06-01',
      'x-api-key': process.env.SEKS_AGENT_TOKEN,
    },
    body: JSON.stringify({
      model: 'claude-haiku-4-5',
      max_tokens: 300,
      messages: [{ role: 'user', content: `Write a note of at most five sentences about this day:\n${process.env.SEKS_SKILL_TASK}` }],
    }),
  });
  if (!response.ok) throw new Error(`the broker answered ${response.status}`);
  const answer = await response.json();
  fs.writeFileSync(process.env.SANDBOX_OUTPUT, JSON.stringify({ note: answer.content[0].text }));
}

main().catch(error => {
  console.error(error.message);
  process.exit(1);
});
