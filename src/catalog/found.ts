import { basename } from 'node:path';
import type { Summary, SummaryFault } from '../dialects/index.ts';
import { cleanLine } from './clean.ts';
import { isMarker } from './list-folder.ts';
import type { CatalogPlace } from './places.ts';
import { type SkillReading, USUAL_FILES } from './records.ts';

/** A skill that was found and loads. Name and description hold nothing that a reader would not see. */
export type CatalogSkill = Summary & {
  place: CatalogPlace;
  /** The folder as it was reached, and where it really lies. */
  folder: string;
  realFolder: string;
  /** AS-13: the absolute path of SKILL.md, or of the manifest where there is none. */
  location: string;
  /** Skills inside this skill, by path: reported, never offered. */
  nested: readonly string[];
  /** Nobody but this account can write to the folder itself. */
  ours: boolean;
};

/** A skill that was found and does not load: kept to be shown to people, never to a model. */
export type BrokenSkill = {
  name: string;
  place: CatalogPlace;
  folder: string;
  realFolder: string;
  fault: SummaryFault;
};

/** A folder that holds a skill, and what was read of it. */
export type FoundSkill = Pick<CatalogSkill, 'folder' | 'realFolder' | 'nested' | 'ours'> & {
  files: readonly string[];
  read: SkillReading;
};

/** What was found in one place. */
export class Found {
  readonly skills: CatalogSkill[] = [];
  readonly broken: BrokenSkill[] = [];
  readonly #place: CatalogPlace;

  constructor(place: CatalogPlace) {
    this.#place = place;
  }

  get count(): number {
    return this.skills.length + this.broken.length;
  }

  add({ folder, realFolder, nested, ours, files, read }: FoundSkill): void {
    if ('fault' in read) {
      const name = cleanLine(basename(folder));
      this.broken.push({ name, place: this.#place, folder, realFolder, fault: read.fault });
    } else this.addSkill(folder, realFolder, nested, ours, files, read.summary);
  }

  /** With every word by itself: there may be tens of thousands of them, and whatever is put around them has to be made. */
  addSkill(
    folder: string,
    realFolder: string,
    nested: readonly string[],
    ours: boolean,
    files: readonly string[],
    summary: Summary,
  ): void {
    this.skills.push({
      dialect: summary.dialect,
      name: cleanLine(summary.name),
      description: cleanLine(summary.description),
      offer: summary.offer,
      place: this.#place,
      folder,
      realFolder,
      location: `${folder}/${documentOf(files)}`,
      nested,
      ours,
    });
  }

  /** In the order of their paths, however they were reached. */
  sort(): void {
    const byFolder = (a: { folder: string }, b: { folder: string }) => (a.folder < b.folder ? -1 : 1);
    this.skills.sort(byFolder);
    this.broken.sort(byFolder);
  }
}

function documentOf(files: readonly string[]): string {
  return files === USUAL_FILES || files.includes('SKILL.md') ? 'SKILL.md' : (files.find(isMarker) ?? 'SKILL.md');
}
