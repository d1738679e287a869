import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { SkillboxError } from '../base/index.ts';
import type { EgressRule } from '../egress/index.ts';
import type { Manager } from './manifest.ts';
import type { HostTool } from './tools.ts';

const call = promisify(execFile);
// Threat: the caller's directory may be a stranger's. `python -m` imports from it, npm reads its .npmrc.
const ELSEWHERE = { cwd: '/' };

/** What the operator configured; null leaves the choice to the tool's own configuration on this host. */
export type IndexSettings = {
  pip: string | null;
  npm: string | null;
  /** More hosts that the indexes serve files from: `files.example`, `files.example:8443`. */
  hosts: readonly string[];
};

export const DEFAULT_INDEXES: IndexSettings = { pip: null, npm: null, hosts: [] };

/** Where packages come from, and what a build may therefore reach. */
export type PackageIndex = { url: string; rules: EgressRule[] };

export async function resolveIndex(
  manager: Manager,
  settings: IndexSettings,
  tool: HostTool | null,
): Promise<PackageIndex> {
  const named = settings[manager];
  const { url, fileHosts } = named === null ? await askTool(manager, tool) : { url: named, fileHosts: [] };
  const rules = [ruleOf(parseIndexUrl(manager, url), named !== null)];
  for (const host of fileHosts) rules.push({ host, port: 443, private: false });
  for (const host of settings.hosts) rules.push(ruleOf(parseIndexUrl(manager, `https://${host}/`), true));
  return { url, rules };
}

export function parseIndexUrl(manager: Manager, text: string): URL {
  const bad = (why: string) =>
    new SkillboxError('USAGE', `the ${manager} index ${JSON.stringify(hideSecret(text))} ${why}`, {
      hint:
        manager === 'pip'
          ? 'Set SKILLBOX_PIP_INDEX_URL to an address like https://index.example/simple.'
          : 'Set SKILLBOX_NPM_REGISTRY to an address like https://registry.example/.',
    });
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw bad('is no URL');
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw bad('is neither http nor https');
  // The build's sandbox would see them, and with them whatever runs there.
  if (url.username !== '' || url.password !== '') throw bad('holds a user name or password');
  return url;
}

function ruleOf(url: URL, named: boolean): EgressRule {
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
  return { host: url.hostname.replace(/^\[|\]$/g, ''), port, private: named };
}

function hideSecret(text: string): string {
  return text.replace(/\/\/[^/@]*@/, '//***@');
}

/** pip knows where its own index keeps files; asked, because no host is to be written here. */
const PYTHON_DEFAULTS = `
import json
from pip._internal.models.index import PyPI
print(json.dumps([PyPI.simple_url, PyPI.file_storage_domain]))
`;

async function askTool(manager: Manager, tool: HostTool | null): Promise<{ url: string; fileHosts: string[] }> {
  try {
    if (tool === null) throw new Error('there is none');
    if (manager === 'npm')
      return {
        url: (await call(tool.program, [...tool.prefix, 'config', 'get', 'registry'], ELSEWHERE)).stdout.trim(),
        fileHosts: [],
      };
    const configured = pipIndexOf((await call(tool.program, [...tool.prefix, 'config', 'list'], ELSEWHERE)).stdout);
    const { stdout } = await call(tool.program, ['-I', '-c', PYTHON_DEFAULTS], ELSEWHERE);
    const [url, files] = JSON.parse(stdout) as [string, string];
    if (configured !== null && configured !== url) return { url: configured, fileHosts: [] };
    return { url, fileHosts: [files] };
  } catch (cause) {
    throw new SkillboxError('DEPENDENCIES_FAILED', `${manager} on this host does not say which index it uses`, {
      hint: `Install ${manager}, or set ${manager === 'pip' ? 'SKILLBOX_PIP_INDEX_URL' : 'SKILLBOX_NPM_REGISTRY'}.`,
      cause,
    });
  }
}

/**
 * Of `pip config list`, in pip's own order. Only the one index: with `extra-index-url` a name may come from either, and a
 * stranger who publishes a private package's name decides which.
 */
export function pipIndexOf(list: string): string | null {
  for (const section of [':env:.', 'download.', 'install.', 'global.']) {
    const line = list.split('\n').find(text => text.startsWith(`${section}index-url=`));
    const value = /=(['"])(.*)\1$/.exec(line?.trim() ?? '')?.[2];
    if (value !== undefined && value !== '') return value;
  }
  return null;
}
