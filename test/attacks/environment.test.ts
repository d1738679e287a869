import { readdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { run, type Sandbox } from '../../src/sandbox/index.ts';
import { attack } from '../support/attack.ts';
import { BUBBLEWRAPS, ENGINES, type Subject } from '../support/drivers.ts';
import { allProcesses, commandOf } from '../support/processes.ts';
import { MOUNTS, QUIET, specOf, text } from '../support/sandbox-spec.ts';
import { tidy } from '../support/temp.ts';

tidy();

const SECRET = 'host-secret-value';
const HOST = {
  HOST_SECRET: SECRET,
  LD_PRELOAD: `/tmp/${SECRET}`,
  NODE_OPTIONS: `--title=${SECRET}`,
  PYTHONPATH: `/tmp/${SECRET}`,
  BASH_ENV: `/tmp/${SECRET}`,
  SANDBOX_INPUT: SECRET,
  SSH_AUTH_SOCK: `/tmp/${SECRET}`,
  GITHUB_TOKEN: SECRET,
};

for (const driver of [...BUBBLEWRAPS.filter(({ name }) => !name.includes('spare')), ...ENGINES])
  describe.skipIf(driver.skip !== null)(`${driver.name}: environment and secrets`, () => {
    let subject: Subject;
    let sandbox: Sandbox;
    const before = { ...process.env };
    beforeAll(async () => {
      Object.assign(process.env, HOST);
      subject = await driver.make();
      sandbox = subject.sandbox;
    });
    afterAll(async () => {
      for (const name of Object.keys(HOST)) {
        if (before[name] === undefined) delete process.env[name];
        else process.env[name] = before[name];
      }
      await subject?.close();
    });

    it('nothing of the host is found: environment, arguments, paths, names', async () => {
      const outcome = await run(sandbox, attack('look-around.py'), QUIET);
      const seen = text(outcome);
      expect(outcome.end).toEqual({ kind: 'exited', code: 0 });
      expect(seen).not.toContain(SECRET);
      expect(seen).not.toContain('--ro-bind');
      expect(seen).not.toContain(subject.stateDir);
      expect(seen).toContain('hostname sandbox');
      expect(seen).toContain('/proc/1/environ Permission denied');
      expect(seen).toMatch(/\/proc\/1\/cmdline b'\/.skillbox\/helper (init|contain) '/);
      expect(seen).toMatch(/\/etc\/shadow (No such file|Permission denied)/);
      for (const account of readFileSync('/etc/passwd', 'utf8')
        .split('\n')
        .map(line => line.split(':')[0] ?? ''))
        if (driver.hostRuntime && !['', 'root', 'nobody'].includes(account))
          expect(seen).not.toContain(`\\n${account}:x:`);
      for (const entry of readdirSync(homedir())) if (entry.startsWith('.')) expect(seen).not.toContain(`'${entry}'`);
    });

    it("the run's own secrets stand in no process's arguments, and no file stays", async () => {
      const token = `run-secret-${Math.random()}`;
      let exposed: number[] = [];
      const mounts = [...MOUNTS, { kind: 'text', at: '/sandbox/token', text: token } as const];
      const outcome = await run(
        sandbox,
        specOf(['bash', '-c', 'echo go; read -t 1 x < /dev/zero; cat /sandbox/token; echo "$TOKEN"'], {
          env: { TOKEN: token },
          mounts,
        }),
        {
          ...QUIET,
          onChunk: (_, chunk) => {
            if (!chunk.toString().startsWith('go')) return;
            exposed = allProcesses().filter(pid => commandOf(pid).includes(token));
          },
        },
      );
      expect(text(outcome)).toBe(`go\n${token}${token}\n`);
      expect(exposed).toEqual([]);
      expect(readdirSync(`${subject.stateDir}/${!driver.hostRuntime ? 'containers' : 'runs'}`)).toEqual([]);
    });

    it('a hostile PATH or LD_PRELOAD in the spec changes only the program itself', async () => {
      const env = {
        PATH: '/tmp',
        LD_PRELOAD: '/tmp/evil.so',
        NODE_OPTIONS: '--require /tmp/evil.js',
        BASH_ENV: '/tmp/evil',
      };
      const outcome = await run(sandbox, specOf(['bash', '-c', 'echo "$PATH"'], { env }), QUIET);
      expect(text(outcome)).toBe('/tmp\n');
    });
  });
