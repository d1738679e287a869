import { createHash } from 'node:crypto';
import { type JsonObject, SkillboxError, shape, visibleLine } from '../../base/index.ts';
import type { Bytes, Run, RunTarget, Service, SkillDetail, StartRequest } from '../../service/index.ts';
import type { Parameter, ParameterType, Tool } from '../../skill/index.ts';
import type { Input } from '../command.ts';
import { downloadFrom, downloadTarget } from '../download.ts';
import { orInterrupted } from '../interrupted.ts';
import type { OnServer } from '../on-server.ts';
import { type Callable, type Called, readCall } from '../run-request.ts';
import type { FilesIn } from '../run-result.ts';
import { splitName } from '../skill-name.ts';
import { onlyHere } from './only-here.ts';
import { showRemotePlan } from './plan.ts';
import { readAs } from './read-as.ts';
import { followRemote, reportRemote } from './run-report.ts';
import { sameServer } from './same-server.ts';

/** `skillbox run NAME[@VERSION]` on a server. */
export const runThere: OnServer = async (service, input, io) => {
  const word = input.args[0] ?? '';
  refuseLocal(word, input);
  const { name, wanted } = splitName(word);
  const skill = await orInterrupted(service.skills.describe(name, wanted), io);
  const request = toStart(skill, await readCall(toCallable(skill), input, io));
  const json = input.flag('json');
  const target = downloadTarget(input, io);
  if (input.flag('dry-run')) return showRemotePlan(await orInterrupted(service.runs.plan(request), io), json, io);
  const started = await service.runs.start(request, { idempotencyKey: null });
  const run = await followRemote(service, started, json, io, sameServer(input));
  const filesIn = target === null ? null : await fetchFiles(service, run, target);
  return reportRemote(service, run, json, io, filesIn, sameServer(input));
};

/** Each file is compared with the digest that the run recorded. */
export async function fetchFiles({ runs }: Service, run: Run, directory: string): Promise<FilesIn> {
  return downloadFrom(run, directory, async ({ path, bytes, sha256 }) =>
    whole((await runs.artifact(run.id, path)).content, { path, bytes, sha256 }),
  );
}

/** Threat: what has no end would be written until the disk is full. */
async function* whole(content: Bytes, { path, bytes, sha256 }: Run['artifacts'][number]): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256');
  let left = bytes;
  for await (const part of content) {
    left -= part.length;
    if (left < 0) break;
    hash.update(part);
    yield part;
  }
  if (left !== 0 || hash.digest('hex') !== sha256)
    throw new SkillboxError('SOURCE_FAILED', `${visibleLine(path)} did not arrive as it was stored`);
}

/** What a server cannot know, or may not be told, of this machine. */
function refuseLocal(word: string, input: Input): void {
  if (/[/\\]|^\.{0,2}$|\.zip$/i.test(word)) {
    throw new SkillboxError(
      'USAGE',
      `${visibleLine(word)} is on this machine, and the server runs what is published there`,
      {
        hint: `Publish it with \`skillbox skill push ${visibleLine(word)}\`, then run it by its name.`,
      },
    );
  }
  for (const option of ['workspace', 'sandbox', 'dialect']) {
    if (input.value(option) !== null) throw onlyHere(option, 'runs');
  }
  if (input.values('path').length > 0) throw onlyHere('path', 'runs');
  if (input.flag('yes'))
    throw new SkillboxError('USAGE', '--yes is for runs on this machine', {
      hint: 'On a server somebody else answers: skillbox approve list.',
    });
}

function toStart(
  { name, version }: SkillDetail,
  { target, input, env, timeoutMs, capabilities }: Called,
): StartRequest {
  return { skill: name, version, target: toTarget(target), input, stdin: null, env, timeoutMs, capabilities };
}

function toTarget(target: Called['target']): RunTarget {
  if (target.kind !== 'command') return target;
  throw new SkillboxError('USAGE', 'a server runs no command that is given by the caller', {
    hint: 'Name a script of the skill, or leave out what stands after --.',
  });
}

function toCallable({ name, dialect, tools, scripts }: SkillDetail): Callable {
  return { name, dialect, tools: tools.map(toTool), scripts: scripts.map(path => ({ path })) };
}

type Property = { type?: ParameterType | undefined; description?: string | undefined };
const PROPERTY = shape.fields<Property>({
  type: shape.optional(shape.oneOf(['string', 'integer', 'number', 'boolean', 'array'])),
  description: shape.optional(shape.text),
});
const SCHEMA = shape.fields<{ properties?: Record<string, Property> | undefined; required?: string[] | undefined }>({
  properties: shape.optional(shape.mapOf(PROPERTY)),
  required: shape.optional(shape.listOf(shape.text)),
});

/** Of a tool on a server only its schema is known: enough to read arguments from a command line. */
function toTool({ name, description, parameters }: SkillDetail['tools'][number]): Tool {
  const { properties = {}, required = [] } = readAs(SCHEMA, parameters as JsonObject);
  const read = Object.entries(properties).map(
    ([own, { type = 'string', description: about = '' }]): Parameter => ({
      name: own,
      type,
      description: about,
      required: required.includes(own),
      default: null,
    }),
  );
  return { name, description, parameters: read, command: [], template: '', line: 0 };
}
