/**
 * Runs in the sandbox before the script that bash was started with, as its BASH_ENV, before the run is known and after PID 1 has
 * locked down. bash has read its own start files and settings by then, and opens the script only when this is over: so the script is
 * not sourced, and `$0`, `BASH_SOURCE` and `return` are what they are at a cold start. What it leaves in the shell is as little as can be.
 */
export const BASH_BOOT = `\
boot() {
  local -a words
  local entry why
  ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 404)) || exit 125
  printf R >&3
  read -r -N 1 -u 3 why
  mapfile -d '' -u 4 words
  exec 3<&- 4<&-
  ((\${#words[@]} >= 4)) || exit 125
  if ! cd -P -- "\${words[0]}" 2>/dev/null; then
    why=$(LC_ALL=C cd -P -- "\${words[0]}" 2>&1)
    printf 'skillbox: cannot enter %s: %s\\n' "\${words[0]}" "\${why##*: }" >&2
    exit 126
  fi
  for entry in "\${words[@]:2+words[1]}"; do declare -gx "$entry"; done
}
boot
unset -f boot
unset BASH_ENV OLDPWD
declare -x OLDPWD
SECONDS=0
`;

/** The shell's own: it would give them a meaning, keep them to itself or refuse them. Its start decides, so the run has to start it. */
const SPECIAL =
  /^(_|ENV|BASH.*|CDPATH|CHILD_MAX|COLUMNS|COMP.*|COPROC|DIRSTACK|EMACS|EPOCH.*|EUID|EXECIGNORE|FCEDIT|FIGNORE|FUNC.*|GLOB.*|GROUPS|HIST.*|HOST.*|IFS|IGNOREEOF|INPUTRC|INSIDE_EMACS|LINENO|LINES|MACHTYPE|MAIL.*|MAPFILE|OLDPWD|OPT.*|OSTYPE|PIPESTATUS|POSIX.*|PPID|PROMPT.*|PS\d|PWD|RANDOM|READLINE.*|REPLY|SECONDS|SHELL.*|SHLVL|SRANDOM|TERM|TIMEFORMAT|TMOUT|UID|auto_resume|histchars)$/;
const LOADER = /^(LD_|MALLOC_|GLIBC_|GCONV_|LOCPATH|NLSPATH)/;

/** Whether a shell that is up already would come to the same environment as one that starts with it. */
export function isForRunningBash(env: Readonly<Record<string, string>>): boolean {
  return !Object.keys(env).some(name => SPECIAL.test(name) || LOADER.test(name));
}
