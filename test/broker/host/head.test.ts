import { describe, expect, test } from 'vitest';
import { HeadReader, parseHead } from '../../../src/broker/host/head.ts';

const head = (...lines: string[]) => lines.join('\r\n');

describe('what a host says before the body', () => {
  test('is read as it came', () => {
    const text = head('HTTP/1.1 201 Made it', 'Content-Type: a/b', 'X-Two:  words of it \t', 'x-two:', 'x: \xa0\xff');
    expect(parseHead(text, 'GET')).toMatchObject({
      status: 201,
      rawHeaders: ['Content-Type', 'a/b', 'X-Two', 'words of it', 'x-two', '', 'x', '\xa0\xff'],
    });
  });

  test.each([
    ['HTTP/1.1 200 OK', 200],
    ['HTTP/1.1 200 ', 200],
    ['HTTP/1.1 200', 200],
    ['HTTP/1.0 999 \xe4\xf6', 999],
  ])('%j is a first line', (line, status) => {
    expect(parseHead(line, 'GET').status).toBe(status);
  });

  test.each([
    '',
    'HTTP/1.1 20 OK',
    'HTTP/1.1 2000 OK',
    'HTTP/1.1 099 OK',
    'HTTP/1.2 200 OK',
    'HTTP/2 200',
    'http/1.1 200 OK',
    ' HTTP/1.1 200 OK',
    'HTTP/1.1  200 OK',
    'HTTP/1.1 200\tOK',
    'HTTP/1.1 200 O\x00K',
    'ICY 200 OK',
  ])('%j is none', line => {
    expect(() => parseHead(line, 'GET')).toThrow('first line');
  });

  test.each([
    'no colon',
    ': no name',
    'a b: c',
    'name : value',
    ' folded: value',
    '\tfolded',
    'a: b\x00c',
    'a: b\nc: d',
    'a: b\rc: d',
    'a: b\x7f',
    'n\xe4me: value',
  ])('%j is no header', line => {
    expect(() => parseHead(head('HTTP/1.1 200 OK', line, 'content-length: 0'), 'GET')).toThrow('a header of it');
  });

  test.each([
    [['content-length: 12'], 12],
    [['Content-Length: 12'], 12],
    [['content-length: 0'], 0],
    [['transfer-encoding: chunked'], 'chunked'],
    [['Transfer-Encoding: Chunked'], 'chunked'],
    [[], 'close'],
  ])('%j: where the body ends', (lines, body) => {
    expect(parseHead(head('HTTP/1.1 200 OK', ...lines), 'GET').body).toBe(body);
    expect(parseHead(head('HTTP/1.1 200 OK', ...lines), 'HEAD').body).toBe(0);
    for (const status of [204, 304]) expect(parseHead(head(`HTTP/1.1 ${status} -`, ...lines), 'GET').body).toBe(0);
  });

  test.each([
    ['content-length: 12', 'content-length: 13'],
    ['Content-Length: 12', 'content-length: 12'],
    ['content-length: 12, 12'],
    ['content-length: +12'],
    ['content-length: -1'],
    ['content-length: 0x12'],
    ['content-length: 1e3'],
    ['content-length:'],
    ['content-length: 1234567890123456'],
    ['content-length: 12', 'transfer-encoding: chunked'],
    ['transfer-encoding: chunked', 'content-length: 12'],
    ['transfer-encoding: chunked', 'transfer-encoding: chunked'],
    ['transfer-encoding: gzip, chunked'],
    ['transfer-encoding: chunked, gzip'],
    ['transfer-encoding: identity'],
    ['transfer-encoding:'],
  ])('%j %j: two programs could read it differently', (...lines) => {
    for (const method of ['GET', 'HEAD'])
      expect(() => parseHead(head('HTTP/1.1 200 OK', ...lines), method)).toThrow(/length|coded/);
  });

  test.each([
    [[], true],
    [['connection: keep-alive'], true],
    [['connection: close'], false],
    [['Connection: foo, Close'], false],
    [['connection: keep-alive', 'connection: close'], false],
    [['keep-alive: timeout=1'], false],
    [['keep-alive: max=3, timeout=5'], true],
  ])('%j: whether the connection is of use afterwards', (lines, isKept) => {
    expect(parseHead(head('HTTP/1.1 200 OK', ...lines), 'GET').keepMs > 0).toBe(isKept);
    expect(parseHead(head('HTTP/1.0 200 OK', ...lines), 'GET').keepMs).toBe(0);
  });

  test('ends with an empty line, wherever it is cut', () => {
    const text = Buffer.from('HTTP/1.1 200 OK\r\na: b\r\n\r\nbody');
    for (let cut = 0; cut <= text.length; cut++) {
      const reader = new HeadReader();
      const first = reader.read(text, 0, cut);
      expect(first === -1 ? reader.read(text, cut, text.length) : first).toBe(text.indexOf('body'));
      expect(reader.parse('GET').rawHeaders).toEqual(['a', 'b']);
    }
  });

  test.each([
    'S',
    '220 mail.example ESMTP\r\n',
    'SSH-2.0-OpenSSH_9.2\r\n',
    'HTTP/2',
    'HTTP/1.1 200 OK\na: b\n\n',
    '\n',
  ])('%j is none, and nothing that follows is waited for', said => {
    expect(() => new HeadReader().read(Buffer.from(said), 0, said.length)).toThrow('first line');
  });

  test('that does not end is refused', () => {
    const reader = new HeadReader();
    const bytes = Buffer.alloc(30_000, 'a');
    const begun = Buffer.from('HTTP/1.1 200 OK\r\na: ');
    reader.read(begun, 0, begun.length);
    reader.read(bytes, 0, bytes.length);
    reader.read(bytes, 0, bytes.length);
    expect(() => reader.read(bytes, 0, bytes.length)).toThrow('too long');
    expect(() => parseHead(`HTTP/1.1 200 OK${'\r\na: b'.repeat(2000)}`, 'GET')).toThrow('too many');
  });
});
