import { createHash } from 'node:crypto';

/** An entry of a tar as a liar would write it: nothing is checked, and every field can contradict another. */
export type TarItem = {
  name: string;
  /** `0` file, `1` hard link, `2` symbolic link, `3` and `4` devices, `5` directory, `6` FIFO, or any other flag. */
  type?: string;
  data?: string | Buffer;
  link?: string;
  mode?: number;
  mtime?: number;
  /** Said instead of the length of the data. */
  size?: number;
  /** Extended attributes, in a header of their own before the entry. */
  pax?: Record<string, string>;
  /** Raw bytes of the name, for what is no UTF-8. */
  rawName?: Buffer;
};

const BLOCK = 512;

export function makeTar(items: readonly TarItem[], end = true): Buffer {
  const parts = items.flatMap(item => [
    ...(item.pax === undefined ? [] : [paxEntry(item.pax)]),
    ...(Buffer.byteLength(item.name) > 100 ? [longName('L', item.name)] : []),
    ...(Buffer.byteLength(item.link ?? '') > 100 ? [longName('K', item.link ?? '')] : []),
    entry(item),
  ]);
  return Buffer.concat([...parts, Buffer.alloc(end ? 2 * BLOCK : 0)]);
}

function longName(type: string, text: string): Buffer {
  return entry({ name: '././@LongLink', type, data: `${text}\0` });
}

function paxEntry(pax: Record<string, string>): Buffer {
  const lines = Object.entries(pax).map(([key, value]) => {
    const rest = ` ${key}=${value}\n`;
    let length = Buffer.byteLength(rest);
    while (String(length).length + Buffer.byteLength(rest) !== length) length++;
    return `${length}${rest}`;
  });
  return entry({ name: 'PaxHeader', type: 'x', data: lines.join('') });
}

function entry({
  name,
  type = '0',
  data = '',
  link = '',
  mode = 0o644,
  mtime = 1_700_000_000,
  size,
  rawName,
}: TarItem) {
  const content = Buffer.from(data);
  const header = Buffer.alloc(BLOCK);
  (rawName ?? Buffer.from(name)).copy(header, 0, 0, 100);
  header.write(`${mode.toString(8).padStart(7, '0')}\0`, 100);
  header.write('0000000\0', 108);
  header.write('0000000\0', 116);
  header.write(`${(size ?? content.length).toString(8).padStart(11, '0')}\0`, 124);
  header.write(`${mtime.toString(8).padStart(11, '0')}\0`, 136);
  header.write(type, 156);
  Buffer.from(link).copy(header, 157, 0, 100);
  header.write('ustar\x0000', 257);
  header.fill(' ', 148, 156);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return Buffer.concat([header, content, Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK)]);
}

export const file = (name: string, data: string | Buffer = name, mode = 0o644): TarItem => ({ name, data, mode });
export const dir = (name: string): TarItem => ({ name: `${name}/`, type: '5', mode: 0o755 });
export const link = (name: string, target: string): TarItem => ({ name, type: '2', link: target, mode: 0o777 });
export const hard = (name: string, target: string): TarItem => ({ name, type: '1', link: target });

export function sha256(data: string | Buffer): string {
  return createHash('sha256').update(data).digest('hex');
}

/** Keeps the sums of headers right, so that a change is looked at and not only its sum. */
export function fixSums(tar: Buffer): void {
  for (let at = 0; at + BLOCK <= tar.length; at += BLOCK) {
    const header = tar.subarray(at, at + BLOCK);
    if (header.toString('latin1', 257, 262) !== 'ustar') continue;
    header.fill(' ', 148, 156);
    const sum = header.reduce((total, value) => total + value, 0);
    header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  }
}
