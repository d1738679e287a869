const CUT = '[cut]';
const MAX_ARGUMENTS = 64;
const MAX_LENGTH = 512;
/** Looked at: more than is kept, so that a secret at the border is seen whole; bounded, because callers choose the length. */
const MAX_READ = 2048;

/** A word of the name says that the value is not for others to read. */
const SECRET_NAME =
  /(?:^|[^a-z])(?:api-?key|access-?key|private-?key|key|auth|authorization|bearer|cookie|credentials?|pass|passwd|password|passphrase|pin|pwd|secret|session|signature|token)s?(?:$|[^a-z])/i;
/** A header that carries a secret, as one argument: `-H "Authorization: Bearer …"`. */
const SECRET_HEADER = /^\s*([\w-]+)\s*:\s*\S/;
/** Values that are secrets by their own form: provider keys, tokens with three parts, private keys. */
const SECRET_FORMS: readonly RegExp[] = [
  /\b(?:sk|pk|rk)[-_](?:[a-z0-9]+[-_])*[A-Za-z0-9]{16,}/g,
  /\bgh[pousr]_[A-Za-z0-9]{20,}/g,
  /\bgithub_pat_\w{20,}/g,
  /\bglpat-[\w-]{16,}/g,
  /\bxox[abeprs]-[\w-]{10,}/g,
  /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/g,
  /\bAIza[\w-]{30,}/g,
  /\bnpm_[A-Za-z0-9]{30,}/g,
  /\beyJ[\w-]{5,}\.[\w-]{5,}\.[\w-]*/g,
  /\b(?:Bearer|Basic)\s+[\w.~+/=-]{8,}/gi,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*/g,
];

/**
 * A command as the journal may keep it. What looks like a secret, by its name or by its form, is cut, and so is what is very
 * long. It is a net and not a proof: a skill should not take secrets as arguments at all, and the broker makes it needless.
 */
export function redactArgv(argv: readonly string[]): string[] {
  const kept: string[] = [];
  let cutNext = false;
  for (const word of argv.slice(0, MAX_ARGUMENTS)) {
    kept.push(cutNext ? CUT : redactWord(word));
    cutNext = !cutNext && isSecretFlag(word);
  }
  if (argv.length > MAX_ARGUMENTS) kept.push(`… and ${argv.length - MAX_ARGUMENTS} more`);
  return kept;
}

/** `--token`: its value is the next word. */
function isSecretFlag(word: string): boolean {
  return /^--?[A-Za-z][\w-]*$/.test(word) && SECRET_NAME.test(spread(word));
}

function redactWord(word: string): string {
  const assignment = /^(-{0,2}[A-Za-z_][\w.-]*)=/.exec(word);
  if (assignment?.[1] !== undefined && SECRET_NAME.test(spread(assignment[1]))) return `${assignment[1]}=${CUT}`;
  const header = SECRET_HEADER.exec(word)?.[1];
  if (header !== undefined && SECRET_NAME.test(spread(header))) return `${header}: ${CUT}`;
  return shorten(redactText(word.slice(0, MAX_READ)), word.length);
}

/** For short texts. Whatever in the text has the form of a secret: also the user of a URL, and members and parameters with such a name. */
export function redactText(text: string): string {
  let shown = text
    .replace(/([a-z][a-z0-9+.-]*:\/\/)[^/\s@]+@/gi, `$1${CUT}@`)
    .replace(/([?&;]([\w.-]+)=)[^&;#\s]+/g, (all, start: string, name: string) =>
      SECRET_NAME.test(spread(name)) ? `${start}${CUT}` : all,
    )
    .replace(/("([\w.-]+)"\s*:\s*)"(?:[^"\\]|\\.)*"/g, (all, start: string, name: string) =>
      SECRET_NAME.test(spread(name)) ? `${start}"${CUT}"` : all,
    );
  for (const form of SECRET_FORMS) shown = shown.replace(form, CUT);
  return shown;
}

/** `apiKey` and `API_KEY` as `api-key`, so that one list of words does for all of them. */
function spread(name: string): string {
  return name.replace(/([a-z0-9])([A-Z])/g, '$1-$2').replace(/[_.]/g, '-');
}

function shorten(shown: string, length: number): string {
  if (shown.length <= MAX_LENGTH && length <= MAX_READ) return shown;
  return `${shown.slice(0, MAX_LENGTH).toWellFormed()}… (${length} characters)`;
}
