type EventTypeEntry = {
  /** What happened, as one sentence for docs/audit.md. */
  what: string;
  /** The entry's subject. */
  subject: string;
  /** Every field that `data` may have, with its meaning. */
  data: Readonly<Record<string, string>>;
};

/** Every kind of event. What is not in this table cannot be written. */
export const EVENT_TYPES = {
  'catalog.changed': {
    what: 'Discovery found other skills than before.',
    subject: 'nothing',
    data: {
      added: 'names and folders',
      removed: 'names and folders',
      changed: 'names and folders of those whose entry or real folder is another one',
    },
  },
  'skill.activated': {
    what: "An agent was given a skill's instructions.",
    subject: "the skill's name",
    data: { digest: 'of the skill', dialect: 'its format', client: 'what asked for it' },
  },
  'skill.installed': {
    what: 'A skill is ready to be put in its place next, for the first time or in the place of other bytes.',
    subject: "the skill's name",
    data: {
      digest: 'of the skill',
      before: 'the digest that the lock had, or null',
      version: 'or null',
      source: 'where it came from',
      folder: 'where its stored copy lies',
      agents: 'for which it is put in place',
    },
  },
  'skill.removed': {
    what: 'An installed skill is taken away next.',
    subject: "the skill's name",
    data: { digest: 'of the skill', folder: 'where its stored copy lay' },
  },
  'skill.published': {
    what: 'A version of a skill was published.',
    subject: 'name@version',
    data: { digest: 'of the skill', archive: 'sha256 of the zip', publisher: 'who published it' },
  },
  'skill.yanked': {
    what: 'A published version was withdrawn.',
    subject: 'name@version',
    data: { digest: 'of the skill', reason: 'as given' },
  },
  'skill.unyanked': {
    what: 'A withdrawn version is offered again.',
    subject: 'name@version',
    data: { digest: 'of the skill' },
  },
  'skill.tagged': {
    what: 'A published version got a tag, which another version of the name may have had.',
    subject: 'name@version',
    data: { digest: 'of the skill', tag: 'its name', before: 'the version that had the tag, or null' },
  },
  'skill.untagged': {
    what: 'A tag was taken away.',
    subject: 'name@version',
    data: { digest: 'of the skill', tag: 'its name' },
  },
  'decision.made': {
    what: 'Policy judged a wish to run something.',
    subject: 'the run, or the skill when nothing is to run',
    data: {
      verdict: 'allow, ask or deny',
      rule: 'the rule that decided: source, index, name',
      reasons: 'sentences for people',
      request: 'what was judged: trust, dialect, skill, target, grant',
    },
  },
  'approval.asked': {
    what: 'A run waits for a person.',
    subject: 'the run',
    data: { approval: 'its id', binding: 'what an answer is bound to', preview: 'the command, redacted' },
  },
  'approval.given': {
    what: 'A person, or a rule that stands for one, said yes.',
    subject: 'the run, or the approval',
    data: { approval: 'its id', binding: 'what it holds for', scope: 'once or always', expires: 'when, or null' },
  },
  'approval.denied': {
    what: 'A person said no.',
    subject: 'the run, or the approval',
    data: { approval: 'its id', binding: 'what it holds for', scope: 'once or always' },
  },
  'approval.expired': {
    what: 'A question was not answered in time, or an answer reached its end.',
    subject: 'the run, or the approval',
    data: { approval: 'its id', binding: 'what it held for' },
  },
  'approval.revoked': {
    what: 'An earlier answer was taken back.',
    subject: 'the approval',
    data: { approval: 'its id', binding: 'what it held for' },
  },
  'approval.reset': {
    what: 'Every answer was forgotten, because the store of answers could not be relied on.',
    subject: 'none',
    data: {},
  },
  'run.accepted': {
    what: 'A run was recorded; nothing has started yet.',
    subject: 'the run',
    data: {
      skill: 'name, version, digest, dialect',
      target: 'main, a tool or a script',
      argv: 'the command, redacted',
      env: 'names of the variables; never their values',
      mounts: 'what the run sees of the host: kind, at, source, writable',
      limits: 'in whole units; cpus in thousandths',
      network: 'what it may reach',
      image: 'the digest of its root, or null for the host',
      layers: 'dependency layers by manager and digest',
      requires: 'the least level of each guarantee',
      driver: 'the sandbox that will hold it',
    },
  },
  'run.queued': {
    what: 'A run was recorded and waits for its turn; nothing has started yet.',
    subject: 'the run',
    data: { skill: 'name, version, digest, dialect', target: 'main, a tool or a script' },
  },
  'run.requeued': {
    what: 'The process that was to start a run died or ended before the run had begun; it waits for its turn again.',
    subject: 'the run',
    data: {
      owner: 'the process that had it; null in the journal of a tenant',
      attempt: 'how many attempts there were',
    },
  },
  'run.started': {
    what: 'The sandbox is ready and the program is started next.',
    subject: 'the run',
    data: { driver: 'the sandbox', enforces: 'what it holds on this host, by guarantee' },
  },
  'run.ended': {
    what: 'A run ended and its results were collected.',
    subject: 'the run',
    data: {
      state: 'success, failed or timeout',
      ending: 'how it ended',
      exitCode: 'or null',
      error: 'the code, or null',
      driver: 'the sandbox, or null when it never started',
      held: 'what really held in this run, by guarantee',
      artifacts: 'path, bytes and sha256 of each, at most 100',
      artifactCount: 'how many there are',
      artifactsSha256: 'over the canonical JSON of all of them, or null',
      archive: 'sha256 of the archive of the artifacts, or null',
      usage: 'cpuMs and maxMemoryBytes, or null',
      logBytes: 'length of the log',
    },
  },
  'run.interrupted': {
    what: 'A run was found whose process had died.',
    subject: 'the run',
    data: { state: 'that it was in', owner: 'the process that ran it; null in the journal of a tenant' },
  },
  'run.canceled': { what: 'Somebody asked a run to end.', subject: 'the run', data: { state: 'that it was in' } },
  'secret.set': {
    what: 'A secret was stored or replaced.',
    subject: "the secret's name",
    data: { provider: 'or null', version: 'of the value', kind: 'provider or custom', hosts: 'that it is bound to' },
  },
  'vault.rekeyed': {
    what: 'Every secret is under a new master key.',
    subject: 'none',
    data: { before: 'id of the key', after: 'id of the key' },
  },
  'provider.added': {
    what: 'The operator added a provider, or replaced one.',
    subject: "the provider's name",
    data: { sha256: 'of the file', capabilities: 'names', hosts: 'that it reaches' },
  },
  'provider.removed': { what: "A provider of the operator's was removed.", subject: "the provider's name", data: {} },
  'token.minted': {
    what: 'A run got a token for the broker.',
    subject: 'the run',
    data: {
      skill: 'name and digest',
      capabilities: 'that it stands for, wildcards expanded',
      carriesOut: 'those of them that can carry data to others',
      expires: 'when, in milliseconds since 1970',
    },
  },
  'token.refused': {
    what: 'A run got no token, so it did not start.',
    subject: 'the run',
    data: { skill: 'name and digest', capability: 'that was the reason, or null', reason: 'a code' },
  },
  'token.revoked': { what: 'A token ended before its time.', subject: 'the run', data: {} },
  'secret.removed': { what: 'A secret was removed.', subject: "the secret's name", data: { provider: 'or null' } },
  'secret.released': {
    what: 'A secret was lent to a run.',
    subject: 'the run',
    data: { secret: 'its name', capability: 'that allowed it', skill: 'name and digest' },
  },
  'secret.refused': {
    what: 'A run asked for a secret that it may not have.',
    subject: 'the run',
    data: { secret: 'its name', capability: 'that was missing', skill: 'name and digest' },
  },
  'broker.called': {
    what: 'A run called a provider through the broker.',
    subject: 'the run',
    data: {
      capability: 'that allowed it',
      method: 'of the request',
      host: 'that was reached',
      path: 'without its query',
      status: 'of the answer, or null where none came: the run left, or the host broke off',
      sent: 'bytes of the body that went out',
      received: 'bytes of the body that came back',
      tokens: 'as the answer counts them, or null',
      durationMs: 'from the request to the end of the answer, or of the wait for it',
      skill: 'name and digest',
    },
  },
  'broker.refused': {
    what: 'The broker refused a call.',
    subject: 'the run',
    data: {
      capability: 'or null',
      method: 'of the request',
      host: 'that was asked for',
      reason: 'why',
      skill: 'name and digest',
    },
  },
  'broker.failed': {
    what: 'A call that was allowed came to nothing, or was cut off.',
    subject: 'the run',
    data: { capability: 'or null', host: 'that was asked for', reason: 'why', skill: 'name and digest' },
  },
  'broker.died': {
    what: 'The broker of a run ended before the run did: what the run asked for from then on came to nothing.',
    subject: 'the run',
    data: { skill: 'name and digest' },
  },
  'file.written': {
    what: 'An agent is about to write a file of its workspace; a write that then fails is told to the agent only.',
    subject: 'the path in the workspace',
    data: {
      workspace: 'where the workspace lies',
      bytes: 'its size',
      sha256: 'of the content',
      created: 'false when it replaces one',
      client: 'what asked for it',
    },
  },
  'config.changed': {
    what: 'A setting or the policy was changed.',
    subject: 'the file or setting',
    data: { before: 'digest, or null', after: 'digest, or null' },
  },
  'trust.added': {
    what: 'A place or a publisher is trusted.',
    subject: 'path or publisher',
    data: { kind: 'path or publisher' },
  },
  'trust.removed': {
    what: 'A place or a publisher is trusted no more.',
    subject: 'path or publisher',
    data: { kind: 'path or publisher' },
  },
  'key.created': {
    what: 'A key was made.',
    subject: "the key's id",
    data: {
      purpose: 'what it is for',
      scopes: 'what it may do',
      publicKey: 'or null',
      name: 'of an API key, as given',
      expires: 'of an API key: when, or null',
    },
  },
  'key.rotated': {
    what: 'An API key got a new secret.',
    subject: "the key's id",
    data: { overlap: 'seconds for which the old secret still works' },
  },
  'key.revoked': { what: 'A key was revoked.', subject: "the key's id", data: { purpose: 'what it was for' } },
  'tenant.created': {
    what: 'A tenant was made.',
    subject: "the tenant's name",
    data: { quotas: 'what it may have at most' },
  },
  'tenant.changed': {
    what: "A tenant's quotas were changed, or it was shut out or let in again.",
    subject: "the tenant's name",
    data: { quotas: 'what it may have at most', disabled: 'true when nobody of it gets in' },
  },
  'image.imported': {
    what: 'An image is unpacked and gets its name next.',
    subject: "the image's name",
    data: { digest: 'of its files', source: 'the file it came from' },
  },
  'image.removed': {
    what: 'An image loses its name next; while a run uses it, that is refused.',
    subject: "the image's name",
    data: { digest: 'of its files' },
  },
  'storage.swept': {
    what: 'What need not be kept any longer was removed.',
    subject: 'nothing',
    data: {
      runs: 'records of runs that ended long ago',
      logs: 'logs of runs',
      artifacts: 'runs whose artifacts are not kept any longer',
      blobs: 'blobs that nothing names any more',
      snapshots: 'copies of skills that no run has used for long',
      layers: 'dependency layers that no run has used for long',
    },
  },
  'journal.rotated': {
    what: 'Old entries were moved into a sealed file.',
    subject: 'the file',
    data: {
      sha256: 'of the file',
      entries: 'how many',
      heads: 'the last sequence number and hash of each chain in it',
    },
  },
  'checkpoint.made': {
    what: 'The heads of all chains were signed.',
    subject: 'the sha256 of the signed text',
    data: { heads: 'how many', key: 'the public key' },
  },
} as const satisfies Record<string, EventTypeEntry>;

export type EventType = keyof typeof EVENT_TYPES;

export function isEventType(name: string): name is EventType {
  return Object.hasOwn(EVENT_TYPES, name);
}
