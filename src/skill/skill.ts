import type { JsonObject, JsonValue } from '../base/index.ts';

export const DIALECTS = ['agent-skills', 'skillbox', 'workspace', 'gibberish', 'seksbot'] as const;
export type DialectName = (typeof DIALECTS)[number];

export type Language = 'python' | 'node' | 'bash' | 'typescript';

/** One skill, whatever format it was written in. Everything in it is a wish of its author, not a right. */
export type Skill = {
  dialect: DialectName;
  name: string;
  version: string | null;
  description: string;
  instructions: string;
  /** What runs when the skill itself is run (skillbox, seksbot). */
  main: Entrypoint | null;
  /** Commands with parameters (gibberish). */
  tools: Tool[];
  /** Files in scripts/ that a caller may run by path. */
  scripts: Script[];
  /** Every other bundled file: path and size, never read ahead. */
  resources: Resource[];
  needs: Needs;
  offer: Offer;
  about: About;
  /** Fields that no rule of the dialect names, kept as they were. */
  extra: JsonObject;
};

export type Entrypoint = { path: string; language: Language };
export type Script = { path: string; language: Language; size: number };
export type Resource = { path: string; size: number; kind: 'reference' | 'asset' | 'example' | 'other' };

export type ParameterType = 'string' | 'integer' | 'number' | 'boolean' | 'array';
export type Parameter = {
  name: string;
  type: ParameterType;
  required: boolean;
  description: string;
  /** What stands in for an absent argument; null when there is no default. */
  default: JsonValue;
};

/** A piece of a template token: literal text, or a parameter to put in. */
export type Piece = { kind: 'text'; text: string } | { kind: 'value'; name: string; modifier: string | null };
/** One token of the command; it becomes one argv element, but for the two cases that GB-06 marks. */
export type Token = { pieces: Piece[]; quoted: boolean };
export type Tool = {
  name: string;
  description: string;
  parameters: Parameter[];
  command: Token[];
  /** The command as written. */
  template: string;
  line: number;
};

/** What the skill asks for. Policy may only tighten it; absent means least power. */
export type Needs = {
  network: NetworkNeed;
  /** Capabilities: `provider/endpoint` or `custom/key` (seksbot). */
  secrets: string[];
  /** What stands among the capabilities and is none, as it was written: the skill is listed, and does not run. Absent: all is well. */
  unread?: string[];
  image: string | null;
  limits: Limits;
  /** The tool runs without changing anything (gibberish `read_only`). */
  readOnly: boolean;
  /** A person is asked each time (gibberish `always_ask`). */
  alwaysAsk: boolean;
  /** Tools of the agent that the skill would like pre-approved (`allowed-tools`). */
  allowedTools: ToolPattern[];
};

/** `none`; `broker`: the secrets broker and nothing else; `open`: hosts it does not name, so policy decides. */
export type NetworkNeed = 'none' | 'broker' | 'open';
/** null: the operator's default. */
export type Limits = { timeoutMs: number; memoryBytes: number | null; cpus: number | null };
export type ToolPattern = { tool: string; pattern: string | null };

export type Mode = 'Global' | 'Dev' | 'Meeting';

/** To whom and when the catalog offers the skill. */
export type Offer = {
  modes: Mode[];
  /** Operating systems; empty means any. */
  os: string[];
  always: boolean;
  /** False when `disable-model-invocation` hides it from models. */
  toModels: boolean;
  toUsers: boolean;
};

export type About = {
  license: string | null;
  author: string | null;
  compatibility: string | null;
  emoji: string | null;
  tags: string[];
  /** The `metadata` mapping of agent-skills; scalars keep their source text (AS-06). */
  metadata: JsonObject;
};
