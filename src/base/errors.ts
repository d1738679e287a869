/** What an error code means outside the process: HTTP status, exit code, and what to do next. */
type ErrorClass = { status: number; exit: number; hint: string };

export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  invalidSkill: 3,
  denied: 4,
  notFound: 5,
  sandbox: 6,
  server: 7,
  timeout: 124,
} as const;

export const ERRORS = {
  USAGE: { status: 400, exit: EXIT.usage, hint: 'Run the command with --help to see its forms.' },
  NOT_FOUND: { status: 404, exit: EXIT.notFound, hint: 'Check the path or the name.' },
  NOT_A_SKILL: { status: 422, exit: EXIT.invalidSkill, hint: 'A skill is a folder, or a zip of one, with a SKILL.md.' },
  INVALID_SKILL: { status: 422, exit: EXIT.invalidSkill, hint: 'Run `skillbox skill lint` to see what is wrong.' },
  INVALID_EVALS: {
    status: 422,
    exit: EXIT.invalidSkill,
    hint: 'docs/skill-tests.md says how the files in evals/ are written.',
  },
  INVALID_CALL: { status: 422, exit: EXIT.usage, hint: 'Run `skillbox skill show` to see what the skill takes.' },
  VERSION_MISSING: { status: 422, exit: EXIT.invalidSkill, hint: 'Give one with --version, or write it in the skill.' },
  ARCHIVE_UNSAFE: {
    status: 422,
    exit: EXIT.invalidSkill,
    hint: 'Pack the folder again with `skillbox skill package`.',
  },
  ARCHIVE_TOO_LARGE: { status: 413, exit: EXIT.invalidSkill, hint: 'Remove what the skill does not need.' },
  SKILL_CHANGED: { status: 409, exit: EXIT.invalidSkill, hint: 'Something wrote to the skill meanwhile; try again.' },
  SKILL_WITHHELD: {
    status: 403,
    exit: EXIT.denied,
    hint: 'skillbox catalog why NAME says what stands against it.',
  },
  EXISTS: { status: 409, exit: EXIT.usage, hint: 'Choose another place, or remove what is there.' },
  UNREADABLE: { status: 500, exit: EXIT.failed, hint: 'Check the permissions of the file.' },
  UNWRITABLE: { status: 507, exit: EXIT.failed, hint: 'Check the permissions and the free space.' },
  SANDBOX_UNAVAILABLE: {
    status: 503,
    exit: EXIT.sandbox,
    hint: 'Run `skillbox doctor` to see what is missing and the command that fixes it.',
  },
  SANDBOX_CANNOT_ENFORCE: {
    status: 503,
    exit: EXIT.sandbox,
    hint: 'Run `skillbox doctor` to see what this host can hold, or lower the required level in the policy.',
  },
  SANDBOX_FAILED: {
    status: 500,
    exit: EXIT.sandbox,
    hint: 'The sandbox broke before the skill started; run `skillbox doctor`.',
  },
  IMAGE_UNSAFE: {
    status: 422,
    exit: EXIT.invalidSkill,
    hint: 'Save the image again with `docker save`, `docker export` or `skopeo copy`, from a source you trust.',
  },
  IMAGE_TOO_LARGE: { status: 413, exit: EXIT.invalidSkill, hint: 'Use a smaller image, one of the slim ones.' },
  IMAGE_NOT_ALLOWED: {
    status: 403,
    exit: EXIT.denied,
    hint: 'Use an allowed image, or have the operator add it to SKILLBOX_IMAGES.',
  },
  IMAGE_IN_USE: { status: 409, exit: EXIT.failed, hint: 'Wait until its runs have ended; see `skillbox exec list`.' },
  IMAGE_MISSING: { status: 422, exit: EXIT.sandbox, hint: 'Import it with `skillbox image import NAME FILE`.' },
  RUNTIME_MISSING: {
    status: 422,
    exit: EXIT.sandbox,
    hint: 'Install the program, or run the skill in an image that has it.',
  },
  DEPENDENCIES_REFUSED: {
    status: 422,
    exit: EXIT.invalidSkill,
    hint: 'Name packages of the index by name and version: no options, paths, links or URLs.',
  },
  DEPENDENCIES_FAILED: {
    status: 422,
    exit: EXIT.failed,
    hint: 'The last lines of the package manager say why; correct the list of dependencies, or the index settings.',
  },
  NOT_WAITING: {
    status: 409,
    exit: EXIT.failed,
    hint: 'It was settled before; `skillbox exec show` tells how it went.',
  },
  ANSWER_REFUSED: {
    status: 403,
    exit: EXIT.denied,
    hint: 'Answer on a terminal, or have the policy changed; `skillbox policy explain` says which rule decides.',
  },
  RUN_LOST: {
    status: 409,
    exit: EXIT.server,
    hint: 'This process was taken for dead, and the run goes on elsewhere or has ended. Look at it again.',
  },
  APPROVALS_ALTERED: {
    status: 409,
    exit: EXIT.denied,
    hint: 'Nothing that was approved counts any more. Begin anew with `skillbox approve reset`; the operator of a server says `--tenant NAME`.',
  },
  SECRET_INVALID: { status: 422, exit: EXIT.usage, hint: 'Run `skillbox secret set --help`.' },
  SECRET_MISSING: {
    status: 409,
    exit: EXIT.denied,
    hint: 'Store it with `skillbox secret set NAME`; `skillbox secret list` shows what is there.',
  },
  VAULT_LOCKED: { status: 503, exit: EXIT.failed, hint: 'Give Skillbox the master key that the secrets are under.' },
  VAULT_DAMAGED: {
    status: 500,
    exit: EXIT.failed,
    hint: 'Set the secret anew, and find out who wrote to the data directory.',
  },
  CAPABILITY_UNKNOWN: {
    status: 422,
    exit: EXIT.denied,
    hint: 'See `skillbox provider list`; the operator adds others with `skillbox provider add`.',
  },
  CAPABILITY_REFUSED: {
    status: 403,
    exit: EXIT.denied,
    hint: 'A skill gets all the capabilities that it declares, or does not run.',
  },
  PROVIDER_INVALID: { status: 422, exit: EXIT.usage, hint: 'Correct the file; docs/secrets.md shows its form.' },
  WORKSPACE_MISSING: {
    status: 422,
    exit: EXIT.usage,
    hint: 'Start `skillbox mcp` with --workspace DIR, or let the client name its roots.',
  },
  PATH_OUTSIDE: { status: 403, exit: EXIT.denied, hint: 'Name a path that stays inside, links included.' },
  PATH_PROTECTED: {
    status: 403,
    exit: EXIT.denied,
    hint: 'Secrets are not shown, and what a program would obey is not written; a person can do that in an editor.',
  },
  FILE_TYPE: {
    status: 415,
    exit: EXIT.denied,
    hint: 'Text files only: md txt json yaml yml py sh bash js ts html css xml csv log toml ini cfg conf.',
  },
  FILE_TOO_LARGE: {
    status: 413,
    exit: EXIT.denied,
    hint: 'Up to 1,048,576 bytes are read and up to 102,400 bytes are written.',
  },
  FILE_CHANGED: {
    status: 409,
    exit: EXIT.failed,
    hint: 'Something else wrote there meanwhile; read it and try again.',
  },
  EDIT_UNMATCHED: {
    status: 422,
    exit: EXIT.failed,
    hint: 'Read the file, and give the old text exactly as it stands there, with enough around it to occur once.',
  },
  VERSION_EXISTS: {
    status: 409,
    exit: EXIT.invalidSkill,
    hint: 'A published version never changes. Raise the version and publish again.',
  },
  UNAUTHENTICATED: {
    status: 401,
    exit: EXIT.server,
    hint: 'Send `Authorization: Bearer KEY`, or set SKILLBOX_API_KEY; `skillbox key create` makes one.',
  },
  FORBIDDEN: {
    status: 403,
    exit: EXIT.denied,
    hint: 'Use a key with that scope: `skillbox key create NAME --scope …` makes one.',
  },
  KEY_REVOKED: { status: 409, exit: EXIT.denied, hint: 'Make a new key with `skillbox key create`.' },
  ORIGIN_REFUSED: {
    status: 403,
    exit: EXIT.server,
    hint: 'Use a name that the server knows as its own; the operator adds names and origins in the configuration.',
  },
  METHOD_REFUSED: { status: 405, exit: EXIT.server, hint: '/openapi.json says what there is.' },
  BODY_REFUSED: { status: 400, exit: EXIT.usage, hint: '/openapi.json says what a request looks like.' },
  BODY_TOO_LARGE: { status: 413, exit: EXIT.usage, hint: 'Send less, or have the operator raise the limit.' },
  MEDIA_TYPE_REFUSED: { status: 415, exit: EXIT.usage, hint: 'Send application/json, or a zip where one is taken.' },
  REQUEST_TOO_SLOW: { status: 408, exit: EXIT.server, hint: 'Send the request faster, or in smaller parts.' },
  HEADERS_TOO_LARGE: { status: 431, exit: EXIT.server, hint: 'Shorten the path, the query or the headers.' },
  IDEMPOTENCY_MISMATCH: {
    status: 422,
    exit: EXIT.usage,
    hint: 'This key was used for another request. Make a new key for each new request.',
  },
  RATE_LIMITED: { status: 429, exit: EXIT.server, hint: 'Wait as long as Retry-After says, then try again.' },
  QUEUE_FULL: { status: 429, exit: EXIT.server, hint: 'Wait until some runs have ended, then try again.' },
  QUOTA_EXCEEDED: { status: 507, exit: EXIT.server, hint: 'Remove what is not needed, or ask for a larger quota.' },
  BACKEND_UNAVAILABLE: {
    status: 503,
    exit: EXIT.server,
    hint: 'The database or the blob store does not answer; /ready says which. Try again.',
  },
  BLOB_DAMAGED: {
    status: 500,
    exit: EXIT.failed,
    hint: 'What is stored is not what was stored. Restore the blob from a copy, and find out who wrote to the store.',
  },
  LINK_REFUSED: { status: 403, exit: EXIT.denied, hint: 'Ask for a new link: links expire, and cannot be altered.' },
  SHUTTING_DOWN: { status: 503, exit: EXIT.server, hint: 'The server is stopping; try again in a moment.' },
  SERVER_UNREACHABLE: {
    status: 502,
    exit: EXIT.server,
    hint: 'Check the address in --server or SKILLBOX_SERVER_URL, and that the server runs.',
  },
  CANNOT_LISTEN: {
    status: 500,
    exit: EXIT.server,
    hint: 'Choose another port (`serve --port`, `mcp --http`), or end what listens there.',
  },
  CONFIG_INVALID: { status: 500, exit: EXIT.usage, hint: 'Run `skillbox config check` to see every fault at once.' },
  BUSY: { status: 429, exit: EXIT.server, hint: 'Too much is going on at once; try again when something has ended.' },
  SOURCE_REFUSED: {
    status: 422,
    exit: EXIT.usage,
    hint: 'Give a folder, a zip, owner/repo, the https, ssh or file URL of a git repository, a site with an index, NAME@VERSION, or an MCP server: mcp+https://host/path.',
  },
  SOURCE_UNSUPPORTED: {
    status: 501,
    exit: EXIT.usage,
    hint: 'Install from a folder, a zip, a git repository or a site with an index instead.',
  },
  SOURCE_FAILED: { status: 502, exit: EXIT.failed, hint: 'Check the address and the network, then try again.' },
  INSTALL_REFUSED: {
    status: 422,
    exit: EXIT.invalidSkill,
    hint: 'Nothing was written. Leave the skill out with --skill, or have its author mend it.',
  },
  INSTALL_BUSY: { status: 409, exit: EXIT.failed, hint: 'Wait until the other command has ended.' },
  LOCK_INVALID: {
    status: 422,
    exit: EXIT.failed,
    hint: 'Restore skills.lock from version control, or remove it and add the skills again.',
  },
  LOCK_MISMATCH: {
    status: 409,
    exit: EXIT.failed,
    hint: 'Nothing was changed. `skillbox update` takes what is there now, after showing what differs.',
  },
  CONFIG_UNEDITABLE: {
    status: 422,
    exit: EXIT.failed,
    hint: 'Nothing was changed. Add the entry by hand; docs/agents.md shows it.',
  },
  CANCELED: { status: 409, exit: EXIT.failed, hint: 'Nothing was changed; of a run stays what it did before.' },
  INTERNAL: { status: 500, exit: EXIT.failed, hint: 'This is a defect of Skillbox; please report it.' },
} as const satisfies Record<string, ErrorClass>;

