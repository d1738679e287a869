import { execFile } from 'node:child_process';
import { connect } from 'node:net';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { archiveOf, listening, publish, type Served, serveWorld } from './world.ts';

let served: Served;
let url: string;
beforeAll(async () => {
  served = await serveWorld({ syncWaitMs: 2000 });
  url = await listening(served.server);
});
beforeEach(async () => {
  served.world.tenants.clear();
  for (const name of ['hello-python', 'fail-a', 'wait-a']) await publish(served.server, name);
});
afterAll(() => served.server.close());

type Answer = { status: number; headers: string; body: string };

/** One request at the wire, written as the client's own HTTP library writes it. */
async function wire(head: string[], body: Buffer | null = null, chunked = false): Promise<Answer> {
  const { port } = new URL(url);
  const socket = connect(Number(port), '127.0.0.1');
  const host = `Host: 127.0.0.1:${port}`;
  const [first = '', ...rest] = head;
  socket.write([first, host, ...rest, 'Connection: close', '', ''].join('\r\n'));
  if (body !== null && !chunked) socket.write(body);
  if (body !== null && chunked) {
    for (let at = 0; at < body.length; at += 7) {
      const piece = body.subarray(at, at + 7);
      socket.write(`${piece.length.toString(16)}\r\n`);
      socket.write(piece);
      socket.write('\r\n');
    }
    socket.write('0\r\n\r\n');
  }
  const parts: Buffer[] = [];
  for await (const part of socket) parts.push(part as Buffer);
  const [headers = '', ...bodies] = Buffer.concat(parts).toString().split('\r\n\r\n');
  const text = bodies.join('\r\n\r\n');
  const whole = /transfer-encoding: chunked/i.test(headers) ? unchunk(text) : text;
  return { status: Number(headers.split(' ')[1]), headers, body: whole };
}

function unchunk(text: string): string {
  let rest = text;
  let whole = '';
  for (;;) {
    const [size = '0'] = rest.split('\r\n', 1);
    const length = Number.parseInt(size, 16);
    if (!(length > 0)) return whole;
    whole += rest.slice(size.length + 2, size.length + 2 + length);
    rest = rest.slice(size.length + 4 + length);
  }
}

describe('the published Go client (SB-14)', () => {
  const headers = ['User-Agent: Go-http-client/1.1', 'Authorization: Bearer all', 'Accept-Encoding: gzip'];
  const go = (method: string, path: string, body: object | null = null) => {
    const text = body === null ? null : Buffer.from(JSON.stringify(body));
    const more = text === null ? [] : ['Content-Type: application/json', `Content-Length: ${text.length}`];
    return wire([`${method} ${path} HTTP/1.1`, ...headers, ...more], text);
  };

  it('runs a skill, reads it again, and its log', async () => {
    const ran = await go('POST', '/v1/executions', { skill: 'hello-python', input: { data: [1, 2, 3] } });
    expect(ran.status).toBe(200);
    const result = JSON.parse(ran.body);
    // Each field is of the type that the client's structure has, or null where Go leaves it as it was.
    expect(result).toMatchObject({
      execution_id: expect.any(String),
      status: 'success',
      output: { echo: { data: [1, 2, 3] } },
      files_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\//),
      files_list: ['out/hello.html'],
      logs: 'one\ntwo\nthree\n',
      duration_ms: 7,
      error: null,
    });
    const again = await go('GET', `/v1/executions/${result.execution_id}`);
    expect(JSON.parse(again.body)).toMatchObject({
      execution_id: result.execution_id,
      status: 'success',
      logs: result.logs,
    });
    const logs = await go('GET', `/v1/executions/${result.execution_id}/logs`);
    expect([logs.status, logs.body]).toEqual([200, 'one\ntwo\nthree\n']);
    expect(() => JSON.parse(logs.body)).toThrow();
  });

  it('sends what it leaves empty, and sees a failure and a wait as results', async () => {
    const failed = JSON.parse(
      (await go('POST', '/v1/executions', { skill: 'fail-a', version: '1.0.0', env: { A: 'b' } })).body,
    );
    expect([failed.status, failed.error, failed.files_url]).toEqual(['failed', 'it ended with exit code 3', null]);
    const waits = await go('POST', '/v1/executions', { skill: 'wait-a' });
    expect([waits.status, JSON.parse(waits.body).status]).toEqual([202, 'pending']);
  });

  it('uploads a form in pieces, of a length that nobody knows', async () => {
    const form = Buffer.concat([
      Buffer.from(
        '--b0\r\nContent-Disposition: form-data; name="file"; filename="a.zip"\r\nContent-Type: application/octet-stream\r\n\r\n',
      ),
      archiveOf('a', '1.0.0'),
      Buffer.from('\r\n--b0--\r\n'),
    ]);
    const head = [
      'POST /v1/skills HTTP/1.1',
      ...headers,
      'Content-Type: multipart/form-data; boundary=b0',
      'Transfer-Encoding: chunked',
    ];
    expect((await wire(head, form, true)).status).toBe(201);
    expect((await wire(head, form, true)).status).toBe(200);
  });

  it('lists, shows, compares and removes skills', async () => {
    const list = JSON.parse((await go('GET', '/v1/skills')).body);
    expect(Array.isArray(list)).toBe(true);
    expect(list[0]).toMatchObject({
      name: 'hello-python',
      version: '1.0.0',
      description: 'does hello-python',
      status: 'available',
    });
    expect(JSON.parse((await go('GET', '/v1/skills?status=available')).body).length).toBe(3);
    const detail = JSON.parse((await go('GET', '/v1/skills/hello-python/1.0.0')).body);
    expect(detail).toMatchObject({ name: 'hello-python', lang: 'python', instructions: '# hello-python' });
    const versions = JSON.parse((await go('GET', '/v1/skills/hello-python/versions')).body);
    expect(versions[0]).toMatchObject({ version: '1.0.0', status: 'available', active: true });
    expect(new Date(versions[0].uploaded_at).toISOString()).toBe(versions[0].uploaded_at);
    const [file] = JSON.parse((await go('GET', '/v1/skills/hello-python/1.0.0/files?path=SKILL.md')).body);
    expect(file).toEqual({ path: 'SKILL.md', content: 'skill hello-python 1.0.0\n', size_bytes: 25 });
    const diff = JSON.parse((await go('GET', '/v1/skills/hello-python/diff?to=1.0.0')).body);
    expect(diff.files[0]).toMatchObject({
      path: 'SKILL.md',
      status: 'changed',
      lines: [
        { op: '-', text: 'old' },
        { op: '+', text: 'new' },
      ],
    });
    const gone = await go('DELETE', '/v1/skills/hello-python/1.0.0');
    expect([gone.status, gone.body]).toEqual([204, '']);
  });

  it('reads errors, and a tenant that is not that of the key', async () => {
    const missing = await go('GET', '/v1/skills/none/1.0.0');
    expect([missing.status, JSON.parse(missing.body)]).toEqual([
      404,
      expect.objectContaining({ error: 'NOT_FOUND', message: expect.any(String) }),
    ]);
    const other = await wire(['GET /v1/skills HTTP/1.1', ...headers, 'X-Tenant-ID: tenant-42']);
    expect([other.status, JSON.parse(other.body).error]).toEqual([403, 'FORBIDDEN']);
  });
});

