import { describe, expect, test } from 'vitest';
import { parseTemplate } from '../../../src/dialects/gibberish/template.ts';
import { checkTemplate } from '../../../src/dialects/gibberish/template-check.ts';
import type { Parameter } from '../../../src/skill/index.ts';
import { parameter } from './tool.ts';

function check(command: string, parameters: Parameter[]): string[] {
  return checkTemplate(parseTemplate(command).tokens, parameters).map(finding =>
    'token' in finding ? `${finding.code} @${finding.token}` : `${finding.code} #${finding.parameter}`,
  );
}

const integer = (name: string, more: Partial<Parameter> = {}) => parameter(name, { type: 'integer', ...more });

describe('template check', () => {
  test('GB-09 an undeclared placeholder is an error, with the name that was meant', () => {
    const found = checkTemplate(parseTemplate('a -- {{qury}}').tokens, [parameter('query')]);
    expect(found).toMatchObject([
      { code: 'template-undeclared', token: 2, hint: 'Did you mean {{query}}?' },
      { code: 'parameter-unused', parameter: 0 },
    ]);
    expect(check('a {{constructor}} {{__proto__}} {{toString}}', [])).toEqual([
      'template-undeclared @1',
      'template-undeclared @2',
      'template-undeclared @3',
    ]);
  });

  test('GB-04 a parameter that the command does not use is warned of', () => {
    expect(check('a -- {{x}}', [parameter('x'), parameter('y')])).toEqual(['parameter-unused #1']);
  });

  test.each([
    ['a -n {{count}}', integer('count'), ['template-flag-stays @2']],
    ['a --name {{count}}', integer('count'), ['template-flag-stays @2']],
    ['a -n {{count}}', integer('count', { required: true }), []],
    ['a -n {{count}}', integer('count', { default: 10 }), []],
    ['a -n {{count:10}}', integer('count'), []],
    ['a {{count:-n}}', integer('count'), []],
    ['a --n={{count}}', integer('count'), []],
    ['a --n=1 {{count}}', integer('count'), []],
    ['a -- {{count}}', integer('count'), []],
    ['a - {{count}}', integer('count'), []],
    ['a -5 {{count}}', integer('count'), []],
    ['-a {{count}}', integer('count'), []],
    ['a -s {{on:--on}}', parameter('on', { type: 'boolean' }), []],
  ])('GB-07 a flag before an optional placeholder: %s', (command, declared, expected) => {
    expect(check(command, [declared])).toEqual(expected);
  });

  test.each([
    ['a {{x}}', parameter('x'), ['template-dash @1']],
    ['a {{x}}.txt', parameter('x'), ['template-dash @1']],
    ['a {{x}}', parameter('x', { type: 'array' }), ['template-dash @1']],
    ['{{x}} a', parameter('x'), []],
    ['a -- {{x}}', parameter('x'), []],
    ['a --x={{x}}', parameter('x'), []],
    ['a {{x:-x}}', parameter('x'), []],
    ['a {{x}}', integer('x'), []],
    ['a {{x:-v}}', parameter('x', { type: 'boolean' }), []],
  ])('GB-09 a positional value that may begin with "-": %s', (command, declared, expected) => {
    expect(check(command, [declared])).toEqual(expected);
  });

  test.each([
    ['a {{n:abc}}', integer('n'), ['parameter-default-invalid @1']],
    ['a {{n:1.5}}', integer('n'), ['parameter-default-invalid @1']],
    ['a {{n:-1.5}}', integer('n'), ['parameter-default-invalid @1']],
    ['a {{n:-1.5}}', integer('n', { type: 'number' }), []],
    ['a {{n:-1}}', integer('n'), []],
    ['a {{n:-x}}', integer('n'), []],
    ['a x{{n:-x}}', integer('n'), ['template-placeholder @1']],
    ['a x{{n:--x}}', parameter('n', { type: 'boolean' }), []],
  ])('GB-07 a modifier that does not fit its type: %s', (command, declared, expected) => {
    expect(check(command, [declared])).toEqual(expected);
  });

  test('GB-09 a hundred thousand mistakes are a few findings', () => {
    const command = `a ${Array.from({ length: 100_000 }, (_, index) => `{{x${index}}}`).join(' ')}`;
    const parameters = Array.from({ length: 10_000 }, (_, index) => parameter(`${'y'.repeat(50)}${index}`));
    expect(check(command, parameters).length).toBe(20);
    expect(check('a {{x}} {{x}}', [])).toEqual(['template-undeclared @1']);
  });
});
