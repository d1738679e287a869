import { type Shape, SkillboxError } from '../base/index.ts';
import { readJson } from './bodies.ts';
import { codeOfAnswer, foreign, isBreak, readRefusal, unreachable } from './refusals.ts';
import { backoffMs, isWorthAnother, MAX_WAIT_MS, retryAfterMs, type Safety } from './retries.ts';
import { jsonText, partOfPath } from './sent.ts';

/** As what an API or a web server speaks of itself. */
const WORDS = /^(?:text\/[\w.-]+|application\/(?:[\w.-]+\+)?json)\b/i;

export type ClientOptions = {
  /** Where the server is: `https://skillbox.example`. */
  url: string;
  /** An API key, or a token of an identity provider; without one, what anybody may ask. */
  key?: string | null | undefined;
  /** Instead of the global one. */
  fetch?: typeof fetch;
  /** How often a request is tried again that may be; 4 without it. */
  retries?: number;
  /** Ends everything that is under way. */
  signal?: AbortSignal;
  /** Waits this long; for tests. */
  sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
};

export type Ask = {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Each part is encoded on its own. */
  path: readonly string[];
  query?: Readonly<Record<string, string | number | boolean | readonly string[] | null | undefined>>;
  headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  json?: unknown;
  body?: ReadableStream<Uint8Array> | Blob;
  /** Whether it does no harm when it arrives twice. */
  safety: Safety;
  signal?: AbortSignal | null;
};

const RETRIES = 4;

/** Requests, tried again where that is safe; what comes back is an answer or a SkillboxError. */
export class Transport {
  readonly #base: URL;
  readonly #key: string | null;
  readonly #fetch: typeof fetch;
  readonly #retries: number;
  readonly #sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly #closing = new AbortController();
  readonly #signals: readonly AbortSignal[];

  constructor(options: ClientOptions) {
    this.#base = readUrl(options.url);
    this.#key = readKey(options.key);
    this.#fetch = options.fetch ?? ((input, init) => fetch(input, init));
    this.#retries = options.retries ?? RETRIES;
    this.#sleep = options.sleep ?? sleep;
    this.#signals = [this.#closing.signal, ...(options.signal === undefined ? [] : [options.signal])];
  }

  json<T>(ask: Ask, shape: Shape<T>): Promise<T> {
    return this.read(ask, answer => readJson(answer, shape));
  }

  /** An answer that is a success; its body is not read yet. */
  send(ask: Ask): Promise<Response> {
    return this.read(ask, async answer => answer);
  }

  /** What answers nothing but that it is done; whatever says more than that is something else. */
  done(ask: Ask): Promise<void> {
    return this.read(ask, async answer => {
      if (answer.status === 204) return;
      answer.body?.cancel().catch(() => undefined); // nobody reads it
      throw foreign(answer.status);
    });
  }

  /** Somebody's bytes. Our server says that they are to be saved; where a proxy has dropped that, words for people or programs are none. */
  bytes(ask: Ask): Promise<Response> {
    return this.read(ask, async answer => {
      const { headers } = answer;
      if (headers.has('content-disposition') || !WORDS.test(headers.get('content-type') ?? '')) return answer;
      answer.body?.cancel().catch(() => undefined); // nobody reads it
      throw foreign(answer.status);
    });
  }

  /** What is taken of an answer that is a success; one that breaks off meanwhile was lost. */
  async read<T>(ask: Ask, take: (answer: Response) => Promise<T>): Promise<T> {
    const signal = this.signalOf(ask.signal);
    for (let attempt = 0; ; attempt++) {
      const { answer, fault } = await this.#once(ask, signal, take);
      if (answer !== null && 'taken' in answer) return answer.taken;
      const refusal = answer === null ? fault : await readRefusal(answer);
      const asked = answer === null ? null : retryAfterMs(answer.headers.get('retry-after'));
      const again = isWorthAnother(ask.safety, answer?.status ?? null, codeOfAnswer(refusal));
      if (!again || attempt >= this.#retries || (asked ?? 0) > MAX_WAIT_MS) throw refusal;
      await this.pause(attempt, asked, signal);
    }
  }

  /** Waits before another try: as long as the server says, or longer each time. */
  async pause(attempt: number, askedMs: number | null, signal: AbortSignal): Promise<void> {
    await this.#sleep(askedMs ?? backoffMs(attempt), signal);
    signal.throwIfAborted();
  }

  signalOf(own: AbortSignal | null | undefined): AbortSignal {
    return AbortSignal.any([...this.#signals, ...(own === null || own === undefined ? [] : [own])]);
  }

  close(): void {
    this.#closing.abort(new SkillboxError('CANCELED', 'the client is closed'));
  }

  async #once<T>(
    ask: Ask,
    signal: AbortSignal,
    take: (answer: Response) => Promise<T>,
  ): Promise<{ answer: Response | { taken: T } | null; fault: unknown }> {
    signal.throwIfAborted();
    const { method, json } = ask;
    const body = json === undefined ? (ask.body ?? null) : jsonText(json);
    const headers = {
      accept: 'application/json',
      ...(this.#key === null ? {} : { authorization: `Bearer ${this.#key}` }),
      ...(json === undefined ? {} : { 'content-type': 'application/json' }),
      ...ask.headers,
    };
    // A key is not carried to wherever somebody points.
    const init = { method, headers, body, signal, redirect: 'error' as const, duplex: 'half' as const };
    const url = this.#urlOf(ask);
    let answer: Response;
    try {
      answer = await this.#fetch(url, init);
    } catch (cause) {
      if (signal.aborted) throw signal.reason;
      return { answer: null, fault: unreachable(this.#base, cause) };
    }
    if (!answer.ok) return { answer, fault: null };
    try {
      return { answer: { taken: await take(requireOurs(answer)) }, fault: null };
    } catch (fault) {
      if (isBreak(fault)) return { answer: null, fault };
      throw fault;
    }
  }

  #urlOf({ path, query = {} }: Ask): URL {
    const url = new URL(this.#base);
    url.pathname = `${url.pathname}${path.map(partOfPath).join('/')}`;
    for (const [name, value] of Object.entries(query)) {
      if (value === null || value === undefined) continue;
      for (const each of typeof value === 'object' ? value : [value]) url.searchParams.append(name, String(each));
    }
    return url;
  }
}

/** Threat: a page that answers whatever is asked, as if all were well, would be taken for what was asked for. */
function requireOurs(answer: Response): Response {
  if (!/^\s*text\/html\b/i.test(answer.headers.get('content-type') ?? '')) return answer;
  answer.body?.cancel().catch(() => undefined); // nobody reads it
  throw foreign(answer.status);
}

function readUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw new SkillboxError('USAGE', 'the address of the server is not an http or https URL');
  if (url.username !== '' || url.password !== '')
    throw new SkillboxError('USAGE', 'the address of the server holds a password; give the key apart from it');
  url.search = '';
  url.hash = '';
  if (!url.pathname.endsWith('/')) url.pathname += '/';
  if (url.pathname === '/v1/')
    throw new SkillboxError('USAGE', 'the address of the server ends before /v1', { hint: `Write ${url.origin}.` });
  return url;
}

/** Never shown, not even when it is wrong. */
function readKey(key: string | null = null): string | null {
  if (key === null || key === '') return null;
  if (!/^[\x21-\x7e]+$/.test(key)) throw new SkillboxError('USAGE', 'the API key holds characters that no key has');
  return key;
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done);
  });
}
