import { createHash } from 'node:crypto';
import type { CatalogTool } from '../catalog/index.ts';
import type { Desk } from './desk.ts';
import { copyTool, fileTools } from './file-tools.ts';
import { getRun, runSkill, skillTool } from './run-tools.ts';
import type { Offered } from './shelf.ts';
import { activate, listSkills, readResource } from './skill-tools.ts';
import type { AgentTool } from './tool.ts';

export type Tools = ReadonlyMap<string, AgentTool>;

const known = new WeakMap<Desk, { of: Offered; tools: Tools }>();

/** Everything that an agent may call now, by name; the same object as long as nothing has changed. */
export async function toolsOf(desk: Desk): Promise<Tools> {
  const offered = await desk.shelf.offered();
  const before = known.get(desk);
  if (before?.of === offered) return before.tools;
  const tools = buildTools(offered, desk);
  known.set(desk, { of: offered, tools });
  return tools;
}

function buildTools(offered: Offered, desk: Desk): Tools {
  const toolNames = new Map<string, string[]>();
  const use = activate(offered);
  const read = readResource(offered);
  const run = runSkill(offered);
  const files = desk.own === null ? [] : [copyTool(offered, desk.own), ...fileTools(desk.own)];
  const own = [listSkills(offered, toolNames), use, read, run, getRun(), ...files];
  if (desk.workspaceNames) {
    own.push({ ...use, name: 'skill' }, { ...read, name: 'skill_resource' }, { ...run, name: 'skill_script' });
  }
  const tools = new Map(own.map(tool => [tool.name, tool]));
  for (const tool of offered.tools) {
    const name = freeName(tool, tools);
    tools.set(name, skillTool(tool, name));
    toolNames.set(tool.skill, [...(toolNames.get(tool.skill) ?? []), name]);
  }
  return tools;
}

const NAME = /^[A-Za-z0-9_-]{1,64}$/;
/** Ours, whether they are offered here or not: no skill gets them. */
const RESERVED = new Set([
  'skill',
  'skill_resource',
  'skill_script',
  'copy_skill_file',
  'file_read',
  'file_write',
  'file_edit',
]);

/** A skill cannot take a name of ours, nor one that a client would refuse: it then gets one made of its own and its folder's. */
function freeName({ name, skill, tool, folder }: CatalogTool, taken: Tools): string {
  if (NAME.test(name) && !taken.has(name) && !RESERVED.has(name)) return name;
  const mark = createHash('sha256').update(`${folder}\0${tool}`).digest('hex').slice(0, 8);
  const plain = `${skill}__${tool}`.replace(/[^A-Za-z0-9_-]/g, '_');
  return `${plain.slice(0, 55)}_${mark}`;
}
