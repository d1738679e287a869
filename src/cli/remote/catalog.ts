import { EXIT, findHidden, visible } from '../../base/index.ts';
import type { Input } from '../command.ts';
import { numberOf } from '../commands/catalog.ts';
import type { OnServer } from '../on-server.ts';
import { splitName } from '../skill-name.ts';
import { onlyHere } from './only-here.ts';

/** The skills that the server offers, for a model. */
export const catalogThere: OnServer = async ({ catalog }, input, io) => {
  refuseLocal(input, ['dir', 'native'], ['mode', 'limit', 'tokens']);
  const format = input.value('format') ?? 'xml';
  const text = await catalog.render({ format, budget: numberOf(input, 'budget'), query: input.value('query') });
  io.out(input.flag('json') ? `${JSON.stringify({ format, text }, null, 2)}\n` : unsteered(text));
  return EXIT.ok;
};

export const activateThere: OnServer = async ({ catalog }, input, io) => {
  refuseLocal(input, ['dir'], ['tokens']);
  const { name, wanted } = splitName(input.args[0] ?? '');
  const activation = await catalog.activate(name, wanted);
  io.out(input.flag('json') ? `${JSON.stringify(activation, null, 2)}\n` : unsteered(activation.text));
  return EXIT.ok;
};

/** Threat: a server that is not as ours, which takes out what would steer a terminal or hide from whoever reads along. */
function unsteered(text: string): string {
  return findHidden(text) === null ? text : visible(text);
}

/** What only this machine can do is not passed over in silence. */
function refuseLocal(input: Input, lists: readonly string[], values: readonly string[]): void {
  const given = [
    ...lists.filter(name => input.values(name).length > 0),
    ...values.filter(name => input.value(name) !== null),
  ];
  const [first] = given;
  if (first === undefined) return;
  throw onlyHere(first, 'skills');
}
