/**
 * Every way in which a secret is looked for, in what a run prints and in what a host answers: as it is, in base64 (which looks
 * different at each of three offsets), in hex, in a URL and in JSON, each as the common libraries write it.
 */
export function encodingsOf(value: string): Buffer[] {
  const bytes = Buffer.from(value);
  const texts = new Set([
    value,
    ...hexForms(bytes),
    ...base64Forms(bytes),
    ...urlForms(value, bytes),
    ...jsonForms(value),
  ]);
  return [...texts].map(text => Buffer.from(text));
}

/**
 * The same of one that went in a header, where a letter of Latin-1 is one byte, so that a host may have read other bytes than the
 * value's own. Nothing where they are the same, or where no header can hold it.
 */
export function headerEncodingsOf(value: string): Buffer[] {
  if (!/[\x80-\xff]/.test(value) || /[^\x00-\xff]/.test(value)) return [];
  const bytes = Buffer.from(value, 'latin1');
  const form = value.replace(/[^\w.~-]/g, one => `%${Buffer.from(one, 'latin1').toString('hex').toUpperCase()}`);
  const texts = [...hexForms(bytes), ...base64Forms(bytes), form, form.replace(/%../g, code => code.toLowerCase())];
  return [bytes, ...texts.map(text => Buffer.from(text))];
}

/** Of a value's encodings, those that programs break into lines as they write them. */
export function wrappedEncodingsOf(value: string): Buffer[] {
  const bytes = Buffer.from(value);
  return [...new Set([...hexForms(bytes), ...base64Forms(bytes)])].map(text => Buffer.from(text));
}

function hexForms(bytes: Buffer): string[] {
  const hex = bytes.toString('hex');
  return [hex, hex.toUpperCase()];
}

/** Only the characters that the value alone decides: those at its ends also hold bits of what stands beside it. */
function base64Forms(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap(offset => {
    const shifted = Buffer.concat([Buffer.alloc(offset), bytes]);
    const first = Math.ceil((offset * 8) / 6);
    const last = Math.floor((shifted.length * 8) / 6);
    return [shifted.toString('base64').slice(first, last), shifted.toString('base64url').slice(first, last)];
  });
}

function urlForms(value: string, bytes: Buffer): string[] {
  const component = encodeURIComponent(value.toWellFormed());
  const strict = component.replace(/[!'()*]/g, each => `%${each.charCodeAt(0).toString(16).toUpperCase()}`);
  const all = bytes.toString('hex').toUpperCase().replace(/../g, '%$&');
  const forms = [
    component,
    strict,
    strict.replaceAll('%2F', '/'),
    encodeURI(value.toWellFormed()),
    new URLSearchParams([['', value]]).toString().slice(1),
    all,
  ];
  return forms.flatMap(form => [form, form.replace(/%../g, code => code.toLowerCase())]);
}

function jsonForms(value: string): string[] {
  const plain = JSON.stringify(value).slice(1, -1);
  // Some escape what HTML could read, some the slash, some all that is not ASCII.
  const html = plain.replace(/[<>&]/g, escaped);
  const ascii = plain.replace(/[^\x20-\x7e]/g, escaped);
  return [plain, html, ascii].flatMap(form => [form, form.replaceAll('/', '\\/'), upperEscapes(form)]);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

function upperEscapes(text: string): string {
  return text.replace(/\\u[0-9a-f]{4}/g, code => `\\u${code.slice(2).toUpperCase()}`);
}
