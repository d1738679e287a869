import { emptyObject } from '../base/index.ts';
import type { DialectName, Skill } from '../skill/index.ts';

export const DEFAULT_TIMEOUT_MS = 120_000;

/** A skill that asks for nothing: every dialect starts from it and adds only what its fields say. */
export function baseSkill(dialect: DialectName, name: string, description: string, body: string): Skill {
  return {
    dialect,
    name,
    version: null,
    description,
    instructions: body.replace(/^\s*\n/, ''),
    main: null,
    tools: [],
    scripts: [],
    resources: [],
    needs: {
      network: 'none',
      secrets: [],
      image: null,
      limits: { timeoutMs: DEFAULT_TIMEOUT_MS, memoryBytes: null, cpus: null },
      readOnly: false,
      alwaysAsk: false,
      allowedTools: [],
    },
    offer: { modes: ['Global'], os: [], always: false, toModels: true, toUsers: true },
    about: { license: null, author: null, compatibility: null, emoji: null, tags: [], metadata: emptyObject() },
    extra: emptyObject(),
  };
}
