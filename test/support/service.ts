import { operator } from '../../src/callers/index.ts';
import {
  IN_PROCESS_DEFAULTS,
  type InProcess,
  type InProcessOptions,
  openInProcess,
} from '../../src/in-process/index.ts';
import { openParts } from '../../src/parts.ts';
import { type Published, SCOPES, type Service, type StartRequest } from '../../src/service/index.ts';
import { makeZip } from '../skill/make-zip.ts';
import { TESTER } from './events.ts';
import { bytesOf } from './record.ts';
import { optionsOf } from './skillbox.ts';
import { tempDir } from './temp.ts';

export type TestService = InProcess & {
  data: string;
  /** What went wrong without anybody being told. */
  warnings: string[];
  /** What somebody of the tenant can do; another name is another key. */
  as(tenant: string, who?: string): Service;
};

/** The services of this process on a data directory, with these tenants. */
export async function openService(
  tenants: readonly string[] = ['one', 'two'],
  options: Partial<InProcessOptions> & { data?: string; warm?: number } = {},
): Promise<TestService> {
  const data = options.data ?? tempDir('service');
  const warnings: string[] = [];
  const parts = options.parts ?? openParts(optionsOf(data, 'bubblewrap', options.warm ?? 0));
  const warn = (message: string, error: unknown) => void warnings.push(`${message}: ${String(error)}`);
  const opened = await openInProcess({ ...IN_PROCESS_DEFAULTS, parts, warn, ...options });
  const keeper = operator(TESTER);
  const known = await opened.callers.tenantsFor(keeper).list({ limit: 100, after: null });
  for (const name of tenants)
    if (!known.items.some(each => each.name === name)) await opened.callers.tenantsFor(keeper).create(name, {});
  return {
    ...opened,
    data,
    warnings,
    as: (tenant, who = 'key-1') =>
      opened.serviceFor({
        tenant,
        id: `${tenant}/${who}`,
        key: who,
        scopes: [...SCOPES],
        expiresAt: null,
        requestsPerMinute: 1000,
      }),
  };
}

type Made = { name?: string; version?: string; lang?: 'bash' | 'python' | 'node'; body: string; frontmatter?: string };

/** The zip of a skill that was made for one test. */
export function zipOf({ name = 'probe', version = '1.0.0', lang = 'bash', body, frontmatter = '' }: Made): Buffer {
  const main = { bash: 'main.sh', python: 'main.py', node: 'main.js' }[lang];
  const head = [
    `name: ${name}`,
    `version: ${version}`,
    'description: Made for a test. Use when asked.',
    `lang: ${lang}`,
  ];
  return makeZip([
    { name: 'SKILL.md', content: `---\n${head.join('\n')}\n${frontmatter}---\n\nDo as you are told.\n` },
    { name: `scripts/${main}`, content: body },
  ]);
}

export async function publish(service: Service, made: Made): Promise<Published> {
  return service.skills.publish(bytesOf(zipOf(made)), { tags: [], version: null });
}

/** The zip of a skill whose tool is shown to a person: before each run, or until somebody says always. */
export function askingZip(name: string, eachTime = true): Buffer {
  const head = `---\nname: ${name}\nversion: 1.0.0\ndescription: Made for a test. Use when asked.\nmodes: [Global]\nalways_ask: ${eachTime}\n---\n`;
  const table =
    '| Name | Type | Required | Description |\n|------|------|----------|-------------|\n| word | string | yes | What to say. |';
  return makeZip([
    {
      name: 'SKILL.md',
      content: `${head}\n### say\n\nSay a word.\n\n#### Parameters\n\n${table}\n\n#### Command\n\n\`\`\`bash\necho {{word}}\n\`\`\`\n`,
    },
  ]);
}

/** The request to run a skill's entrypoint. */
export const startOf = (skill: string, changes: Partial<StartRequest> = {}): StartRequest => ({
  skill,
  version: null,
  target: { kind: 'main' },
  input: {},
  stdin: null,
  env: {},
  timeoutMs: null,
  ...changes,
});
