// Our side as a host of skills over MCP, as the published suite starts it: with the address of its server as the last word.
import { mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../fake-io.ts';

const url = process.argv.at(-1) ?? '';
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? '';
const at = mkdtempSync(join(tmpdir(), 'skillbox-host-'));
const project = join(at, 'project');
mkdirSync(join(project, '.git'), { recursive: true });
const env = { HOME: at, SKILLBOX_DATA_DIR: join(at, 'data') };
// One scenario looks at what a list does, the others at an installation.
const words = scenario.endsWith('no-prefetch') ? ['--list'] : ['--skill', 'pdf-processing', '--yes'];
const ran = await run(['add', `mcp+${url}`, ...words, '--json'], { cwd: project, env });
process.stdout.write(ran.out);
process.exitCode = ran.code;
