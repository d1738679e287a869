import { createHash } from 'node:crypto';
import { type ErrorCode, newId, SkillboxError } from '../../src/base/index.ts';
import type {
  Answer,
  AuditEntry,
  GivenAnswer,
  KeyInfo,
  LogLine,
  Page,
  Paging,
  Quotas,
  Run,
  RunEvent,
  SecretInfo,
  Service,
  SkillDetail,
  SkillVersion,
  StartRequest,
  TenantInfo,
  WhoAmI,
} from '../../src/service/index.ts';

type FakeRun = Run & { lines: LogLine[]; request: StartRequest; key: string | null; files: Map<string, Buffer> };
type FakeTenant = {
  skills: Map<string, { skill: SkillDetail; archive: Buffer }>;
  runs: Map<string, FakeRun>;
  answers: Map<string, GivenAnswer>;
  secrets: Map<string, SecretInfo>;
  keys: Map<string, KeyInfo>;
  audit: AuditEntry[];
};

const sha = (bytes: Uint8Array | string) => createHash('sha256').update(bytes).digest('hex');
const missing = (what: string) => new SkillboxError('NOT_FOUND', `there is no ${what}`);
async function* one(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** A service of plain maps, for tests of what stands before it. Skills called `wait-*` wait for a person, `slow-*` run on. */
export class FakeWorld {
  readonly tenants = new Map<string, FakeTenant>();
  readonly known = new Map<string, TenantInfo>();
  /** Thrown by every method while it is set. */
  fault: { code: ErrorCode; details?: Record<string, unknown> } | null = null;
  /** Files arrive other than they are stored. */
  corrupt = false;
  /** What was really called, by tenant. */
  readonly calls: string[] = [];

  tenant(name: string): FakeTenant {
    const known = this.tenants.get(name) ?? {
      skills: new Map(),
      runs: new Map(),
      answers: new Map(),
      secrets: new Map(),
      keys: new Map(),
      audit: [],
    };
    this.tenants.set(name, known);
    return known;
  }

  serviceFor(caller: WhoAmI): Service {
    const service = createFake(this, this.tenant(caller.tenant), caller);
    const parts = Object.entries(service).map(([name, part]) => [
      name,
      guarded(this, `${caller.tenant} ${name}`, part),
    ]);
    return Object.fromEntries(parts) as unknown as Service;
  }

  /** Ends a run that goes on. */
  end(tenant: string, id: string, change: Partial<Run> = {}): void {
    const run = this.tenant(tenant).runs.get(id);
    if (run === undefined) return;
    const logBytes = run.lines.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
    Object.assign(run, { state: 'success', endedAt: Date.now(), exitCode: 0, logBytes, ...change });
  }

  /** As with real runs, the log is measured when the run ends. */
  print(tenant: string, id: string, text: string): void {
    this.tenant(tenant).runs.get(id)?.lines.push({ stream: 'stdout', timeMs: Date.now(), text });
  }
}

function guarded(world: FakeWorld, name: string, part: unknown): unknown {
  const check = (method: string) => {
    world.calls.push(`${name}.${method}`);
    if (world.fault !== null)
      throw new SkillboxError(world.fault.code, 'as the test wants it', { details: world.fault.details ?? {} });
  };
  if (typeof part === 'function') {
    return async (...args: unknown[]) => {
      check('');
      return part(...args);
    };
  }
  const methods = Object.entries(part as Record<string, (...args: unknown[]) => unknown>);
  return Object.fromEntries(
    methods.map(([method, run]) => [
      method,
      method === 'follow'
        ? (...args: unknown[]) => {
            check(method);
            return run(...args);
          }
        : async (...args: unknown[]) => {
            check(method);
            return run(...args);
          },
    ]),
  );
}

function pageOf<T>(all: T[], { limit, after }: Paging): Page<T> {
  const start = after === null ? 0 : Number(after);
  if (!Number.isInteger(start)) throw new SkillboxError('USAGE', 'there is no such part');
  return { items: all.slice(start, start + limit), next: start + limit < all.length ? String(start + limit) : null };
}

function createFake(world: FakeWorld, tenant: FakeTenant, caller: WhoAmI): Service {
  const note = (type: string, subject: string) => {
    const seq = tenant.audit.length + 1;
    const actor = { id: caller.id, channel: 'api' };
    const entry = {
      chain: caller.tenant,
      seq,
      time: Date.now(),
      type,
      actor,
      subject,
      data: {},
      prev: '',
      hash: sha(type),
    };
    tenant.audit.unshift(entry);
  };
  const findSkill = (name: string, wanted: string | null) => {
    const all = [...tenant.skills.values()].filter(({ skill }) => skill.name === name);
    const found = all.find(({ skill }) =>
      wanted === null ? skill.yanked === null : skill.version === wanted || skill.tags.includes(wanted),
    );
    if (found === undefined) throw missing(`skill "${name}"`);
    return found;
  };
  const findRun = (id: string): FakeRun => {
    const run = tenant.runs.get(id);
    if (run === undefined) throw missing(`run "${id}"`);
    return run;
  };
  const plain = ({ lines: _lines, request: _request, key: _key, files: _files, ...run }: FakeRun): Run => run;
  const artifactOf = (id: string, path: string | null): { artifact: Run['artifacts'][number]; bytes: Buffer } => {
    const run = findRun(id);
    const bytes = run.files.get(path ?? '');
    if (bytes === undefined) throw missing(`file "${path}"`);
    return { artifact: { path: path ?? 'files.tar.gz', bytes: bytes.length, sha256: sha(bytes) }, bytes };
  };
  const findKey = (id: string): KeyInfo => {
    const key = tenant.keys.get(id);
    if (key === undefined) throw missing(`key "${id}"`);
    return key;
  };
  const service: Service = {
    skills: {
      async publish(archive, { tags, version }) {
        const parts: Uint8Array[] = [];
        for await (const part of archive) parts.push(part);
        const bytes = Buffer.concat(parts);
        const text = bytes.toString();
        if (!text.startsWith('skill ')) throw new SkillboxError('INVALID_SKILL', 'this is no skill');
        const [, name = '', given = ''] = text.split('\n')[0]?.split(' ') ?? [];
        const skill = fakeSkill(name, version ?? given, bytes, [...tags], caller.id);
        const known = tenant.skills.get(`${name}@${skill.version}`);
        if (known !== undefined && known.skill.digest !== skill.digest)
          throw new SkillboxError('VERSION_EXISTS', 'other bytes are published under this version');
        if (known === undefined) tenant.skills.set(`${name}@${skill.version}`, { skill, archive: bytes });
        note('skill.published', name);
        return { skill: known?.skill ?? skill, created: known === undefined, warnings: [] };
      },
      async list({ query, tag, ...paging }) {
        const all = [...tenant.skills.values()].map(({ skill }) => skill).filter(skill => skill.yanked === null);
        const matching = all.filter(
          skill => (query === null || skill.description.includes(query)) && (tag === null || skill.tags.includes(tag)),
        );
        return pageOf<SkillVersion>(matching, paging);
      },
      async versions(name) {
        const all = [...tenant.skills.values()].filter(({ skill }) => skill.name === name).map(({ skill }) => skill);
        if (all.length === 0) throw missing(`skill "${name}"`);
        return all.toReversed();
      },
      resolve: async (name, wanted) => findSkill(name, wanted).skill,
      describe: async (name, wanted) => findSkill(name, wanted).skill,
      async download(name, wanted) {
        const { skill, archive } = findSkill(name, wanted);
        return { skill, content: one(archive) };
      },
      async file(name, wanted, path) {
        const { archive } = findSkill(name, wanted);
        if (path !== 'SKILL.md') throw missing(`file "${path}"`);
        return { path, bytes: archive.length, sha256: sha(archive), content: one(archive) };
      },
      async yank(name, version, reason) {
        const { skill } = findSkill(name, version);
        skill.yanked = { at: Date.now(), reason };
        return skill;
      },
      async unyank(name, version) {
        const { skill } = findSkill(name, version);
        skill.yanked = null;
        return skill;
      },
      async tag(name, tag, version) {
        if (tag === 'latest') throw new SkillboxError('USAGE', 'latest is nobody’s to give');
        const { skill } = findSkill(name, version);
        skill.tags = [...skill.tags, tag];
        return skill;
      },
      async untag(name, tag) {
        const { skill } = findSkill(name, tag);
        skill.tags = skill.tags.filter(each => each !== tag);
      },
      async diff(name, from, to) {
        findSkill(name, from);
        findSkill(name, to);
        const lines = [
          { kind: 'removed' as const, text: 'old', ended: true },
          { kind: 'added' as const, text: 'new', ended: true },
        ];
        const state = { size: 3, executable: false, digest: sha('x') };
        const hunk = { oldStart: 1, oldLines: 1, newStart: 1, newLines: 1, lines };
        const content = { kind: 'text' as const, hunks: [hunk], minimal: true };
        const change = { path: 'SKILL.md', change: 'changed' as const, before: state, after: state, content };
        return { equal: false, fields: [], files: [change] };
      },
    },
    runs: {
      async start(request, { idempotencyKey }) {
        const known = [...tenant.runs.values()].find(run => idempotencyKey !== null && run.key === idempotencyKey);
        if (known !== undefined) {
          if (JSON.stringify(known.request) !== JSON.stringify(request))
            throw new SkillboxError('IDEMPOTENCY_MISMATCH', 'the key was used for another request');
          return plain(known);
        }
        const { skill } = findSkill(request.skill, request.version);
        const run = fakeRun(skill, request, caller.id, idempotencyKey);
        tenant.runs.set(run.id, run);
        note('run.created', run.id);
        return plain(run);
      },
      async plan(request) {
        const { skill } = findSkill(request.skill, request.version);
        return { skill: skill.name, verdict: 'allow' };
      },
      async wait(id, { timeoutMs, signal }) {
        const until = Date.now() + (timeoutMs ?? 60_000);
        for (;;) {
          const run = findRun(id);
          if (run.endedAt !== null || run.state === 'waiting' || Date.now() > until) return plain(run);
          signal?.throwIfAborted();
          await new Promise(resolve => setTimeout(resolve, 5));
        }
      },
      get: async id => plain(findRun(id)),
      async list({ states, skill, since, ...paging }) {
        const all = [...tenant.runs.values()].filter(
          run =>
            (states === null || states.includes(run.state)) &&
            (skill === null || run.skill.name === skill) &&
            (since === null || run.createdAt >= since),
        );
        const page = pageOf(all.toReversed(), paging);
        return { items: page.items.map(run => ({ ...plain(run), output: null })), next: page.next };
      },
      async logs(id, offset) {
        const { lines, endedAt } = findRun(id);
        // Two at a time, so that whoever reads must come back.
        const part = lines.slice(offset, offset + 2);
        const next = Math.max(offset, Math.min(offset, lines.length) + part.length);
        return { lines: part, offset: next, complete: endedAt !== null && next >= lines.length };
      },
      async *follow(id, { offset, signal }): AsyncGenerator<RunEvent> {
        let state: string | null = null;
        for (let at = offset; ; ) {
          const run = findRun(id);
          if (run.state !== state) {
            state = run.state;
            if (run.endedAt === null) yield { kind: 'state', run: plain(run), offset: at };
          }
          for (; at < run.lines.length; ) {
            const line = run.lines[at] as LogLine;
            at++;
            yield { kind: 'log', line, offset: at };
          }
          if (run.endedAt !== null) {
            yield { kind: 'state', run: plain(run), offset: at };
            return;
          }
          if (signal?.aborted === true) return;
          await new Promise(resolve => setTimeout(resolve, 5));
        }
      },
      async cancel(id) {
        const run = findRun(id);
        if (run.endedAt !== null) return false;
        const error = { code: 'CANCELED', message: 'canceled' };
        Object.assign(run, { state: 'failed', endedAt: Date.now(), error });
        return true;
      },
      async artifact(id, path) {
        const { artifact, bytes } = artifactOf(id, path);
        return { artifact, content: one(world.corrupt ? Buffer.from(bytes).fill('x') : bytes) };
      },
      async artifactUrl(id, path, seconds) {
        const { artifact } = artifactOf(id, path);
        return `/v1/blobs/${artifact.sha256}?seconds=${seconds}`;
      },
    },
    approvals: {
      async waiting(paging) {
        return pageOf([...tenant.runs.values()].filter(({ state }) => state === 'waiting').map(plain), paging);
      },
      async question(id) {
        if (findRun(id).state !== 'waiting') throw new SkillboxError('NOT_WAITING', 'it does not wait');
        return { command: ['bash', 'main.sh'] };
      },
      async answer(id, answer: Answer) {
        const run = findRun(id);
        if (run.state !== 'waiting') throw new SkillboxError('NOT_WAITING', 'it does not wait');
        if (run.by === caller.id) throw new SkillboxError('ANSWER_REFUSED', 'you asked for it yourself');
        const denied = { state: 'failed', endedAt: Date.now(), ending: { kind: 'denied' } };
        Object.assign(run, answer.startsWith('deny') ? denied : { state: 'queued' });
        const given: GivenAnswer = {
          id: newId(Date.now()),
          answer,
          by: caller.id,
          channel: 'api',
          createdAt: Date.now(),
          expiresAt: null,
          revokedAt: null,
          skill: { name: run.skill.name, version: run.skill.version, digest: run.skill.digest },
          target: run.target,
        };
        tenant.answers.set(given.id, given);
        return plain(run);
      },
      answers: async paging => pageOf([...tenant.answers.values()], paging),
      async revoke(id) {
        const given = tenant.answers.get(id);
        if (given === undefined) throw missing(`answer "${id}"`);
        given.revokedAt = Date.now();
        return given;
      },
    },
    catalog: {
      async render({ format }) {
        const names = [...tenant.skills.values()].map(({ skill }) => skill.name);
        return format === 'xml' ? `<available_skills>${names.join(' ')}</available_skills>` : JSON.stringify(names);
      },
      async activate(name, version) {
        const { skill } = findSkill(name, version);
        return { name, version: skill.version, digest: skill.digest, text: skill.instructions, tokens: 3 };
      },
    },
    policy: {
      async explain({ skill, version }) {
        return { skill: findSkill(skill, version).skill.name, verdict: 'allow' };
      },
    },
    secrets: {
      list: async () => [...tenant.secrets.values()],
      async set(name, value, hosts) {
        if (!/^([A-Z][A-Z0-9_]*|custom\/[a-z-]+)$/.test(name) || value.includes('\n'))
          throw new SkillboxError('SECRET_INVALID', 'this is no name of a secret');
        const now = Date.now();
        const info = {
          name,
          kind: name.startsWith('custom/') ? 'custom' : 'provider',
          hosts: [...(hosts ?? [])],
          version: 1,
          createdAt: now,
          changedAt: now,
          usedAt: null,
        };
        tenant.secrets.set(name, info);
        return info;
      },
      async remove(name) {
        if (!tenant.secrets.delete(name)) throw missing(`secret "${name}"`);
      },
    },
    providers: {
      list: async () => [{ name: 'github', origin: 'shipped', host: 'api.github.com', capabilities: ['github/read'] }],
    },
    keys: {
      async create({ name, tenant: other, scopes, expiresAt }) {
        const target = other ?? caller.tenant;
        if (target !== caller.tenant && !world.known.has(target)) throw missing(`tenant "${target}"`);
        if (name === 'bad') throw new SkillboxError('USAGE', 'a key needs another name');
        const key: KeyInfo = {
          id: newId(Date.now()),
          tenant: target,
          name,
          scopes: [...scopes],
          createdAt: Date.now(),
          createdBy: caller.id,
          expiresAt,
          lastUsedAt: null,
          revokedAt: null,
        };
        world.tenant(target).keys.set(key.id, key);
        return { key, secret: `sbx_${key.id}_secret` };
      },
      async list({ tenant: other, ...paging }) {
        if (other !== null && other !== caller.tenant && !world.known.has(other)) throw missing(`tenant "${other}"`);
        return pageOf([...world.tenant(other ?? caller.tenant).keys.values()], paging);
      },
      async revoke(id) {
        const key = findKey(id);
        key.revokedAt = Date.now();
        return key;
      },
      async rotate(id) {
        if (findKey(id).revokedAt !== null) throw new SkillboxError('KEY_REVOKED', 'it was revoked');
        return { key: findKey(id), secret: `sbx_${id}_other` };
      },
    },
    tenants: {
      async create(name, quotas) {
        if (world.known.has(name)) throw new SkillboxError('EXISTS', 'there is such a tenant');
        if (!/^[a-z0-9-]+$/.test(name)) throw new SkillboxError('USAGE', 'a tenant needs another name');
        const all: Quotas = { running: 4, queued: 100, storageBytes: 1024 ** 3, requestsPerMinute: 600, ...quotas };
        const usage = { running: 0, queued: 0, storageBytes: 0 };
        const info: TenantInfo = { name, createdAt: Date.now(), disabledAt: null, quotas: all, usage };
        world.known.set(name, info);
        return info;
      },
      list: async paging => pageOf([...world.known.values()], paging),
      async update(name, { quotas, disabled }) {
        const info = world.known.get(name);
        if (info === undefined) throw missing(`tenant "${name}"`);
        Object.assign(info.quotas, quotas ?? {});
        if (disabled !== null) info.disabledAt = disabled ? Date.now() : null;
        return info;
      },
    },
    audit: {
      async list({ types, subject, since, ...paging }) {
        const fitting = tenant.audit.filter(
          entry =>
            (types === null || types.includes(entry.type)) &&
            (subject === null || entry.subject === subject) &&
            (since === null || entry.time >= since),
        );
        return pageOf(fitting, paging);
      },
      verify: async () => ({ ok: true, entries: tenant.audit.length, wrong: null }),
    },
    whoAmI: async () => caller,
    close: async () => {},
  };
  return service;
}

function fakeSkill(name: string, version: string, bytes: Buffer, tags: string[], by: string): SkillDetail {
  return {
    name,
    version,
    description: `does ${name}`,
    dialect: 'skillbox',
    digest: `sha256:${sha(bytes)}`,
    archive: { sha256: sha(bytes), bytes: bytes.length },
    publishedAt: Date.now(),
    publishedBy: by,
    yanked: null,
    tags,
    instructions: `# ${name}`,
    lang: name.includes('python') ? 'python' : null,
    image: null,
    tools: [{ name: 'count', description: 'counts', parameters: { type: 'object' }, readOnly: true, alwaysAsk: false }],
    scripts: ['main.sh'],
    files: [{ path: 'SKILL.md', bytes: bytes.length }],
    needs: { network: 'none', secrets: [] },
  };
}

function fakeRun(skill: SkillVersion, request: StartRequest, by: string, key: string | null): FakeRun {
  const now = Date.now();
  const waits = skill.name.startsWith('wait-');
  const slow = skill.name.startsWith('slow-');
  const fails = skill.name.startsWith('fail-');
  const ended = !waits && !slow;
  const file = Buffer.from('hello');
  const archive = Buffer.from('not really a tar.gz');
  const files =
    ended && !fails
      ? new Map([
          ['out/hello.html', file],
          ['', archive],
        ])
      : new Map<string, Buffer>();
  const text = 'one\ntwo\n';
  const lines: LogLine[] = ended
    ? ['one\n', 'two\n', 'three\n'].map(each => ({ stream: 'stdout', timeMs: now, text: each }))
    : [];
  return {
    id: newId(now),
    state: waits ? 'waiting' : slow ? 'running' : fails ? 'failed' : 'success',
    createdAt: now,
    startedAt: waits ? null : now,
    endedAt: ended ? now + 7 : null,
    skill: { name: skill.name, version: skill.version, digest: skill.digest, dialect: skill.dialect },
    target: request.target.kind,
    by,
    ending: ended ? { kind: 'exited', code: fails ? 3 : 0 } : null,
    exitCode: ended ? (fails ? 3 : 0) : null,
    output: ended && !fails ? { echo: request.input } : null,
    error: fails ? { code: 'EXIT_CODE', message: 'it ended with exit code 3' } : null,
    warnings: [],
    sandbox: { driver: 'bubblewrap', enforces: { network: 'none' }, runtime: 'bash 5' },
    decision: { verdict: waits ? 'ask' : 'allow', trust: 'known', rule: { id: 'default' }, reasons: [] },
    approval: null,
    artifacts: files.size === 0 ? [] : [{ path: 'out/hello.html', bytes: file.length, sha256: sha(file) }],
    archive: files.size === 0 ? null : { sha256: sha(archive), bytes: archive.length },
    usage: ended ? { cpuMs: 3, maxMemoryBytes: 1000 } : null,
    logBytes: ended ? text.length : 0,
    lines,
    request,
    key,
    files,
  };
}
