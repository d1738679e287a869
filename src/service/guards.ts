import type { JsonObject } from '../base/index.ts';
import type { Run, RunTarget } from './runs.ts';
import type { Page, Paging } from './service.ts';

/** Questions that wait for a person, and what people answered. */
export interface ApprovalService {
  waiting(paging: Paging): Promise<Page<Run>>;
  /** What a waiting run asks, as it stands now: the command, the grant, why, what changed. */
  question(runId: string): Promise<JsonObject>;
  /** A yes puts the run in the queue. Whoever asked for a run may not answer for it (`ANSWER_REFUSED`), by whatever key of theirs. */
  answer(runId: string, answer: Answer): Promise<Run>;
  answers(paging: Paging): Promise<Page<GivenAnswer>>;
  /** What it was about is asked again from now on. */
  revoke(answerId: string): Promise<GivenAnswer>;
}
export type Answer = 'once' | 'always' | 'deny' | 'deny-always';
export type GivenAnswer = {
  id: string;
  answer: Answer;
  by: string;
  channel: string;
  createdAt: number;
  expiresAt: number | null;
  revokedAt: number | null;
  skill: { name: string; version: string | null; digest: string };
  target: string;
};

/** What a model is told of the tenant's published skills. */
export interface CatalogService {
  /** `format` is one of xml, json, markdown, gibberish, openai, anthropic; the text is ready for a prompt. */
  render(options: { format: string; budget: number | null; query: string | null }): Promise<string>;
  /** What a model reads of a skill once it has chosen it. */
  activate(name: string, version: string | null): Promise<Activation>;
}
export type Activation = { name: string; version: string; digest: string; text: string; tokens: number };

export interface PolicyService {
  /** Which rule decides about a skill, and why. */
  explain(request: { skill: string; version: string | null; target: RunTarget | null }): Promise<JsonObject>;
}

/** The tenant's chain of the journal. */
export interface AuditService {
  /** The newest first. */
  list(filter: AuditFilter & Paging): Promise<Page<AuditEntry>>;
  verify(): Promise<{ ok: boolean; entries: number; wrong: JsonObject | null }>;
}
export type AuditFilter = { types: readonly string[] | null; subject: string | null; since: number | null };
export type AuditEntry = {
  chain: string;
  seq: number;
  time: number;
  type: string;
  actor: { id: string; channel: string };
  subject: string | null;
  data: JsonObject;
  prev: string;
  hash: string;
};
