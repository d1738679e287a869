import { SkillboxError, visibleLine } from '../base/index.ts';
import type { Offer } from './obtain.ts';

/** Which skills of a source are meant. `pick` asks a person, and is null where nobody can be asked. */
export type Choice = {
  names: readonly string[];
  all: boolean;
  pick: ((offers: readonly Offer[]) => Promise<readonly Offer[]>) | null;
};

export async function chooseOffers(offers: readonly Offer[], choice: Choice): Promise<readonly Offer[]> {
  if (choice.all) return offers;
  if (choice.names.length > 0) return offers.filter(({ name }) => name !== null && choice.names.includes(name));
  if (offers.length === 1) return offers;
  if (choice.pick !== null) return choice.pick(offers);
  throw new SkillboxError('USAGE', `there are ${offers.length} skills in it: ${namesOf(offers)}`, {
    hint: 'Choose with --skill NAME, as often as needed, or take --all.',
    details: { skills: offers.map(({ name, folder, place }) => ({ name, folder, place })) },
  });
}

/** Every name that was asked for was found in one of the sources, or the person hears which was not. */
export function checkNames(names: readonly string[], offers: readonly Offer[]): void {
  const missing = names.find(name => !offers.some(offer => offer.name === name));
  if (missing === undefined) return;
  throw new SkillboxError('NOT_FOUND', `there is no skill "${visibleLine(missing, 80)}" in it`, {
    hint: `There are: ${namesOf(offers)}.`,
  });
}

function namesOf(offers: readonly Offer[]): string {
  const names = offers.map(({ name, place }) => visibleLine(name ?? `(broken) ${place}`, 64));
  return `${names.slice(0, 30).join(', ')}${names.length > 30 ? ` and ${names.length - 30} more` : ''}`;
}
