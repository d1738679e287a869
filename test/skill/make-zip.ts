import { crc32, deflateRawSync } from 'node:zlib';

/** A zip writer that can lie: each field defaults to the truth and can be given another value, per header. */

type Header = {
  name: string | Buffer;
  flags: number;
  method: number;
  crc: number;
  packedSize: number;
  size: number;
  extra: Buffer;
};

export type Item = {
  name: string | Buffer;
  content?: string | Buffer;
  method?: number;
  flags?: number;
  /** Instead of the compressed content. */
  packed?: Buffer;
  /** 0x0300 is unix, 0 is DOS. */
  madeBy?: number;
  /** The unix mode, in the upper half of the external attributes. */
  mode?: number;
  /** The lower half. */
  dos?: number;
  crc?: number;
  size?: number;
  packedSize?: number;
  extra?: Buffer;
  comment?: Buffer;
  /** What the local header says instead. */
  local?: Partial<Header>;
  /** Written behind the data: a descriptor, or anything. */
  after?: Buffer;
  /** Where the central record says that the local header is. */
  offset?: number;
};

export type Whole = {
  before?: Buffer;
  /** Between the last entry and the central directory. */
  between?: Buffer;
  /** Behind the last central record, counted as part of the central directory or not. */
  centralTail?: Buffer;
  countCentralTail?: boolean;
  count?: number;
  centralStart?: number;
  centralSize?: number;
  disk?: number;
  zip64?: { count?: bigint; size?: bigint; start?: bigint; record?: boolean; locate?: bigint; end32?: boolean };
  comment?: Buffer;
  after?: Buffer;
};

export function makeZip(items: Item[], whole: Whole = {}): Buffer {
  const parts: Buffer[] = [whole.before ?? Buffer.alloc(0)];
  const central: Buffer[] = [];
  let at = parts[0]?.length ?? 0;
  for (const item of items) {
    const content = Buffer.from(item.content ?? '');
    const method = item.method ?? 0;
    const packed = item.packed ?? (method === 8 ? deflateRawSync(content) : content);
    const header: Header = {
      name: item.name,
      flags: item.flags ?? 0x800,
      method,
      crc: item.crc ?? crc32(content),
      packedSize: item.packedSize ?? packed.length,
      size: item.size ?? content.length,
      extra: item.extra ?? Buffer.alloc(0),
    };
    const local = localHeader({ ...header, extra: Buffer.alloc(0), ...item.local });
    central.push(centralRecord(header, item, item.offset ?? at));
    parts.push(local, packed, item.after ?? Buffer.alloc(0));
    at += local.length + packed.length + (item.after?.length ?? 0);
  }
  const tail = whole.centralTail ?? Buffer.alloc(0);
  const between = whole.between ?? Buffer.alloc(0);
  const records = Buffer.concat(central);
  const start = whole.centralStart ?? at + between.length;
  const size = whole.centralSize ?? records.length + (whole.countCentralTail === true ? tail.length : 0);
  const end = endRecords(whole, items.length, start, size, at + between.length + records.length + tail.length);
  return Buffer.concat([...parts, between, records, tail, end, whole.after ?? Buffer.alloc(0)]);
}

function localHeader(header: Header): Buffer {
  const name = Buffer.from(header.name);
  const fixed = Buffer.alloc(30);
  fixed.writeUInt32LE(0x04034b50, 0);
  fixed.writeUInt16LE(20, 4);
  fixed.writeUInt16LE(header.flags, 6);
  fixed.writeUInt16LE(header.method, 8);
  fixed.writeUInt16LE(0x21, 12);
  fixed.writeUInt32LE(header.crc, 14);
  fixed.writeUInt32LE(header.packedSize, 18);
  fixed.writeUInt32LE(header.size, 22);
  fixed.writeUInt16LE(name.length, 26);
  fixed.writeUInt16LE(header.extra.length, 28);
  return Buffer.concat([fixed, name, header.extra]);
}

