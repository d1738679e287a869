import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { attachment } from '../../src/base/index.ts';

describe('stored content is handed out to be saved', () => {
  test.each([
    'text/html',
    'TEXT/HTML; charset=utf-8',
    'image/svg+xml',
    'application/xhtml+xml',
    'text/xml',
    'application/pdf',
    'text/javascript',
    'multipart/x-mixed-replace',
    '',
    'text/plain\r\nX: y',
  ])('%j is only bytes', type => expect(attachment('a', type).type).toBe('application/octet-stream'));

  test('harmless types stay', () => {
    expect(attachment('a', 'application/gzip').type).toBe('application/gzip');
    expect(attachment('a', 'image/png; x=y').type).toBe('image/png');
    expect(attachment('a', 'text/plain; charset=utf-16').type).toBe('text/plain; charset=utf-8');
  });

  test('any name makes one header value of plain ASCII that is an attachment', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string(), (name, type) => {
        const { disposition, type: sent } = attachment(name, type);
        expect(disposition).toMatch(/^attachment; filename="[\x20-\x7e]+"; filename\*=UTF-8''[A-Za-z0-9%._~-]+$/);
        expect(disposition.match(/"/g)).toHaveLength(2);
        expect(sent).toMatch(/^[a-z]+\/[a-z-]+(; charset=utf-8)?$/);
        const decoded = decodeURIComponent(disposition.split("UTF-8''")[1] ?? '');
        expect(decoded).not.toMatch(/[/\\\p{Cc}\p{Cf}]/u);
      }),
    );
  });

  test.each([
    ['out/report.html', 'report.html'],
    ['../../etc/passwd', 'passwd'],
    ['a\\b.exe', 'b.exe'],
    ['..', 'download'],
    ['', 'download'],
    ['über "x".txt', 'über _x_.txt'],
    ['gpj.\u202eexe', 'gpj._exe'],
  ])('%j is saved as %j', (name, saved) => {
    const { disposition } = attachment(name, 'text/plain');
    expect(decodeURIComponent(disposition.split("UTF-8''")[1] ?? '')).toBe(saved);
  });
});
