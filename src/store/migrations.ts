/**
 * Forward only; the position in the list is the version of the schema (`user_version`). A new one goes to the end, and one
 * that was released is never changed.
 */
export const MIGRATIONS: readonly string[] = [
  `CREATE TABLE runs (
     id TEXT PRIMARY KEY,
     created_at INTEGER NOT NULL,
     state TEXT NOT NULL,
     cancel_requested INTEGER NOT NULL DEFAULT 0,
     record TEXT NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX runs_by_time ON runs (created_at DESC, id DESC);
   CREATE INDEX runs_by_state ON runs (state, created_at DESC);`,

  // The text that was hashed is the one truth: what a query filters by is computed from it. `position` is the order of
  // commits over all chains. A chain remembers where its sealed files end, because all its rows may be in them.
  `CREATE TABLE audit_store (id TEXT NOT NULL) STRICT;
   INSERT INTO audit_store VALUES (lower(hex(randomblob(16))));
   CREATE TABLE audit_chains (
     id INTEGER PRIMARY KEY,
     name TEXT NOT NULL UNIQUE,
     sealed_seq INTEGER NOT NULL,
     sealed_hash TEXT NOT NULL
   ) STRICT;
   CREATE TABLE audit_segments (
     last_position INTEGER PRIMARY KEY,
     first_position INTEGER NOT NULL,
     entries INTEGER NOT NULL,
     file TEXT NOT NULL,
     sha256 TEXT NOT NULL
   ) STRICT;
   CREATE TABLE audit (
     position INTEGER PRIMARY KEY,
     chain INTEGER NOT NULL REFERENCES audit_chains (id),
     seq INTEGER NOT NULL,
     body TEXT NOT NULL,
     hash TEXT NOT NULL,
     time ANY AS (iif(json_valid(body), body ->> '$.time', NULL)) VIRTUAL,
     type ANY AS (iif(json_valid(body), body ->> '$.type', NULL)) VIRTUAL,
     subject ANY AS (iif(json_valid(body), body ->> '$.subject', NULL)) VIRTUAL
   ) STRICT;
   CREATE UNIQUE INDEX audit_by_chain ON audit (chain, seq);
   CREATE INDEX audit_by_subject ON audit (subject, position);
   CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit
     BEGIN SELECT raise(ABORT, 'the journal is append-only'); END;
   CREATE TRIGGER audit_is_not_deleted BEFORE DELETE ON audit
     WHEN NOT EXISTS (SELECT 1 FROM audit_segments WHERE last_position >= old.position)
     BEGIN SELECT raise(ABORT, 'the journal is append-only'); END;
   CREATE TRIGGER audit_segments_are_not_changed BEFORE UPDATE ON audit_segments
     BEGIN SELECT raise(ABORT, 'the journal is append-only'); END;
   CREATE TRIGGER audit_segments_are_not_deleted BEFORE DELETE ON audit_segments
     BEGIN SELECT raise(ABORT, 'the journal is append-only'); END;`,

  // Answers are sealed by whoever writes them (approvals/): the columns beside the body are there to be found by.
  `CREATE TABLE answers (
     id TEXT PRIMARY KEY,
     binding TEXT NOT NULL,
     refusal TEXT NOT NULL,
     origin TEXT NOT NULL,
     created_at INTEGER NOT NULL,
     body TEXT NOT NULL,
     mac TEXT NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX answers_by_binding ON answers (binding, created_at DESC);
   CREATE INDEX answers_by_origin ON answers (origin, created_at DESC);
   CREATE TABLE answers_seal (version INTEGER NOT NULL, body TEXT NOT NULL, mac TEXT NOT NULL) STRICT;`,

  // Values are sealed by whoever writes them (secrets/). One row says which master key all of them are under.
  `CREATE TABLE secrets (
     tenant TEXT NOT NULL,
     name TEXT NOT NULL,
     version INTEGER NOT NULL,
     kind TEXT NOT NULL,
     hosts TEXT NOT NULL,
     created_at INTEGER NOT NULL,
     changed_at INTEGER NOT NULL,
     used_at INTEGER,
     wrapped BLOB NOT NULL,
     sealed BLOB NOT NULL,
     PRIMARY KEY (tenant, name)
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE secrets_key (one INTEGER PRIMARY KEY CHECK (one = 1) DEFAULT 1, id TEXT NOT NULL) STRICT;`,

  // Everything belongs to a tenant; '' is the machine's own user. What a run waits for its turn by stands in columns.
  `ALTER TABLE runs ADD COLUMN tenant TEXT NOT NULL DEFAULT '';
   ALTER TABLE runs ADD COLUMN skill TEXT NOT NULL DEFAULT '';
   ALTER TABLE runs ADD COLUMN attempt INTEGER NOT NULL DEFAULT 0;
   ALTER TABLE runs ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
   UPDATE runs SET skill = coalesce(record ->> '$.skill.name', '');
   CREATE INDEX runs_by_tenant ON runs (tenant, created_at DESC, id DESC);
   CREATE INDEX runs_waiting ON runs (tenant) WHERE state = 'waiting';
   CREATE INDEX runs_in_line ON runs (tenant, created_at, id) WHERE state = 'queued';
   CREATE INDEX runs_stored ON runs (tenant, bytes) WHERE bytes > 0;
   CREATE INDEX runs_on_the_way ON runs (tenant) WHERE state IN ('preparing', 'running', 'collecting');
   CREATE TABLE idempotency (
     tenant TEXT NOT NULL,
     key TEXT NOT NULL,
     fingerprint TEXT NOT NULL,
     run TEXT NOT NULL,
     created_at INTEGER NOT NULL,
     PRIMARY KEY (tenant, key)
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX idempotency_by_time ON idempotency (created_at);
   ALTER TABLE answers ADD COLUMN tenant TEXT NOT NULL DEFAULT '';
   DROP INDEX answers_by_binding;
   DROP INDEX answers_by_origin;
   CREATE INDEX answers_by_binding ON answers (tenant, binding, created_at DESC);
   CREATE INDEX answers_by_origin ON answers (tenant, origin, created_at DESC);
   ALTER TABLE answers_seal ADD COLUMN tenant TEXT NOT NULL DEFAULT '';
   CREATE UNIQUE INDEX answers_seal_by_tenant ON answers_seal (tenant);
   CREATE TABLE tenants (
     name TEXT PRIMARY KEY,
     created_at INTEGER NOT NULL,
     disabled_at INTEGER,
     quotas TEXT NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE api_keys (
     id TEXT PRIMARY KEY,
     tenant TEXT NOT NULL,
     name TEXT NOT NULL,
     scopes TEXT NOT NULL,
     hash TEXT NOT NULL,
     previous_hash TEXT,
     previous_until INTEGER,
     created_at INTEGER NOT NULL,
     created_by TEXT NOT NULL,
     derived INTEGER NOT NULL,
     expires_at INTEGER,
     last_used_at INTEGER,
     revoked_at INTEGER
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX api_keys_by_tenant ON api_keys (tenant, id);
   CREATE TABLE skills (
     id INTEGER PRIMARY KEY,
     tenant TEXT NOT NULL,
     name TEXT NOT NULL,
     version TEXT NOT NULL,
     digest TEXT NOT NULL,
     sha256 TEXT NOT NULL,
     bytes INTEGER NOT NULL,
     dialect TEXT NOT NULL,
     description TEXT NOT NULL,
     published_at INTEGER NOT NULL,
     published_by TEXT NOT NULL,
     yanked_at INTEGER,
     yanked_reason TEXT,
     manifest TEXT NOT NULL,
     text TEXT NOT NULL,
     unpacked INTEGER NOT NULL
   ) STRICT;
   CREATE UNIQUE INDEX skills_by_version ON skills (tenant, name, version);
   CREATE TABLE skill_tags (
     tenant TEXT NOT NULL,
     name TEXT NOT NULL,
     tag TEXT NOT NULL,
     version TEXT NOT NULL,
     PRIMARY KEY (tenant, name, tag)
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE instances (id TEXT PRIMARY KEY, owner TEXT NOT NULL, seen_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;`,

  // A record is longer than what a page of an index keeps of a row: each went to a page of its own, was read from there to be
  // compared, and was written there again. Indexes grow at their end, where a full page costs no more than a new one.
  `CREATE TABLE runs_by_row (
     id TEXT PRIMARY KEY NOT NULL,
     tenant TEXT NOT NULL,
     skill TEXT NOT NULL,
     created_at INTEGER NOT NULL,
     state TEXT NOT NULL,
     attempt INTEGER NOT NULL,
     bytes INTEGER NOT NULL,
     cancel_requested INTEGER NOT NULL DEFAULT 0,
     record TEXT NOT NULL
   ) STRICT;
   INSERT INTO runs_by_row (id, tenant, skill, created_at, state, attempt, bytes, cancel_requested, record)
     SELECT id, tenant, skill, created_at, state, attempt, bytes, cancel_requested, record FROM runs ORDER BY created_at, id;
   DROP TABLE runs;
   ALTER TABLE runs_by_row RENAME TO runs;
   CREATE INDEX runs_by_time ON runs (created_at, id);
   CREATE INDEX runs_by_tenant ON runs (tenant, created_at, id);
   CREATE INDEX runs_open ON runs (state, tenant, created_at, id) WHERE state NOT IN ('success', 'failed', 'timeout');
   CREATE INDEX runs_stored ON runs (tenant, bytes) WHERE bytes > 0;`,
];
