/** Types that no browser runs anything of. Whatever else is stored, HTML and SVG above all, is bytes to save. */
const HARMLESS: ReadonlySet<string> = new Set([
  'application/gzip',
  'application/json',
  'application/octet-stream',
  'application/zip',
  'image/gif',
  'image/jpeg',
  'image/png',
  'image/webp',
  'text/csv',
  'text/plain',
]);

/**
 * How stored content is handed out: to be saved, never shown. Threat: a skill's HTML or SVG, opened under the address of the
 * server, would act there with the rights of whoever looks at it.
 */
export function attachment(filename: string, contentType: string): { type: string; disposition: string } {
  const bare = (contentType.split(';', 1)[0] ?? '').trim().toLowerCase();
  const type = HARMLESS.has(bare) ? bare : 'application/octet-stream';
  return {
    type: type.startsWith('text/') ? `${type}; charset=utf-8` : type,
    disposition: dispositionOf(saveName(filename)),
  };
}

const MAX_NAME = 150;

/** The last part of a path, without what would end a header line, name another folder, or hide the ending from a reader. */
function saveName(filename: string): string {
  const last = filename.toWellFormed().split(/[\\/]/).pop() ?? '';
  const plain = last.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}"*:<>?|]/gu, '_').replace(/^[.\s]+|[.\s]+$/gu, '');
  return Array.from(plain).slice(-MAX_NAME).join('') || 'download';
}

/** Both forms: old clients read the first, all others the second (RFC 6266). */
function dispositionOf(name: string): string {
  const ascii = name.replace(/[^\x20-\x7e]|[%\\]/gu, '_');
  const encoded = encodeURIComponent(name).replace(
    /['()*!]/g,
    sign => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`;
}
