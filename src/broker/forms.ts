/** A value shorter than this would be found in innocent text all the time. */
const LEAST_BYTES = 6;

/**
 * How a value may come back in an answer: as it is, in base64 (which looks different at each of three offsets), in hex, in a
 * URL or in JSON. A net against accidents and plain echoes; whoever can make a host compute can have it spell a key otherwise.
 */
export function formsOf(value: string): Buffer[] {
  const bytes = Buffer.from(value);
  if (bytes.length < LEAST_BYTES) return [bytes].filter(({ length }) => length > 0);
  const json = JSON.stringify(value).slice(1, -1);
  const texts = [
    value,
    json,
    json.replaceAll('/', '\\/'),
    encodeURIComponent(value),
    encodeURIComponent(value).replace(/%../g, code => code.toLowerCase()),
    new URLSearchParams([['', value]]).toString().slice(1),
    bytes.toString('hex'),
    bytes.toString('hex').toUpperCase(),
    ...base64Forms(bytes),
  ];
  return [...new Set(texts)].map(text => Buffer.from(text)).sort((a, b) => b.length - a.length);
}

/** Without the characters at either end that depend on what stands beside the value. */
function base64Forms(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap(offset => {
    const padded = Buffer.concat([Buffer.alloc(offset), bytes]);
    const whole = Math.floor((padded.length * 8) / 6);
    const text = padded.toString('base64').slice(offset === 0 ? 0 : offset + 1, whole);
    return [text, text.replaceAll('+', '-').replaceAll('/', '_')];
  });
}
