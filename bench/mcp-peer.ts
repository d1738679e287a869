// Beside ours: the official server of files over MCP, which a model reads SKILL.md with where there is no server of skills.
// It knows nothing of skills: no names, no trust, no journal, so it is what the protocol and a read cost at least.
//
// Another server of skills could not be measured. mcp-skills 0.2.0 starts and lists its tools, but reads no directory: every call
// starts the program ccpm, which asks a registry on the internet, and @daymade/ccpm is not to be had. The other servers that public
// documentation names (skills-mcp, @codemcp/agentskills, @skilljack/mcp, agent-skill-loader; for Python skillz, skill-to-mcp,
// agentskills-mcp-server) were not in the package indexes that the bench was written with.
import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { median, printTable, quiet } from './measure.ts';

const BENCH = { name: 'bench', version: '1.0.0' };
const ROUNDS = 20;

type Call = { name: string; arguments: Record<string, unknown> };
type Side = { name: string; client: Client; read: (skill: string) => Call };

/** Round trips of both in the same run, in turns. `ours`: our server on the same skills. */
export async function benchPeer(skills: string, ours: StdioClientTransport): Promise<void> {
  const sides: Side[] = [
    {
      name: 'skillbox mcp, activate_skill',
      client: await connect(ours),
      read: name => ({ name: 'activate_skill', arguments: { name } }),
    },
    {
      name: 'server-filesystem, read_text_file',
      client: await connect(fileServer(skills)),
      read: name => ({ name: 'read_text_file', arguments: { path: join(skills, name, 'SKILL.md') } }),
    },
  ];
  const names = readdirSync(skills).filter(name => !name.startsWith('.'));
  const list = sides.map((): number[] => []);
  const read = sides.map((): number[] => []);
  // The first round makes things ready. Lists come first: after each the client compiles the schemas of what it calls anew, which
  // takes it longer than either server takes to answer.
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [at, side] of sides.entries()) {
      const listed = await timeOf(() => side.client.listTools());
      if (round > 0) list[at]?.push(listed);
    }
  }
  // Each skill is read once: a second time ours would only say that it was.
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [at, side] of sides.entries()) {
      const got = await timeOf(() => readSkill(side, names[round] ?? ''));
      if (round > 0) read[at]?.push(got);
    }
  }
  for (const { client } of sides) await client.close();
  const show = (times: number[] | undefined) => median(times ?? []).toFixed(2);
  printTable(
    `${names.length} skills over stdio, beside a server of files (median of ${ROUNDS}, in turns)`,
    ['', 'tools/list, ms', 'tools/call that reads a skill, ms'],
    sides.map(({ name }, at) => [name, show(list[at]), show(read[at])]),
  );
}

async function connect(transport: StdioClientTransport): Promise<Client> {
  const client = new Client(BENCH);
  await client.connect(transport);
  return client;
}

function fileServer(skills: string): StdioClientTransport {
  const manifest = createRequire(import.meta.url).resolve('@modelcontextprotocol/server-filesystem/package.json');
  return new StdioClientTransport({
    command: process.execPath,
    args: [join(dirname(manifest), 'dist/index.js'), skills],
    env: quiet() as Record<string, string>,
    stderr: 'ignore',
  });
}

async function readSkill({ client, read, name }: Side, skill: string): Promise<void> {
  const answer = await client.callTool(read(skill));
  // A refusal would be fast.
  if (answer.isError === true || !JSON.stringify(answer.content).includes(skill)) throw new Error(`${name}: ${skill}`);
}

async function timeOf(call: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await call();
  return performance.now() - begun;
}
