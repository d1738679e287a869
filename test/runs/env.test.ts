import { describe, expect, test } from 'vitest';
import { checkCall, checkSizes } from '../../src/runs/check-call.ts';
import { checkEnv } from '../../src/runs/env.ts';

const refused = expect.objectContaining({ code: 'USAGE' });

const RESERVED = `
  LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT DYLD_INSERT_LIBRARIES GCONV_PATH GLIBC_TUNABLES NODE_OPTIONS
  NODE_PATH NODE_EXTRA_CA_CERTS npm_config_prefix PYTHONPATH PYTHONSTARTUP PYTHONHOME BASH_ENV ENV
  SHELLOPTS BASHOPTS IFS PS4 PROMPT_COMMAND BASH_FUNC_ls PERL5OPT RUBYOPT PATH HOME USER SHELL
  GIT_SSH_COMMAND GIT_EXTERNAL_DIFF PAGER EDITOR SANDBOX_INPUT SANDBOX_OUTPUT SANDBOX_FILES_DIR
  SKILL_INSTRUCTIONS SEKS_BROKER_URL SEKS_AGENT_TOKEN GIBBERISH_SKILL_DIR SKILLBOX_API_KEY
  ANTHROPIC_BASE_URL OPENAI_BASE_URL HTTPS_PROXY http_proxy XDG_CONFIG_HOME TAR_OPTIONS MAKEFLAGS
  RIPGREP_CONFIG_PATH LESSOPEN CURL_HOME SSL_CERT_FILE REQUESTS_CA_BUNDLE SSLKEYLOGFILE RSYNC_RSH
  CARGO_HOME RUSTC_WRAPPER CLASSPATH _JAVA_OPTIONS LUA_PATH AWKPATH TERMINFO ALL_PROXY all_proxy
`
  .trim()
  .split(/\s+/);

describe("the caller's variables", () => {
  test.each(RESERVED)('%s decides what runs and is refused', name => {
    expect(() => checkEnv({ [name]: 'x' })).toThrow(refused);
  });

  test.each(['', 'A-B', '1A', 'A=B', 'A B', 'A\0', 'Ä', 'A\n'])('%j is no name', name => {
    expect(() => checkEnv({ [name]: 'x' })).toThrow(refused);
  });

  test('a value with a NUL, or a huge one, is refused with a hint; others pass', () => {
    expect(() => checkEnv({ A: 'a\0b' })).toThrow(refused);
    expect(() => checkEnv({ A: 'x'.repeat(33 * 1024) })).toThrow(refused);
    expect(() =>
      checkEnv({ A: '', REPORT_TITLE: 'a b $(c) "d"', lower: '1', ['__proto__']: 'x', PATHS: 'p' }),
    ).not.toThrow();
  });
});

describe('what a caller hands over', () => {
  const call = (input: Parameters<typeof checkCall>[0]['input']) =>
    checkCall({ target: { kind: 'main' }, input, stdin: null, mode: 'Global', callerEnv: {} });
  const invalid = expect.objectContaining({ code: 'INVALID_CALL' });

  test('an input too deep or too large is refused before anything is made of it', () => {
    expect(() => call(JSON.parse('['.repeat(100_000) + ']'.repeat(100_000)))).toThrow(invalid);
    expect(() => call('x'.repeat(17 * 1024 ** 2))).toThrow(invalid);
    expect(() => call({ a: [1, { b: null }] })).not.toThrow();
  });

  test('what Linux would refuse at the start is refused before', () => {
    expect(() => checkSizes(['x', 'y'.repeat(128 * 1024)], {})).toThrow(invalid);
    expect(() => checkSizes(['x'], { A: 'y'.repeat(128 * 1024 - 2) })).toThrow(invalid);
    expect(() =>
      checkSizes(
        Array.from({ length: 300_000 }, () => 'abcdef'),
        {},
      ),
    ).toThrow(invalid);
    expect(() => checkSizes(['x', 'y'.repeat(128 * 1024 - 1)], { A: 'b' })).not.toThrow();
  });

  test('what no sandbox takes is refused before: a NUL in an argument, and more words than it has room for', () => {
    const many = (count: number) => Array.from({ length: count }, (_, at) => String(at));
    expect(() => checkSizes(['x', 'a\0b'], {})).toThrow(invalid);
    expect(() => checkSizes(many(4001), {})).toThrow(invalid);
    expect(() => checkSizes(['x'], Object.fromEntries(many(4001).map(at => [`A${at}`, ''])))).toThrow(invalid);
    expect(() => checkSizes(many(4000), { A: 'b' })).not.toThrow();
  });
});