export type ErrorCode = keyof typeof ERRORS;

/** Our own or the operator's fault. A skill's fault is data: diagnostics or an outcome. */
export class SkillboxError extends Error {
  override readonly name = 'SkillboxError';
  readonly code: ErrorCode;
  readonly hint: string;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    code: ErrorCode,
    message: string,
    more: { hint?: string; details?: Record<string, unknown>; cause?: unknown } = {},
  ) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.code = code;
    this.hint = more.hint ?? ERRORS[code].hint;
    this.details = more.details ?? {};
  }

  get exit(): number {
    return ERRORS[this.code].exit;
  }

  get status(): number {
    return ERRORS[this.code].status;
  }
}

export function errnoOf(error: unknown): string | null {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code;
  return null;
}

const OPEN_FAULTS: readonly ErrorCode[] = [
  'QUOTA_EXCEEDED',
  'SHUTTING_DOWN',
  'SANDBOX_UNAVAILABLE',
  'SANDBOX_CANNOT_ENFORCE',
  'SOURCE_UNSUPPORTED',
];

/**
 * Whether callers of a server may read its text. Threat: faults of the server itself speak of paths, hosts and statements of
 * its own; its log has them.
 */
export function isForCallers(error: unknown): boolean {
  return error instanceof SkillboxError && (error.status < 500 || OPEN_FAULTS.includes(error.code));
}
