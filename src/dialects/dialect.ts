import type { JsonObject, JsonValue } from '../base/index.ts';
import type { Diagnostic, DialectName, Findings, Mode, ReadMode, Skill } from '../skill/index.ts';
import type { Source } from './source.ts';

/** Why a folder was taken for a dialect, for people: `frontmatter has "lang"`. */
export type Evidence = { dialect: DialectName; because: string };

export type Reading = {
  dialect: DialectName | null;
  evidence: string;
  /** null when not even a lenient client would load it; the diagnostics then say why. */
  skill: Skill | null;
  diagnostics: Diagnostic[];
};

/** `capabilities`: those of the operator's own providers, besides the shipped ones; absent where nobody knows of any. */
export type ReadOptions = { mode: ReadMode; dialect: DialectName | null; capabilities?: readonly string[] };

/** What a caller wants done. Everything is given; nothing is read from the process. */
export type Call = {
  target:
    | { kind: 'main' }
    | { kind: 'tool'; name: string; arguments: JsonObject }
    | { kind: 'script'; path: string; arguments: string[] }
    | { kind: 'command'; argv: string[] };
  input: JsonValue;
  /** Text for standard input, or null for end-of-file. */
  stdin: string | null;
  mode: Mode;
  /** The caller's own environment, of which a dialect may inherit some names (GB-12). */
  callerEnv: Record<string, string>;
};

/** Where something sits inside the sandbox. */
export type Mount =
  | { kind: 'skill'; at: string }
  /** A TypeScript file of the skill, transformed ahead of the run (WS-02). */
  | { kind: 'compiled'; path: string; at: string }
  /** SB-07: the layer of one package manager; left out where the skill asks for none of its packages. */
  | { kind: 'dependencies'; manager: 'pip' | 'npm'; at: string }
  | { kind: 'workspace'; at: string; writable: boolean }
  | { kind: 'out'; at: string }
  | { kind: 'text'; text: string; at: string }
  | { kind: 'tmpfs'; at: string; bytes: number };

/** The pure half of a run: what is started, with what around it, and what is collected after it. */
export type Invocation = {
  /** argv[0] is an interpreter's name, a program on PATH, or an absolute path inside the sandbox. */
  argv: string[];
  cwd: string;
  env: Record<string, string>;
  stdin: string | null;
  mounts: Mount[];
  timeoutMs: number;
  /** Where structured output and artifacts are found after the run; null where the dialect has none. */
  outputPath: string | null;
  filesPath: string | null;
  /** How stdout and stderr become the result. */
  result: 'output-file' | 'streams' | 'envelope';
  warnings: string[];
};

export interface Dialect {
  readonly name: DialectName;
  /** Null when the source is not of this dialect. */
  recognise(source: Source): string | null;
  /** Reports into `findings`; null when nobody could load it. `capabilities` as in ReadOptions. */
  read(source: Source, findings: Findings, capabilities: readonly string[]): Skill | null;
  invoke(skill: Skill, call: Call): Invocation;
}