/** What the published Python client does, said again with nothing but the standard library, as it does it. */
const PYTHON = `
import json, sys, uuid
from urllib.error import HTTPError
from urllib.request import Request, urlopen
base, key = sys.argv[1], sys.argv[2]
def ask(method, path, body=None, kind="application/json"):
    request = Request(base + path, method=method)
    request.add_header("Authorization", "Bearer " + key)
    if body is not None:
        request.add_header("Content-Type", kind)
        request.data = body
    try:
        return urlopen(request, timeout=20)
    except HTTPError as error:
        return error
found = {}
run = ask("POST", "/v1/executions", json.dumps({"skill": "hello-python", "input": {"x": 1}}).encode())
result = json.loads(run.read())
found["run"] = [run.status] + [result.get(n) for n in ("status", "output", "files_list", "logs", "duration_ms", "error")]
found["files"] = bool(result.get("files_url"))
found["again"] = json.loads(ask("GET", "/v1/executions/" + result["execution_id"]).read())["status"]
found["logs"] = ask("GET", "/v1/executions/" + result["execution_id"] + "/logs").read().decode()
border = uuid.uuid4().hex
form = b"\\r\\n".join([("--" + border).encode(), b'Content-Disposition: form-data; name="file"; filename="a.zip"',
    b"Content-Type: application/zip", b"", b"skill from-python 1.0.0\\n", ("--" + border + "--").encode(), b""])
found["upload"] = ask("POST", "/v1/skills", form, "multipart/form-data; boundary=" + border).status
skills = json.loads(ask("GET", "/v1/skills").read())
found["skills"] = [isinstance(skills, list), [s["name"] for s in skills], [s.get("lang", "") for s in skills]]
detail = json.loads(ask("GET", "/v1/skills/fail-a/latest").read())
found["detail"] = [detail.get(n, "") for n in ("name", "version", "lang", "image", "instructions", "timeout")] + [detail.get("resources") or {}]
bad = ask("GET", "/v1/executions/nothing")
refused = json.loads(bad.read())
found["error"] = [bad.code, refused["error"], bool(refused["message"])]
print(json.dumps(found))
`;

describe('the published Python client (SB-14)', () => {
  it('runs, reads, uploads and lists', async () => {
    const { stdout } = await promisify(execFile)('python3', ['-c', PYTHON, url, 'all'], { timeout: 30_000 });
    expect(JSON.parse(stdout)).toEqual({
      run: [200, 'success', { echo: { x: 1 } }, ['out/hello.html'], 'one\ntwo\nthree\n', 7, null],
      files: true,
      again: 'success',
      logs: 'one\ntwo\nthree\n',
      upload: 201,
      skills: [true, ['hello-python', 'fail-a', 'wait-a', 'from-python'], ['', '', '', '']],
      detail: ['fail-a', '1.0.0', '', '', '# fail-a', '', {}],
      error: [404, 'NOT_FOUND', true],
    });
  });
});
