import type { Database } from './database.ts';

/**
 * The words of published skills, for searches: what FTS5 makes of the table `skills`, and nothing that could not be made
 * again. Node has FTS5 from 22.16 on. A store may be opened by an older one now and by a newer one then; so what was
 * published without the words is noticed, and the words are made anew with the next skill that is published.
 */
export class SkillWords {
  readonly #database: Database;
  readonly #isThere: () => boolean;

  constructor(database: Database, isThere = () => hasFts5(database)) {
    this.#database = database;
    this.#isThere = isThere;
  }

  /** Before a skill is added to `skills`. False: there are no words to add to. */
  prepare(): boolean {
    if (!this.#isThere()) return false;
    if (!this.#isMade())
      this.#run(`CREATE VIRTUAL TABLE skill_words USING fts5 (
         name, description, text, content = 'skills', content_rowid = 'id', tokenize = 'porter unicode61')`);
    if (!this.#isWhole()) this.#run("INSERT INTO skill_words (skill_words) VALUES ('rebuild')");
    return true;
  }

  /** Whether a search finds all skills by their words. */
  isUsable(): boolean {
    return this.#isThere() && this.#isMade() && this.#isWhole();
  }

  #isMade(): boolean {
    const found = this.#database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'skill_words'").get();
    return found !== undefined;
  }

  /** Skills are only ever added, so the last one tells. */
  #isWhole(): boolean {
    const last = 'SELECT (SELECT max(id) FROM skills) IS (SELECT max(id) FROM skill_words_docsize) AS same';
    return this.#database.prepare(last).get()?.same === 1;
  }

  #run(sql: string): void {
    this.#database.prepare(sql).run();
  }
}

function hasFts5(database: Database): boolean {
  return database.prepare("SELECT 1 FROM pragma_module_list WHERE name = 'fts5'").get() !== undefined;
}
