import { SkillboxError } from '../base/index.ts';

/** Variables that change what runs rather than what it is told; a caller must not set them (attacks: environment). */
const RESERVED = new RegExp(
  `^(?:${[
    'PATH|HOME|USER|SHELL|IFS|ENV|CDPATH|BASH_.*|SHELLOPTS|BASHOPTS|PS4|PROMPT_COMMAND|INPUTRC|ZDOTDIR',
    'LD_.*|DYLD_.*|GLIBC_.*|MALLOC_.*|GCONV_PATH|LOCPATH|NLSPATH|TERMINFO.*|TERMCAP',
    'NODE_.*|NPM_.*|npm_.*|YARN_.*|PNPM_.*|COREPACK_.*|DENO_.*|BUN_.*|PYTHON.*|PIP_.*|UV_.*|VIRTUAL_ENV|CONDA_.*',
    'PERL.*|RUBY.*|GEM_.*|BUNDLE_.*|JAVA_.*|JDK_.*|_JAVA_OPTIONS|CLASSPATH|LUA_.*|PHPRC|PHP_INI.*|AWKPATH|AWKLIBPATH',
    // Each makes a common program start another, or read its settings from where the caller says.
    'GIT_.*|XDG_.*|PAGER|MANPAGER|EDITOR|VISUAL|BROWSER|LESS.*|TAR_OPTIONS|RSYNC_.*|SSH_.*|MAKEFLAGS|MFLAGS|GNUMAKEFLAGS',
    'RIPGREP_CONFIG_PATH|FZF_.*|CURL_HOME|WGETRC|NETRC|CARGO_.*|RUSTC.*|RUSTFLAGS|GOFLAGS|DOCKER_.*|KUBECONFIG',
    // Whom TLS believes, and who may read along.
    'OPENSSL_.*|SSL_CERT_.*|.*_CA_BUNDLE|SSLKEYLOGFILE|.*_BASE_URL|.*_PROXY|.*_proxy',
    'SANDBOX_.*|SKILL_.*|SEKS_.*|GIBBERISH_.*|SKILLBOX_.*',
  ].join('|')})$`,
);
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const MAX_BYTES = 32 * 1024;

export function checkEnv(env: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(env)) {
    if (!NAME.test(name)) throw new SkillboxError('USAGE', `${JSON.stringify(name)} is not the name of a variable`);
    if (RESERVED.test(name)) {
      throw new SkillboxError('USAGE', `${name} decides what runs and cannot be set by the caller`, {
        hint: 'Pass data by another name.',
      });
    }
    if (value.includes('\0') || Buffer.byteLength(value) > MAX_BYTES) {
      throw new SkillboxError('USAGE', `the value of ${name} holds a NUL or is over ${MAX_BYTES} bytes`, {
        hint: 'Use --input for data.',
      });
    }
  }
}
