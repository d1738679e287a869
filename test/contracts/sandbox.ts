import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { run, type Sandbox } from '../../src/sandbox/index.ts';
import type { Driver, Subject } from '../support/drivers.ts';
import { errors, LIMITS, MOUNTS, QUIET, specOf, text } from '../support/sandbox-spec.ts';
import { tempDir } from '../support/temp.ts';

/** What every driver must do. What only some guarantee is asked of those that say so. */
export function sandboxContract(driver: Driver): void {
  describe.skipIf(driver.skip !== null)(
    `${driver.name}${driver.skip === null ? '' : ` (skipped: ${driver.skip})`}`,
    () => {
      let subject: Subject;
      let sandbox: Sandbox;
      const sh = (script: string, changes: Parameters<typeof specOf>[1] = {}) =>
        specOf(['bash', '-c', script], changes);
      const holds = (guarantee: Parameters<Sandbox['enforces']['get']>[0]) =>
        (sandbox.enforces.get(guarantee) ?? 'none') !== 'none';

      beforeAll(async () => {
        subject = await driver.make();
        sandbox = subject.sandbox;
      });
      afterAll(() => subject?.close());

      it('is usable, and says what it holds', async () => {
        expect((await sandbox.check()).filter(problem => problem.fatal)).toEqual([]);
        expect(sandbox.enforces.size).toBeGreaterThan(10);
      });

      it('gives back exit code, stdout and stderr apart, and what ran', async () => {
        const outcome = await run(sandbox, sh('echo out; echo err >&2; exit 7'), QUIET);
        expect(outcome.end).toEqual({ kind: 'exited', code: 7 });
        expect([text(outcome), errors(outcome)]).toEqual(['out\n', 'err\n']);
        expect(outcome.runtime.name).toBe('bash');
        if (driver.hostRuntime) expect(outcome.runtime.from).toContain('host');
        if (driver.hostRuntime) expect(outcome.runtime.version).toMatch(/^\d+\.\d+/);
        expect(outcome.durationMs).toBeGreaterThan(0);
        expect(outcome.held.size).toBe(sandbox.enforces.size);
      });

      it('streams may be reopened by name', async () => {
        const outcome = await run(sandbox, sh('echo a > /dev/stdout; echo b > /dev/stderr; cat /dev/stdin'), {
          ...QUIET,
          stdin: 'c',
        });
        expect([text(outcome), errors(outcome)]).toEqual(['a\nc', 'b\n']);
      });

      it('names the signal a program died of', async () => {
        expect((await run(sandbox, sh('kill -SEGV $$'), QUIET)).end).toEqual({ kind: 'signaled', signal: 'SIGSEGV' });
      });

      it('gives stdin, or end-of-file at once', async () => {
        expect(text(await run(sandbox, sh('cat'), { ...QUIET, stdin: 'hello' }))).toBe('hello');
        expect(text(await run(sandbox, sh('cat; echo end'), QUIET))).toBe('end\n');
      });

      it('a program need not read its input', async () => {
        const outcome = await run(sandbox, sh('exit 0'), { ...QUIET, stdin: 'x'.repeat(1 << 20) });
        expect(outcome.end).toEqual({ kind: 'exited', code: 0 });
      });

      it('has exactly the environment given', async () => {
        const outcome = await run(
          sandbox,
          specOf(['env', '-0'], { env: { A: 'two\nlines', HOME: '/root', EMPTY: '' } }),
          QUIET,
        );
        const names = text(outcome)
          .split('\0')
          .filter(Boolean)
          .map(pair => pair.split('=')[0]);
        expect(new Set(names)).toEqual(new Set(['A', 'EMPTY', 'HOME', 'PATH']));
        expect(text(outcome)).toContain('A=two\nlines\0');
      });

      it('passes arguments as they are', async () => {
        const hostile = ['', ' ', '-rf', '$(id)', ';', '"', "'", '\n', '{{constructor}}', 'ü'];
        const outcome = await run(sandbox, specOf(['printf', '%s\\0', ...hostile]), QUIET);
        expect(text(outcome).split('\0').slice(0, -1)).toEqual(hostile);
      });

      it('a missing program is an exit of 127, told on stderr', async () => {
        const outcome = await run(sandbox, specOf(['/nowhere/program']), QUIET);
        expect(outcome.end).toEqual({ kind: 'exited', code: 127 });
        expect(errors(outcome)).toMatch(/nowhere/);
      });

      it('a program without #! is the shell’s, as everywhere', async () => {
        const source = join(tempDir('plain', 0o755), 'program');
        writeFileSync(source, 'echo "$# $2"', { mode: 0o755 });
        const program = {
          kind: 'bind',
          source,
          at: '/attack/program',
          writable: false,
          exec: true,
          protect: null,
        } as const;
        const outcome = await run(
          sandbox,
          specOf(['/attack/program', '', 'a b'], { mounts: [...MOUNTS, program] }),
          QUIET,
        );
        expect([text(outcome), errors(outcome)]).toEqual(['2 a b\n', '']);
      });

      it('a missing interpreter is refused with its name', async () => {
        await expect(run(sandbox, specOf(['no-such-interpreter']), QUIET)).rejects.toMatchObject({
          code: 'RUNTIME_MISSING',
          message: expect.stringContaining('no-such-interpreter'),
        });
      });

      it('text is readable where it was put, and out is found by the host', async () => {
        const mounts = [...MOUNTS, { kind: 'text', at: '/sandbox/input.json', text: '{"a":1}' } as const];
        const handle = await sandbox.prepare(
          sh('cat /sandbox/input.json > /sandbox/out/output.json; echo x > /sandbox/out/files/a', {
            mounts,
            cwd: '/sandbox/out',
          }),
        );
        try {
          expect((await handle.start(QUIET)).end).toEqual({ kind: 'exited', code: 0 });
          const out = handle.path('/sandbox/out');
          expect(readFileSync(join(out, 'output.json'), 'utf8')).toBe('{"a":1}');
          expect(readdirSync(join(out, 'files'))).toEqual(['a']);
        } finally {
          await handle.dispose();
        }
      });

      it('timeout: SIGTERM reaches the program, its output is kept (GB-15)', async () => {
        const outcome = await run(
          sandbox,
          sh('trap "echo bye; exit 0" TERM; echo hi; while :; do sleep 0.05; done', {
            limits: { timeMs: 300, graceMs: 3000 },
          }),
          QUIET,
        );
        expect(outcome.end).toEqual({ kind: 'timeout' });
        expect(text(outcome)).toBe('hi\nbye\n');
        expect(outcome.durationMs).toBeLessThan(2500);
      });

      it('timeout: what ignores SIGTERM is killed after the grace', async () => {
        const outcome = await run(
          sandbox,
          sh('trap "" TERM; echo hi; while :; do sleep 0.05; done', { limits: { timeMs: 300, graceMs: 300 } }),
          QUIET,
        );
        expect(outcome.end).toEqual({ kind: 'timeout' });
        expect(text(outcome)).toBe('hi\n');
        expect(outcome.durationMs).toBeLessThan(2500);
      });

      it('cancel while running', async () => {
        const abort = new AbortController();
        const running = run(sandbox, sh('echo on; sleep 20'), {
          ...QUIET,
          signal: abort.signal,
          onChunk: () => abort.abort(),
        });
        const outcome = await running;
        expect(outcome.end).toEqual({ kind: 'canceled' });
        expect(text(outcome)).toBe('on\n');
      });

      it('cancel before the start', async () => {
        const outcome = await run(sandbox, sh('echo never > /sandbox/out/x; sleep 20'), {
          ...QUIET,
          signal: AbortSignal.abort(),
        });
        expect(outcome.end).toEqual({ kind: 'canceled' });
      });

      it('kill ends it at once', async () => {
        const handle = await sandbox.prepare(sh('trap "" TERM; sleep 20'));
        const running = handle.start(QUIET);
        await sleep(200);
        await handle.kill();
        expect((await running).end).toEqual({ kind: 'signaled', signal: 'SIGKILL' });
        await handle.dispose();
      });

      it('cancel and kill at any moment of the start: an end comes, and nothing is left', async () => {
        for (let i = 0; i < 8; i++) {
          const handle = await sandbox.prepare(
            sh('trap "" TERM; (setsid sleep 5 &); sleep 5', { limits: { graceMs: 50 } }),
          );
          const abort = new AbortController();
          const running = handle.start({ ...QUIET, signal: abort.signal });
          await sleep(i * 3);
          if (i % 2 === 0) abort.abort();
          else await handle.kill();
          expect((await running).end).toEqual(
            i % 2 === 0 ? { kind: 'canceled' } : { kind: 'signaled', signal: 'SIGKILL' },
          );
          await handle.dispose();
        }
      });

      it('output over the limit ends the run, and no more than the limit is delivered', async () => {
        let seen = 0;
        const outcome = await run(
          sandbox,
          sh('while :; do echo 0123456789012345678901234567890123456789; done', { limits: { outputBytes: 100_000 } }),
          {
            ...QUIET,
            keepBytes: 1000,
            onChunk: (_, chunk) => {
              seen += chunk.length;
            },
          },
        );
        expect(outcome.end).toEqual({ kind: 'output-limit' });
        expect(seen).toBe(100_000);
        expect(outcome.stdout).toMatchObject({ bytes: 100_000, truncated: true });
        expect(outcome.stdout.text.length).toBe(1000);
      });

      it('bytes that are no text come through', async () => {
        const outcome = await run(sandbox, sh("printf '\\x00\\xff\\x1b[2J\\xc3'"), QUIET);
        expect([...outcome.stdout.text]).toEqual([0, 255, 27, 91, 50, 74, 195]);
      });

      it('what was delivered stays as it was, whatever comes after it', async () => {
        const count = (letter: string) => sh(`for i in 1 2 3 4 5 6; do echo ${letter}$i; sleep 0.02; done`);
        const said = await Promise.all(
          ['a', 'b'].map(async letter => {
            const chunks: Buffer[] = [];
            await run(sandbox, count(letter), { ...QUIET, onChunk: (_, chunk) => void chunks.push(chunk) });
            return Buffer.concat(chunks).toString();
          }),
        );
        expect(said).toEqual(['a', 'b'].map(letter => [1, 2, 3, 4, 5, 6].map(i => `${letter}${i}\n`).join('')));
      });

      it('a daemon that holds stdout open does not hold the result', async () => {
        const outcome = await run(sandbox, sh('setsid sleep 30 & disown; echo done'), QUIET);
        expect(outcome.end).toEqual({ kind: 'exited', code: 0 });
        expect(text(outcome)).toBe('done\n');
        expect(outcome.durationMs).toBeLessThan(5000);
      });

      it('reports what was used', async () => {
        const outcome = await run(
          sandbox,
          specOf(['python3', '-c', 'x = bytearray(30_000_000); sum(range(12_000_000))']),
          QUIET,
        );
        expect(outcome.end).toEqual({ kind: 'exited', code: 0 });
        expect(outcome.usage.cpuMs).toBeGreaterThan(10);
        expect(outcome.usage.maxMemoryBytes).toBeGreaterThan(30_000_000);
      });

      it('starts once, disposes twice', async () => {
        const handle = await sandbox.prepare(sh('true'));
        expect((await sandbox.list(handle.owner)).map(({ id }) => id)).toContain(handle.id);
        await handle.start(QUIET);
        await expect(handle.start(QUIET)).rejects.toThrow(/twice/);
        await handle.dispose();
        await handle.dispose();
        expect((await sandbox.list(handle.owner)).map(({ id }) => id)).not.toContain(handle.id);
      });

      it('a handle that is never started leaves nothing', async () => {
        const handle = await sandbox.prepare(sh('true'));
        await handle.dispose();
        expect((await sandbox.list(handle.owner)).map(({ id }) => id)).not.toContain(handle.id);
      });

      it('refuses what it cannot hold, with the name of the guarantee', async () => {
        const requires = new Map([['open-files', 'kernel-tree']] as const);
        await expect(sandbox.prepare(sh('true', { requires }))).rejects.toMatchObject({
          code: 'SANDBOX_CANNOT_ENFORCE',
          message: expect.stringContaining('open-files'),
        });
      });

      it('refuses a spec that makes no sense', async () => {
        for (const bad of [
          specOf([]),
          specOf(['a\0b']),
          specOf(['true'], { cwd: 'relative' }),
          specOf(['true'], { env: { 'A=B': 'x' } }),
          specOf(['true'], { limits: { timeMs: Number.NaN } }),
          specOf(['true'], { limits: { memoryBytes: -1 } }),
          ...['/a/../b', '//etc', '/a//b', '/a/', '/'].map(at =>
            specOf(['true'], { mounts: [{ kind: 'tmpfs', at, bytes: 1 }] }),
          ),
        ])
          await expect(sandbox.prepare(bad)).rejects.toMatchObject({ code: 'INTERNAL' });
      });

      it('several at once stay apart', async () => {
        const outcomes = await Promise.all(
          [1, 2, 3, 4].map(n => run(sandbox, sh(`echo ${n} > /tmp/mine; sleep 0.1; cat /tmp/mine; ls /tmp`), QUIET)),
        );
        if (holds('files')) expect(outcomes.map(text)).toEqual([1, 2, 3, 4].map(n => `${n}\nmine\n`));
      });

      it('limits: open files', async () => {
        const outcome = await run(sandbox, sh('ulimit -n; ulimit -c'), QUIET);
        if (holds('open-files')) expect(text(outcome)).toBe(`${LIMITS.openFiles}\n0\n`);
      });
    },
  );
}
