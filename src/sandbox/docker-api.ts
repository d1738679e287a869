import type { Socket } from 'node:net';
import { PassThrough, type Readable } from 'node:stream';
import { SkillboxError } from '../base/index.ts';

// Asked for when an engine is spoken to: importing it brings the whole of HTTP along, which a run in bubblewrap never needs.
const httpRequest = () => process.getBuiltinModule('node:http').request;

const VERSION = '/v1.41';
const MAX_PROGRESS = 64 * 1024;

/** The Engine API over its unix socket: Docker's, and Podman's compatible one. */
export type Engine = {
  call<T>(method: string, path: string, body?: object): Promise<T>;
  /** A tar, as it is made; ends when the engine has taken it. */
  send(path: string, tar: Readable): Promise<void>;
  /**
   * What a container says, or its input. Each has a connection of its own: where input is not taken to its end, its connection
   * breaks, and what was said and not yet read would be lost with it.
   */
  attach(id: string, which: 'output' | 'input'): Promise<Socket>;
};

/** The daemon answered with an error; `status` 404 is "no such thing". */
export class EngineError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export function openEngine(socketPath: string): Engine {
  return {
    call: <T>(method: string, path: string, body?: object) =>
      new Promise<T>((resolve, reject) => {
        const text = body === undefined ? undefined : JSON.stringify(body);
        const headers =
          text === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) };
        const request = httpRequest()({ socketPath, method, path: VERSION + path, headers }, response => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('error', reject);
          response.on('end', () => {
            const answer = Buffer.concat(chunks).toString('utf8');
            const status = response.statusCode ?? 0;
            if (status < 400)
              resolve(
                (response.headers['content-type']?.includes('json') && answer !== ''
                  ? JSON.parse(answer)
                  : answer) as T,
              );
            else reject(new EngineError(status, messageOf(answer)));
          });
        });
        request.on('error', error =>
          reject(
            new SkillboxError(
              'SANDBOX_UNAVAILABLE',
              `The container engine at ${socketPath} does not answer: ${error.message}.`,
              { cause: error },
            ),
          ),
        );
        request.end(text);
      }),
    send: (path, tar) =>
      new Promise<void>((resolve, reject) => {
        const headers = { 'Content-Type': 'application/x-tar', 'Transfer-Encoding': 'chunked' };
        const request = httpRequest()({ socketPath, method: 'POST', path: VERSION + path, headers }, response => {
          let answer = '';
          response.setEncoding('utf8');
          response.on('data', (chunk: string) => {
            answer = (answer + chunk).slice(-MAX_PROGRESS);
          });
          response.on('error', reject);
          response.on('end', () => {
            const status = response.statusCode ?? 0;
            // What goes wrong while it reads is told in the last line, under a status that says all is well.
            const [, fault] = /"error":"((?:[^"\\]|\\.)*)"/.exec(answer) ?? [];
            if (status < 400 && fault === undefined) resolve();
            else reject(new EngineError(status, fault ?? messageOf(answer)));
          });
        });
        request.on('error', reject);
        tar.on('error', error => request.destroy(error));
        tar.pipe(request);
      }),
    attach: (id, which) =>
      new Promise<Socket>((resolve, reject) => {
        const streams = which === 'output' ? 'stdout=1&stderr=1' : 'stdin=1';
        const path = `${VERSION}/containers/${id}/attach?stream=1&${streams}`;
        const request = httpRequest()({
          socketPath,
          method: 'POST',
          path,
          headers: { Connection: 'Upgrade', Upgrade: 'tcp' },
        });
        request.on('upgrade', (_, socket, head) => {
          if (head.length > 0) socket.unshift(head);
          resolve(socket as Socket);
        });
        request.on('response', response => {
          let answer = '';
          response.setEncoding('utf8');
          response.on('data', (chunk: string) => {
            answer = (answer + chunk).slice(-MAX_PROGRESS);
          });
          response.on('error', reject);
          response.on('end', () => reject(new EngineError(response.statusCode ?? 0, messageOf(answer))));
        });
        request.on('error', reject);
        request.end();
      }),
  };
}

function messageOf(text: string): string {
  try {
    const { message } = JSON.parse(text) as { message?: unknown };
    return typeof message === 'string' ? message : text;
  } catch {
    return text; // not every error is JSON
  }
}

/** Splits the engine's one stream into two; a slow reader of either slows both. */
export function demultiplex(socket: Socket): { stdout: PassThrough; stderr: PassThrough } {
  const streams = { stdout: new PassThrough(), stderr: new PassThrough() };
  let header = Buffer.alloc(0);
  let left = 0;
  let target = streams.stdout;
  const full = new Set<PassThrough>();
  socket.on('data', (chunk: Buffer) => {
    let rest = chunk;
    while (rest.length > 0) {
      if (left === 0) {
        const need = 8 - header.length;
        header = Buffer.concat([header, rest.subarray(0, need)]);
        rest = rest.subarray(need);
        if (header.length < 8) return;
        target = header[0] === 2 ? streams.stderr : streams.stdout;
        left = header.readUInt32BE(4);
        header = Buffer.alloc(0);
        continue;
      }
      const part = rest.subarray(0, left);
      left -= part.length;
      rest = rest.subarray(part.length);
      if (target.write(part) || full.has(target)) continue;
      const waited = target;
      full.add(waited);
      socket.pause();
      waited.once('drain', () => {
        full.delete(waited);
        if (full.size === 0) socket.resume();
      });
    }
  });
  const end = () => {
    streams.stdout.end();
    streams.stderr.end();
  };
  socket.on('end', end);
  socket.on('close', end);
  socket.on('error', end);
  return streams;
}

/** Takes PID 1's report off the end of stderr: whatever follows the nonce, which the program never saw. */
export function splitReport(source: PassThrough, nonce: string): { stderr: PassThrough; report: () => string } {
  const marker = Buffer.from(`\0${nonce}\n`);
  const stderr = new PassThrough();
  let held = Buffer.alloc(0);
  let found: Buffer[] | null = null;
  source.on('data', (chunk: Buffer) => {
    if (found !== null) {
      found.push(chunk);
      return;
    }
    held = Buffer.concat([held, chunk]);
    const at = held.indexOf(marker);
    // The beginning of a marker is held back, and nothing else: a line that waits would stand behind what came later.
    const pass = held.subarray(0, at >= 0 ? at : beginningOf(marker, held));
    if (at >= 0) found = [held.subarray(at + marker.length)];
    held = held.subarray(pass.length);
    if (pass.length === 0 || stderr.write(pass)) return;
    source.pause();
    stderr.once('drain', () => source.resume());
  });
  source.on('end', () => stderr.end(found === null ? held : undefined));
  return { stderr, report: () => (found === null ? '' : Buffer.concat(found).toString('utf8')) };
}

/** Where at the end of the bytes the marker may have begun; its first byte stands in it once. Their length when it has not. */
function beginningOf(marker: Buffer, bytes: Buffer): number {
  const at = bytes.lastIndexOf(marker.subarray(0, 1));
  return at >= 0 && marker.subarray(0, bytes.length - at).equals(bytes.subarray(at)) ? at : bytes.length;
}
