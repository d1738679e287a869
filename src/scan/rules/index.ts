import type { Rule } from '../rule.ts';
import { CONTROL_RULES } from './control.ts';
import { CREDENTIAL_RULES } from './credentials.ts';
import { DEPENDENCY_RULES } from './dependencies.ts';
import { DOWNLOAD_RULES } from './download.ts';
import { FILE_RULES } from './files.ts';
import { FLOW_RULES } from './flow.ts';
import { HIDDEN_RULES } from './hidden.ts';
import { INSTRUCTION_RULES } from './instructions.ts';
import { LEAVING_RULES } from './leaving.ts';
import { LINE_END_RULES } from './line-ends.ts';
import { NEEDS_RULES } from './needs.ts';
import { OBFUSCATION_RULES } from './obfuscation.ts';
import { ORDER_RULES } from './orders.ts';
import { SAFEGUARD_RULES } from './safeguards.ts';

/** Every rule; what is found is decided here and nowhere else. */
export const RULES: readonly Rule[] = [
  ...HIDDEN_RULES,
  ...LINE_END_RULES,
  ...INSTRUCTION_RULES,
  ...ORDER_RULES,
  ...DOWNLOAD_RULES,
  ...FLOW_RULES,
  ...CREDENTIAL_RULES,
  ...LEAVING_RULES,
  ...OBFUSCATION_RULES,
  ...CONTROL_RULES,
  ...SAFEGUARD_RULES,
  ...NEEDS_RULES,
  ...DEPENDENCY_RULES,
  ...FILE_RULES,
];