function centralRecord(header: Header, item: Item, offset: number): Buffer {
  const name = Buffer.from(header.name);
  const comment = item.comment ?? Buffer.alloc(0);
  const fixed = Buffer.alloc(46);
  fixed.writeUInt32LE(0x02014b50, 0);
  fixed.writeUInt16LE((item.madeBy ?? 0x0300) | 20, 4);
  fixed.writeUInt16LE(20, 6);
  fixed.writeUInt16LE(header.flags, 8);
  fixed.writeUInt16LE(header.method, 10);
  fixed.writeUInt16LE(0x21, 14);
  fixed.writeUInt32LE(header.crc, 16);
  fixed.writeUInt32LE(header.packedSize, 20);
  fixed.writeUInt32LE(header.size, 24);
  fixed.writeUInt16LE(name.length, 28);
  fixed.writeUInt16LE(header.extra.length, 30);
  fixed.writeUInt16LE(comment.length, 32);
  fixed.writeUInt16LE(item.dos ?? 0, 38);
  fixed.writeUInt16LE(item.mode ?? 0o100644, 40);
  fixed.writeUInt32LE(offset, 42);
  return Buffer.concat([fixed, name, header.extra, comment]);
}

function endRecords(whole: Whole, items: number, start: number, size: number, at: number): Buffer {
  const { zip64 } = whole;
  const comment = whole.comment ?? Buffer.alloc(0);
  const unset = zip64 !== undefined && zip64.end32 !== true;
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(whole.disk ?? 0, 4);
  end.writeUInt16LE(unset ? 0xffff : (whole.count ?? items), 8);
  end.writeUInt16LE(unset ? 0xffff : (whole.count ?? items), 10);
  end.writeUInt32LE(unset ? 0xffffffff : size, 12);
  end.writeUInt32LE(unset ? 0xffffffff : start, 16);
  end.writeUInt16LE(comment.length, 20);
  if (zip64 === undefined) return Buffer.concat([end, comment]);
  const record = Buffer.alloc(56);
  record.writeUInt32LE(0x06064b50, 0);
  record.writeBigUInt64LE(44n, 4);
  record.writeUInt16LE(45, 12);
  record.writeUInt16LE(45, 14);
  record.writeBigUInt64LE(zip64.count ?? BigInt(items), 24);
  record.writeBigUInt64LE(zip64.count ?? BigInt(items), 32);
  record.writeBigUInt64LE(zip64.size ?? BigInt(size), 40);
  record.writeBigUInt64LE(zip64.start ?? BigInt(start), 48);
  const locator = Buffer.alloc(20);
  locator.writeUInt32LE(0x07064b50, 0);
  locator.writeBigUInt64LE(zip64.locate ?? BigInt(at), 8);
  locator.writeUInt32LE(1, 16);
  return zip64.record === false ? Buffer.concat([end, comment]) : Buffer.concat([record, locator, end, comment]);
}

/** CRC and sizes behind the data, as streaming writers put them there. */
export function descriptor(
  content: string,
  form: 'signed' | 'bare' | 'wide' | 'wide-bare',
  packedSize: number,
): Buffer {
  const bytes = Buffer.from(content);
  const wide = form === 'wide' || form === 'wide-bare';
  const signed = form === 'signed' || form === 'wide';
  const out = Buffer.alloc((signed ? 4 : 0) + 4 + (wide ? 16 : 8));
  if (signed) out.writeUInt32LE(0x08074b50, 0);
  const at = signed ? 4 : 0;
  out.writeUInt32LE(crc32(bytes), at);
  if (wide) {
    out.writeBigUInt64LE(BigInt(packedSize), at + 4);
    out.writeBigUInt64LE(BigInt(bytes.length), at + 12);
  } else {
    out.writeUInt32LE(packedSize, at + 4);
    out.writeUInt32LE(bytes.length, at + 8);
  }
  return out;
}

/** A ZIP64 extra field with these values in it. */
export function zip64Extra(...values: number[]): Buffer {
  const out = Buffer.alloc(4 + 8 * values.length);
  out.writeUInt16LE(0x0001, 0);
  out.writeUInt16LE(8 * values.length, 2);
  for (const [at, value] of values.entries()) out.writeBigUInt64LE(BigInt(value), 4 + 8 * at);
  return out;
}
