import type { Summary } from '../dialects/index.ts';
import type { Offer } from '../skill/index.ts';
import type { FolderRecord, Records, SkillRecord, State } from './records.ts';

/** Records as arrays of arrays: a third of the size, and so of the time to read them back. 0 stands for the usual. */
type Names = readonly string[] | 0;
type PackedState = [number, number, number, number];
type PackedSkill = [PackedState[], PackedState | 0 | 1, string, string, string, Offer | 0];
type PackedRecord = [PackedState, Names, Names, Names, PackedSkill | 0];
type Packed = [string, PackedRecord][];

const NONE: readonly string[] = Object.freeze([]);
const USUAL_FILES: readonly string[] = Object.freeze(['SKILL.md']);
const USUAL_OFFER: Offer = { modes: ['Global'], os: [], always: false, toModels: true, toUsers: true };
const USUAL_OFFER_TEXT = JSON.stringify(USUAL_OFFER);

export function encodeRecords(root: string, records: Records): string {
  const packed: Packed = [];
  for (const [path, record] of records) packed.push([path.slice(root.length), packRecord(record)]);
  return JSON.stringify(packed);
}

export function decodeRecords(root: string, text: string): Records {
  const records: Records = new Map();
  for (const [path, packed] of JSON.parse(text) as Packed) records.set(root + path, unpackRecord(packed));
  return records;
}

function packRecord({ state, folders, links, files, skill }: FolderRecord): PackedRecord {
  const usual = files.length === 1 && files[0] === 'SKILL.md';
  return [
    packState(state),
    folders.length === 0 ? 0 : folders,
    links.length === 0 ? 0 : links,
    usual ? 0 : files,
    skill === null ? 0 : packSkill(skill),
  ];
}

function unpackRecord([state, folders, links, files, skill]: PackedRecord): FolderRecord {
  return {
    state: unpackState(state),
    folders: folders === 0 ? NONE : folders,
    links: links === 0 ? NONE : links,
    files: files === 0 ? USUAL_FILES : files,
    skill: skill === 0 ? null : unpackSkill(skill),
  };
}

function packState({ ino, size, mtimeMs, ctimeMs }: State): PackedState {
  return [ino, size, mtimeMs, ctimeMs];
}

function unpackState([ino, size, mtimeMs, ctimeMs]: PackedState): State {
  return { ino, size, mtimeMs, ctimeMs };
}

/** The state of scripts/ is 0 where it does not matter and 1 where there is none. */
function packSkill({ states, deep, scripts, summary }: SkillRecord): PackedSkill {
  const { dialect, name, description, offer } = summary;
  const usual = JSON.stringify(offer) === USUAL_OFFER_TEXT;
  const depends = deep ? (scripts === null ? 1 : packState(scripts)) : 0;
  return [states.map(packState), depends, dialect, name, description, usual ? 0 : offer];
}

function unpackSkill([states, depends, dialect, name, description, offer]: PackedSkill): SkillRecord {
  return {
    states: states.map(unpackState),
    deep: depends !== 0,
    scripts: depends === 0 || depends === 1 ? null : unpackState(depends),
    summary: { dialect: dialect as Summary['dialect'], name, description, offer: offer === 0 ? USUAL_OFFER : offer },
  };
}
