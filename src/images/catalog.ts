import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { makePrivate, SkillboxError, useWal } from '../base/index.ts';

/** An image under a name, as `image list` shows it. */
export type Image = {
  name: string;
  /** SHA-256 over the description of its files and variables, in hex. */
  digest: string;
  bytes: number;
  entries: number;
  /** Variables that the image sets. */
  env: Record<string, string>;
  /** The file or directory it was imported from. */
  source: string;
  form: string;
  createdAt: number;
};

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS images (name TEXT PRIMARY KEY, digest TEXT NOT NULL, image TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS holds (id TEXT PRIMARY KEY, digest TEXT NOT NULL, owner TEXT NOT NULL) STRICT;`;

const BUSY_TIMEOUT_MS = 10_000;

/** Who holds an image, and whether that process still lives; see sandbox/owner. */
export type Owners = { mine(): string; isAlive(owner: string): boolean };

/**
 * Names and holds in one SQLite file, so that several processes see one truth: what moves a directory does so inside the
 * transaction that changes the names.
 */
export class Catalog {
  readonly #path: string;
  readonly #directory: string;
  readonly #owners: Owners;
  #database: DatabaseSync | null = null;

  constructor(directory: string, owners: Owners) {
    this.#directory = directory;
    this.#path = join(directory, 'images.db');
    this.#owners = owners;
  }

  /** Most machines have no image: then a run costs one look for the file and no database. */
  #open(make: boolean): DatabaseSync | null {
    if (this.#database !== null || (!make && !existsSync(this.#path))) return this.#database;
    makePrivate(this.#directory);
    const database = new DatabaseSync(this.#path);
    useWal(database, BUSY_TIMEOUT_MS);
    database.exec(`PRAGMA synchronous = FULL; ${SCHEMA}`);
    this.#database = database;
    return database;
  }

  find(name: string): Image | null {
    const row = this.#open(false)?.prepare('SELECT image FROM images WHERE name = ?').get(name);
    return row === undefined ? null : parse(row);
  }

  list(): Image[] {
    return this.#open(false)?.prepare('SELECT image FROM images ORDER BY name').all().map(parse) ?? [];
  }

  /** `settle` puts the files in place; `release` is given a digest that no name leads to and nobody holds any more. */
  put(image: Image, settle: () => void, release: (digest: string) => void): void {
    this.#transact(database => {
      const before = this.find(image.name);
      settle();
      database
        .prepare(
          'INSERT INTO images VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET digest = excluded.digest, image = excluded.image',
        )
        .run(image.name, image.digest, JSON.stringify(image));
      if (before !== null && this.#isFree(database, before.digest)) release(before.digest);
    });
  }

  /** Null when there is no such name. Refused while a living process holds it and no other name would keep it. */
  remove(name: string, release: (digest: string) => void): Image | null {
    if (this.find(name) === null) return null;
    return this.#transact(database => {
      const image = this.find(name);
      if (image === null) return null;
      database.prepare('DELETE FROM images WHERE name = ?').run(name);
      if (this.#isFree(database, image.digest)) release(image.digest);
      else if (!this.#isNamed(database, image.digest))
        throw new SkillboxError('IMAGE_IN_USE', `the image ${name} is in use by a run`);
      return image;
    });
  }

  /** Keeps an image's files in place until the answer is called; null when they are gone. */
  hold(digest: string, isThere: () => boolean, release: (digest: string) => void): (() => void) | null {
    if (this.#open(false) === null) return null;
    const id = randomUUID();
    const held = this.#transact(database => {
      if (!isThere()) return false;
      database.prepare('INSERT INTO holds VALUES (?, ?, ?)').run(id, digest, this.#owners.mine());
      return true;
    });
    return held ? () => this.#letGo(id, digest, release) : null;
  }

  /** Of these, releases what no name leads to and nobody holds: left by a name that moved on, or by a killed process. */
  releaseUnused(digests: readonly string[], release: (digest: string) => void): void {
    if (digests.length === 0) return;
    this.#transact(database => {
      for (const digest of digests) if (this.#isFree(database, digest)) release(digest);
    });
  }

  close(): void {
    this.#database?.close();
    this.#database = null;
  }

  #letGo(id: string, digest: string, release: (digest: string) => void): void {
    this.#transact(database => {
      database.prepare('DELETE FROM holds WHERE id = ?').run(id);
      if (this.#isFree(database, digest)) release(digest);
    });
  }

  #isNamed(database: DatabaseSync, digest: string): boolean {
    return database.prepare('SELECT 1 FROM images WHERE digest = ?').get(digest) !== undefined;
  }

  #isFree(database: DatabaseSync, digest: string): boolean {
    if (this.#isNamed(database, digest)) return false;
    const holds = database.prepare('SELECT id, owner FROM holds WHERE digest = ?').all(digest);
    const [dead, living] = [holds.filter(hold => !this.#lives(hold)), holds.filter(hold => this.#lives(hold))];
    for (const { id } of dead) database.prepare('DELETE FROM holds WHERE id = ?').run(String(id));
    return living.length === 0;
  }

  #lives({ owner }: Record<string, unknown>): boolean {
    return this.#owners.isAlive(String(owner));
  }

  #transact<T>(body: (database: DatabaseSync) => T): T {
    const database = this.#open(true);
    if (database === null) throw new SkillboxError('INTERNAL', 'the catalog of images is not open');
    database.exec('BEGIN IMMEDIATE');
    try {
      const result = body(database);
      database.exec('COMMIT');
      return result;
    } catch (error) {
      database.exec('ROLLBACK');
      throw error;
    }
  }
}

function parse(row: Record<string, unknown>): Image {
  return JSON.parse(String(row.image)) as Image;
}
