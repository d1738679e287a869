import type { DialectName } from '../skill/index.ts';
import type { Runnable, Wanted } from './run-target.ts';
import type { CallContext, ToolResult } from './tool.ts';

/** What one caller can do with the skills that are offered: on this machine, or as one of a server's tenant. */
export type Library = {
  /** AS-14: told to the journal before it is given. `had` is the fingerprint of what the session was given before. */
  activate: (name: string, had: string | undefined, client: string) => Promise<Activated>;
  /** One file of a skill, for reading. */
  read: (name: string, path: string) => Promise<BundledFile>;
  /** All of its files, one by one. Close it. */
  open: (name: string) => Promise<OpenedSkill>;
  /** AS-14, for those who give the instructions by another way. */
  tellActivated: (name: string, client: string) => Promise<void>;
  run: (name: string, wanted: (skill: Runnable) => Wanted, context: CallContext) => Promise<ToolResult>;
  getRun: (id: string) => Promise<ToolResult>;
};

export type Activated = {
  name: string;
  directory: string;
  /** The MCP server that it came from; null for one that came otherwise. */
  server: string | null;
  files: { path: string; size: number }[];
  filesLeftOut: number;
  tokens: number;
  fingerprint: string;
  /** null when the session has exactly this already. */
  text: string | null;
};

export type BundledFile = {
  skill: string;
  dialect: DialectName;
  path: string;
  size: number;
  kind: string;
  /** null for what is not for reading: WS-08, an asset. */
  content: Buffer | null;
  /** How to get what cannot be read here. */
  otherwise: string;
};

export type OpenedSkill = {
  files: readonly { path: string; size: number }[];
  read: (path: string, maxBytes: number) => Promise<Buffer>;
  /** Of content that never changes; null for a folder, which may. */
  digest: string | null;
  close(): void;
};
