import type { Command } from './command.ts';

/** Every command by its words; each is loaded only when it is called. */
export const COMMANDS: Readonly<Record<string, { summary: string; load: () => Promise<Command> }>> = {
  run: { summary: 'run a skill in a sandbox', load: async () => (await import('./commands/run.ts')).runCommand },
  add: { summary: 'install skills for your agents', load: async () => (await import('./commands/add.ts')).add },
  install: {
    summary: 'restore exactly what skills.lock says',
    load: async () => (await import('./commands/install.ts')).install,
  },
  verify: {
    summary: 'compare installed skills with skills.lock',
    load: async () => (await import('./commands/verify.ts')).verify,
  },
  list: { summary: 'list installed skills', load: async () => (await import('./commands/list.ts')).list },
  outdated: {
    summary: 'say which installed skills have changed at their source',
    load: async () => (await import('./commands/update.ts')).outdated,
  },
  update: {
    summary: 'take what the sources have now, after showing the difference',
    load: async () => (await import('./commands/update.ts')).update,
  },
  remove: {
    summary: 'take installed skills away',
    load: async () => (await import('./commands/remove.ts')).remove,
  },
  'agents list': {
    summary: 'list the agents on this machine',
    load: async () => (await import('./commands/agents.ts')).agentsList,
  },
  'agents install': {
    summary: 'give agents the skills and the Skillbox server',
    load: async () => (await import('./commands/agents.ts')).agentsInstall,
  },
  'agents remove': {
    summary: 'take them out again',
    load: async () => (await import('./commands/agents.ts')).agentsRemove,
  },
  'exec list': { summary: 'list runs', load: async () => (await import('./commands/exec.ts')).execList },
  'exec show': {
    summary: 'show a run and its result',
    load: async () => (await import('./commands/exec.ts')).execShow,
  },
  'exec logs': { summary: 'print what a run printed', load: async () => (await import('./commands/exec.ts')).execLogs },
  'exec cancel': { summary: 'cancel a run', load: async () => (await import('./commands/exec.ts')).execCancel },
  'approve list': {
    summary: 'list what waits for an answer, and answers',
    load: async () => (await import('./commands/approve.ts')).approveList,
  },
  'approve show': {
    summary: 'show what a waiting run asks',
    load: async () => (await import('./commands/approve.ts')).approveShow,
  },
  'approve allow': {
    summary: 'allow a waiting run, and run it',
    load: async () => (await import('./commands/approve.ts')).approveAllow,
  },
  'approve deny': {
    summary: 'deny a waiting run',
    load: async () => (await import('./commands/approve.ts')).approveDeny,
  },
  'approve revoke': {
    summary: 'take back an answer',
    load: async () => (await import('./commands/approve.ts')).approveRevoke,
  },
  'approve reset': {
    summary: 'forget every answer',
    load: async () => (await import('./commands/approve.ts')).approveReset,
  },
  'audit list': {
    summary: 'show what happened',
    load: async () => (await import('./commands/audit-list.ts')).auditList,
  },
  'audit verify': {
    summary: 'check the journal',
    load: async () => (await import('./commands/audit.ts')).auditVerify,
  },
  'audit checkpoint': {
    summary: 'sign where the journal stands',
    load: async () => (await import('./commands/audit.ts')).auditCheckpoint,
  },
  'audit export': {
    summary: 'print the journal for other programs',
    load: async () => (await import('./commands/audit-export.ts')).auditExport,
  },
  'audit rotate': {
    summary: 'move old entries into a sealed file',
    load: async () => (await import('./commands/audit.ts')).auditRotate,
  },
  'image import': {
    summary: 'unpack an image that skills may run in',
    load: async () => (await import('./commands/image.ts')).imageImport,
  },
  'image list': { summary: 'list images', load: async () => (await import('./commands/image.ts')).imageList },
  'image remove': { summary: 'remove an image', load: async () => (await import('./commands/image.ts')).imageRemove },
  'config check': {
    summary: 'check the configuration',
    load: async () => (await import('./commands/config.ts')).configCheck,
  },
  'config show': {
    summary: 'show every setting and where it comes from',
    load: async () => (await import('./commands/config.ts')).configShow,
  },
  'policy check': {
    summary: 'check a policy file',
    load: async () => (await import('./commands/policy.ts')).policyCheck,
  },
  'policy explain': {
    summary: 'say which rule decides about a skill',
    load: async () => (await import('./commands/policy.ts')).policyExplain,
  },
  'policy show': {
    summary: 'show the rules in force',
    load: async () => (await import('./commands/policy.ts')).policyShow,
  },
  'trust add': {
    summary: 'vouch for a folder, an archive or a publisher',
    load: async () => (await import('./commands/trust.ts')).trustAdd,
  },
  'trust list': { summary: 'list what you trust', load: async () => (await import('./commands/trust.ts')).trustList },
  'trust remove': {
    summary: 'vouch for something no longer',
    load: async () => (await import('./commands/trust.ts')).trustRemove,
  },
  'secret set': {
    summary: 'store a secret',
    load: async () => (await import('./commands/secret.ts')).secretSet,
  },
  'secret list': {
    summary: 'list secrets, never their values',
    load: async () => (await import('./commands/secret.ts')).secretList,
  },
  'secret rotate': {
    summary: 'give a secret a new value',
    load: async () => (await import('./commands/secret.ts')).secretRotate,
  },
  'secret remove': {
    summary: 'remove a secret',
    load: async () => (await import('./commands/secret.ts')).secretRemove,
  },
  'secret rekey': {
    summary: 'put all secrets under a new master key',
    load: async () => (await import('./commands/secret.ts')).secretRekey,
  },
  'key create': { summary: 'make an API key', load: async () => (await import('./commands/key.ts')).keyCreate },
  'key list': { summary: 'list API keys', load: async () => (await import('./commands/key.ts')).keyList },
  'key revoke': { summary: 'revoke an API key', load: async () => (await import('./commands/key.ts')).keyRevoke },
  'key rotate': {
    summary: 'give an API key a new secret',
    load: async () => (await import('./commands/key.ts')).keyRotate,
  },
  'tenant create': {
    summary: 'make a tenant',
    load: async () => (await import('./commands/tenant.ts')).tenantCreate,
  },
  'tenant list': { summary: 'list tenants', load: async () => (await import('./commands/tenant.ts')).tenantList },
  'tenant update': {
    summary: "change a tenant's quotas, or shut it out",
    load: async () => (await import('./commands/tenant.ts')).tenantUpdate,
  },
  'provider list': {
    summary: 'list providers and their capabilities',
    load: async () => (await import('./commands/provider.ts')).providerList,
  },
  'provider show': {
    summary: 'show what the capabilities of a provider stand for',
    load: async () => (await import('./commands/provider.ts')).providerShow,
  },
  'provider add': {
    summary: 'add a provider of your own',
    load: async () => (await import('./commands/provider.ts')).providerAdd,
  },
  'provider test': {
    summary: 'check that a provider can be used',
    load: async () => (await import('./commands/provider.ts')).providerTest,
  },
  'provider remove': {
    summary: 'remove a provider of your own',
    load: async () => (await import('./commands/provider.ts')).providerRemove,
  },
  catalog: {
    summary: 'print the skills for a model',
    load: async () => (await import('./commands/catalog.ts')).catalog,
  },
  'catalog why': {
    summary: 'say what a name stands for in the catalog',
    load: async () => (await import('./commands/catalog-why.ts')).catalogWhy,
  },
  serve: {
    summary: 'serve skills to a team over HTTP',
    load: async () => (await import('./commands/serve.ts')).serveCommand,
  },
  mcp: {
    summary: 'serve skills to an agent over MCP',
    load: async () => (await import('./commands/mcp.ts')).mcpCommand,
  },
  activate: {
    summary: 'print what a model reads of a skill',
    load: async () => (await import('./commands/activate.ts')).activate,
  },
  'skill init': {
    summary: 'write a new skill',
    load: async () => (await import('./commands/skill-init.ts')).skillInit,
  },
  'skill lint': { summary: 'check skills', load: async () => (await import('./commands/skill-lint.ts')).skillLint },
  'skill scan': {
    summary: 'look for what a skill should not hold',
    load: async () => (await import('./commands/skill-scan.ts')).skillScan,
  },
  'skill test': {
    summary: 'test a skill: lint, scan, scripts, examples, queries',
    load: async () => (await import('./commands/skill-test.ts')).skillTest,
  },
  'skill show': {
    summary: 'show what Skillbox understands of a skill',
    load: async () => (await import('./commands/skill-show.ts')).skillShow,
  },
  'skill package': {
    summary: 'pack a skill into a zip',
    load: async () => (await import('./commands/skill-package.ts')).skillPackage,
  },
  'skill push': {
    summary: 'publish a skill',
    load: async () => (await import('./commands/skill-push.ts')).skillPush,
  },
  'skill list': {
    summary: 'list published skills',
    load: async () => (await import('./commands/skill-published.ts')).skillList,
  },
  'skill versions': {
    summary: 'list the versions of a published skill',
    load: async () => (await import('./commands/skill-published.ts')).skillVersions,
  },
  'skill download': {
    summary: 'fetch a published skill as it was published',
    load: async () => (await import('./commands/skill-published.ts')).skillDownload,
  },
  'skill yank': {
    summary: 'withdraw a published version',
    load: async () => (await import('./commands/skill-yank.ts')).skillYank,
  },
  'skill tag': {
    summary: 'give a published version a tag',
    load: async () => (await import('./commands/skill-yank.ts')).skillTag,
  },
  'skill convert': {
    summary: 'write a skill in another dialect',
    load: async () => (await import('./commands/skill-convert.ts')).skillConvert,
  },
  'skill diff': {
    summary: 'compare two skills',
    load: async () => (await import('./commands/skill-diff.ts')).skillDiff,
  },
  gc: {
    summary: 'remove old runs and what no run has used for long',
    load: async () => (await import('./commands/gc.ts')).gc,
  },
  doctor: {
    summary: 'say what this machine can hold',
    load: async () => (await import('./commands/doctor.ts')).doctor,
  },
};
