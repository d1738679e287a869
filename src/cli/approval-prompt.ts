import { type Answer, type Channel, localActor, type Question, type Reply } from '../app.ts';
import type { Io } from './io.ts';
import { renderQuestion } from './render-question.ts';

/** Variables that agents set in the shells that they drive: who sits there is then not a person. */
const AGENT_VARIABLES = [
  'SKILLBOX_AGENT',
  'AI_AGENT',
  'CLAUDECODE',
  'CLAUDE_CODE',
  'CODEX_SANDBOX',
  'CURSOR_AGENT',
  'GEMINI_CLI',
  'OPENCODE',
  'GOOSE_TERMINAL',
  'REPLIT_AGENT',
];

const CHOICES: Readonly<Record<Answer, { key: string; says: string }>> = {
  once: { key: 'o', says: 'run it this one time' },
  always: { key: 'a', says: 'run it now, and later as long as nothing of it changes' },
  deny: { key: 'd', says: 'do not run it' },
  'deny-always': { key: 'D', says: 'do not run it, and never ask again for this content' },
};
const MAX_TRIES = 3;
const DAY_MS = 86_400_000;

/**
 * Whether a person can be asked here: a terminal on every side, and no sign of an agent that drives it. An agent that hides
 * what it is can still allocate a terminal; SECURITY.md says what that means.
 */
export function isPerson(io: Io): boolean {
  return io.interactive && !isAgent(io);
}

export function isAgent(io: Io): boolean {
  return AGENT_VARIABLES.some(name => (io.env[name] ?? '') !== '');
}

/**
 * An answer that stands on a command line. What an agent types is an answer that it passes on, as by elicitation: policy lets
 * that widen nothing.
 */
export function replyFrom(io: Io, answer: Answer, channel: Channel): Reply {
  return { answer, channel: isAgent(io) ? 'elicitation' : channel, by: localActor().id };
}

/** Shows everything, then asks. Whatever is no clear yes is a no: an empty line, end of input, Ctrl-C, three strange words. */
export async function promptForApproval(question: Question, io: Io): Promise<Reply> {
  const offered = question.answers.terminal ?? [];
  io.err(`${renderQuestion(question, io.columns, io.paint)}\n`);
  for (const answer of offered) {
    const { key, says } = CHOICES[answer];
    const lasts = answer === 'always' ? `, for ${Math.ceil(question.alwaysMs / DAY_MS)} days` : '';
    io.err(`  ${io.paint('bold', key)}  ${answer.replace('-', ' ')}: ${says}${lasts}\n`);
  }
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const typed = await io.askPerson(
      `Answer (${offered.map(answer => CHOICES[answer].key).join('/')}, empty is deny): `,
    );
    if (typed === null || typed === '') break;
    const answer = offered.find(each => isMeant(typed, each));
    if (answer !== undefined) return replyFrom(io, answer, 'terminal');
    io.err('That is none of the answers.\n');
  }
  return replyFrom(io, 'deny', 'terminal');
}

/** One letter by its case, because d and D differ; words in any. */
function isMeant(typed: string, answer: Answer): boolean {
  const { key } = CHOICES[answer];
  if (typed.length === 1)
    return typed === key || (answer !== 'deny' && answer !== 'deny-always' && typed.toLowerCase() === key);
  return typed.toLowerCase().replace(/\s+/g, '-') === answer;
}
