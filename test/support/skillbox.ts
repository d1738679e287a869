import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { buildHelper } from '../../scripts/build-helper.mjs';
import {
  createSkillbox,
  type LogEntry,
  type RunRecord,
  type RunRequest,
  type Skillbox,
  type SkillboxOptions,
  type StartHooks,
} from '../../src/app.ts';
import { type Call, readSkill } from '../../src/dialects/index.ts';
import { type DialectName, openFolder } from '../../src/skill/index.ts';
import { writeFiles } from '../temp.ts';
import { tempDir } from './temp.ts';

export const EXAMPLES = join(import.meta.dirname, '../../examples');
export const PROBES = join(import.meta.dirname, '../fixtures/skills');

const missing = existsSync('/usr/bin/bwrap') ? null : 'bubblewrap is not installed';
if (missing !== null && (process.env.SKILLBOX_REQUIRE ?? '').split(',').includes('bubblewrap'))
  throw new Error(missing);
/** Whether these tests cannot run here: bubblewrap is missing and not required. */
export const NO_SANDBOX = missing !== null;

/** A Skillbox in this process. Docker is that of test/support/drivers. */
export function openSkillbox(
  dataDirectory: string,
  sandbox: 'bubblewrap' | 'docker' = 'bubblewrap',
  warm = 0,
  broker: SkillboxOptions['broker'] = { pins: [], roots: [] },
  pip: string | null = null,
  changes: Partial<SkillboxOptions> = {},
): Promise<Skillbox> {
  return createSkillbox({ ...optionsOf(dataDirectory, sandbox, warm, broker, pip), ...changes });
}

/** What a Skillbox of tests is made with. */
export function optionsOf(
  dataDirectory: string,
  sandbox: 'bubblewrap' | 'docker' = 'bubblewrap',
  warm = 0,
  broker: SkillboxOptions['broker'] = { pins: [], roots: [] },
  pip: string | null = null,
): SkillboxOptions {
  buildHelper();
  return {
    dataDirectory,
    search: [dirname(process.execPath)],
    sandbox,
    docker: {
      socket: process.env.SKILLBOX_DOCKER_SOCKET ?? '/var/run/docker.sock',
      defaultImage: process.env.SKILLBOX_DOCKER_IMAGE ?? 'skillbox-test',
      runtime: null,
    },
    warm,
    spares: 0,
    allowProcess: false,
    dependencies: { indexes: { pip, npm: null, hosts: [] }, allow: { sources: false, scripts: false } },
    allowedImages: null,
    masterKey: { kind: 'own', path: join(dataDirectory, 'master.key') },
    broker,
    policy: { userPolicy: join(dataDirectory, 'policy.yaml'), directory: null, bundled: [EXAMPLES], own: [] },
  };
}

export type Wish = {
  target?: Call['target'];
  input?: Call['input'];
  stdin?: string;
  callerEnv?: Record<string, string>;
  signal?: AbortSignal;
  onState?: (record: RunRecord) => void;
  ask?: StartHooks['ask'];
  trusted?: boolean;
  /** As `--dialect` says it. */
  dialect?: DialectName;
  onChunk?: (stream: LogEntry['stream'], chunk: Buffer) => void;
} & Partial<Pick<RunRequest, 'env' | 'workspace' | 'timeoutMs' | 'capabilities'>>;

/** A person at a terminal who allows whatever is asked, this once. */
export const sayOnce: StartHooks['ask'] = async () => ({ answer: 'once', channel: 'terminal', by: 'tester' });

/**
 * Runs a skill of the user's own as `skillbox run` would: its folder is trusted, and where a person is asked they say yes once.
 * `ask: null` is for tests of what happens when nobody can be asked; `trusted: false` trusts nothing beforehand.
 */
export async function runSkill(skillbox: Skillbox, path: string, wish: Wish = {}): Promise<RunRecord> {
  // What ships with Skillbox is trusted as that, not as the user's.
  if (wish.trusted !== false && !path.startsWith(EXAMPLES)) await skillbox.trust.add(path, '/');
  const folder = await openFolder(path);
  try {
    const { skill, diagnostics } = readSkill(folder, { mode: 'lenient', dialect: wish.dialect ?? null });
    if (skill === null) throw new Error(`${path} cannot be read: ${JSON.stringify(diagnostics)}`);
    const request: RunRequest = {
      skill,
      folder,
      call: {
        target: wish.target ?? { kind: 'main' },
        input: wish.input ?? {},
        stdin: wish.stdin ?? null,
        mode: 'Global',
        callerEnv: wish.callerEnv ?? {},
      },
      env: wish.env ?? {},
      workspace: wish.workspace ?? null,
      timeoutMs: wish.timeoutMs ?? null,
      capabilities: wish.capabilities ?? [],
    };
    return await skillbox.run(request, {
      signal: wish.signal ?? null,
      onState: record => wish.onState?.(record),
      onChunk: (stream, chunk) => wish.onChunk?.(stream, chunk),
      onBuild: () => undefined,
      ask: wish.ask === undefined ? sayOnce : wish.ask,
    });
  } finally {
    folder.close();
  }
}

export const script = (path: string, ...args: string[]): Call['target'] => ({ kind: 'script', path, arguments: args });
export const tool = (
  name: string,
  args: Record<string, string | number | boolean | string[]> = {},
): Call['target'] => ({
  kind: 'tool',
  name,
  arguments: args,
});

export async function logOf(skillbox: Skillbox, { id }: RunRecord): Promise<{ stream: string; text: string }[]> {
  const { entries } = await skillbox.readLogs(id, 0);
  return entries.map(({ stream, bytes }) => ({ stream, text: bytes.toString('utf8') }));
}

export const textOf = async (skillbox: Skillbox, record: RunRecord): Promise<string> =>
  (await logOf(skillbox, record)).map(({ text }) => text).join('');

/** A skillbox skill made for one test: `body` is its entrypoint. */
export function newSkill(lang: 'bash' | 'python' | 'node', body: string, frontmatter = ''): string {
  const name = { bash: 'main.sh', python: 'main.py', node: 'main.js' }[lang];
  const path = tempDir('skill', 0o755);
  return writeFiles(path, {
    'SKILL.md': `---\nname: probe\nversion: 1.0.0\ndescription: made for a test\nlang: ${lang}\n${frontmatter}---\nbody\n`,
    [`scripts/${name}`]: body,
  });
}
