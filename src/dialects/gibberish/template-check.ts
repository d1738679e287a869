import { suggest } from '../../base/index.ts';
import type { DiagnosticCode, Parameter, Token } from '../../skill/index.ts';
import { readModifier } from './values.ts';

/** A finding that needs both the command and its parameters; it lies at a token or at a parameter, by index. */
export type TemplateFinding = { code: DiagnosticCode; message: string; hint?: string } & (
  | { token: number }
  | { parameter: number }
);

// A megabyte of placeholders or parameters must not become as many findings, nor as many comparisons of names.
const MAX_PER_CODE = 10;
const MAX_SUGGESTIONS = 50;

const FLAG = /^-[^=\d][^=]*$/;

/** GB-07, GB-09: what the placeholders of a command and its declared parameters make of each other. */
export function checkTemplate(tokens: readonly Token[], parameters: readonly Parameter[]): TemplateFinding[] {
  const declared = new Map(parameters.map(parameter => [parameter.name, parameter]));
  const used = new Set<string>();
  const unknown = new Set<string>();
  const findings: TemplateFinding[] = [];
  const counts = new Map<DiagnosticCode, number>();
  const add = (finding: TemplateFinding) => {
    const count = counts.get(finding.code) ?? 0;
    counts.set(finding.code, count + 1);
    if (count < MAX_PER_CODE) findings.push(finding);
  };
  let positional = true;
  tokens.forEach((token, index) => {
    for (const piece of token.pieces) {
      if (piece.kind !== 'value') continue;
      const parameter = declared.get(piece.name);
      if (parameter === undefined) {
        if (unknown.size < MAX_PER_CODE && !unknown.has(piece.name)) add(undeclared(piece.name, parameters, index));
        unknown.add(piece.name);
        continue;
      }
      used.add(piece.name);
      const problem = modifierProblem(piece.modifier, parameter, token.pieces.length > 1);
      if (problem !== null) add({ ...problem, token: index });
    }
    const flag = index > 1 ? literalOf(tokens[index - 1]) : null;
    const dropped = droppable(token, declared);
    if (dropped !== null && flag !== null && flag !== '--' && FLAG.test(flag)) {
      const message = `"${flag}" stays in the command when "${dropped}" is absent`;
      add({ code: 'template-flag-stays', message, token: index });
    }
    if (literalOf(token) === '--') positional = false;
    const first = positional && index > 0 ? startingValue(token, declared) : null;
    if (first !== null) {
      const message = `a value of "${first}" that begins with "-" may be read as an option`;
      add({ code: 'template-dash', message, token: index });
    }
  });
  parameters.forEach(({ name }, index) => {
    if (used.has(name)) return;
    add({ code: 'parameter-unused', message: `the command has no {{${name}}}`, parameter: index });
  });
  return findings;
}

function undeclared(name: string, parameters: readonly Parameter[], token: number): TemplateFinding {
  const names = parameters.slice(0, MAX_SUGGESTIONS).map(parameter => parameter.name);
  const meant = suggest(name, names);
  const message = `{{${name}}} is not among the parameters`;
  const code = 'template-undeclared';
  return meant === null ? { code, message, token } : { code, message, hint: `Did you mean {{${meant}}}?`, token };
}

function modifierProblem(modifier: string | null, parameter: Parameter, inside: boolean) {
  const { kind } = readModifier(modifier, parameter.type);
  if (kind === 'invalid') {
    const message = `"${modifier}" is no default for "${parameter.name}", which is of type ${parameter.type}`;
    return { code: 'parameter-default-invalid', message } as const;
  }
  if (kind === 'flag' && inside) {
    const message = `{{${parameter.name}:${modifier}}} makes two arguments and so cannot be part of one`;
    const hint = 'Put spaces around it, or write the flag before {{name}}.';
    return { code: 'template-placeholder', message, hint } as const;
  }
  return null;
}

function literalOf(token: Token | undefined): string | null {
  if (token === undefined || token.pieces.some(piece => piece.kind === 'value')) return null;
  return token.pieces.map(piece => (piece.kind === 'text' ? piece.text : '')).join('');
}

/** The parameter without which this token, a lone value, is left out; null when it always stays or brings its own flag. */
function droppable(token: Token, declared: ReadonlyMap<string, Parameter>): string | null {
  const [piece, ...others] = token.pieces;
  if (piece?.kind !== 'value' || others.length > 0) return null;
  const parameter = declared.get(piece.name);
  if (parameter === undefined || parameter.required || parameter.default !== null) return null;
  return readModifier(piece.modifier, parameter.type).kind === 'none' ? parameter.name : null;
}

/** The parameter whose text begins the argument. Numbers cannot spell an option that does harm. */
function startingValue(token: Token, declared: ReadonlyMap<string, Parameter>): string | null {
  const piece = token.pieces[0];
  if (piece?.kind !== 'value') return null;
  const parameter = declared.get(piece.name);
  if (parameter === undefined || (parameter.type !== 'string' && parameter.type !== 'array')) return null;
  return readModifier(piece.modifier, parameter.type).kind === 'flag' ? null : parameter.name;
}
