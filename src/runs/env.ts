import { SkillboxError } from '../base/index.ts';

/** Variables that change what runs rather than what it is told; a caller must not set them (attacks: environment). */
const RESERVED =
  /^(?:PATH|HOME|USER|SHELL|IFS|ENV|BASH_.*|SHELLOPTS|BASHOPTS|LD_.*|DYLD_.*|GLIBC_.*|MALLOC_.*|NODE_.*|NPM_.*|npm_.*|PYTHON.*|PERL.*|RUBY.*|JAVA_.*|GCONV_PATH|GIT_.*|PS4|PROMPT_COMMAND|PAGER|EDITOR|VISUAL|LESSOPEN|OPENSSL_.*|SANDBOX_.*|SKILL_.*|SEKS_.*|GIBBERISH_.*|SKILLBOX_.*|.*_BASE_URL|.*_PROXY|.*_proxy)$/;
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
