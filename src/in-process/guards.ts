import { describeWrong, openAudit } from '../audit/index.ts';
import { type JsonObject, SkillboxError } from '../base/index.ts';
import { describeExplained, explainRun, historyOf } from '../runs/index.ts';
import type { AuditService, PolicyService, ProviderService, SecretService } from '../service/index.ts';
import { limitOf, readSeq, toPage } from './pages.ts';
import type { Member, ServiceParts } from './parts.ts';

export function createPolicyService(parts: ServiceParts, caller: Member): PolicyService {
  const { machine, published } = parts;
  return {
    async explain({ skill: name, version, target }) {
      const { skill, folder } = await published.open(caller, name, version);
      try {
        const { judge, offLimits, sandbox } = machine;
        const explained = await explainRun(
          { judge, caller, offLimits, isolated: sandbox.name !== 'process' },
          { skill, folder, target: nameOf(target), workspace: null },
          wish => historyOf(machine.answersOf(caller.tenant), wish, folder.origin.path, machine.providers),
        );
        return describeExplained(skill, explained) as JsonObject;
      } finally {
        folder.close();
      }
    },
  };
}

function nameOf(target: Parameters<PolicyService['explain']>[0]['target']): string | null {
  if (target === null || target.kind === 'main') return null;
  return target.kind === 'tool' ? target.name : target.path;
}

/** No tenant needs more, and each is read when the master key changes. */
const MAX_SECRETS = 1000;

/** Secrets of one tenant; never a value. */
export function createSecretService({ parts }: ServiceParts, caller: Member): SecretService {
  const desk = parts.secrets.secretsOf(caller.tenant);
  return {
    list: () => desk.list(),
    async set(name, value, hosts) {
      const known = await desk.list();
      if (known.length >= MAX_SECRETS && !known.some(secret => secret.name === name))
        throw new SkillboxError('QUOTA_EXCEEDED', `a tenant keeps at most ${MAX_SECRETS} secrets`);
      const bytes = Buffer.from(value, 'utf8');
      try {
        return await desk.set(name, bytes, hosts, caller.actor);
      } finally {
        bytes.fill(0);
      }
    },
    remove: name => desk.remove(name, caller.actor),
  };
}

export function createProviderService({ parts }: ServiceParts): ProviderService {
  return {
    list: async () =>
      parts.secrets.providers.list().map(({ name, origin, host, endpoints }) => ({
        name,
        origin,
        host,
        capabilities: endpoints.map(endpoint => `${name}/${endpoint.name}`),
      })),
  };
}

/** The chain of one tenant. */
export function createAuditService({ machine }: ServiceParts, { tenant }: Member): AuditService {
  const { journal } = machine.store;
  return {
    async list({ types, subject, since, ...paging }) {
      const limit = limitOf(paging);
      const filter = {
        types,
        subject,
        sinceMs: since,
        untilMs: null,
        tenants: [tenant],
        beforeSeq: readSeq(paging.after),
      };
      const { entries } = await journal.list(filter, limit + 1);
      return toPage(
        entries.toReversed().map(({ tenant: _own, ...entry }) => entry),
        limit,
        ({ seq }) => String(seq),
      );
    },
    async verify() {
      const { wrong, entries } = await openAudit(journal, '').verifyTenant(tenant);
      return {
        ok: wrong === null,
        entries,
        wrong: wrong === null ? null : { ...wrong, message: describeWrong(wrong) },
      };
    },
  };
}
