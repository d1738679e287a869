/**
 * Keys are compared byte by byte, whatever language the database was made for: pages go on where the last one ended. The
 * large parts of a record stand beside it, so that a list does not read them. JSON is kept as text: `jsonb` refuses some of
 * what JSON allows, and changes the rest.
 */
const RECORDS = `
   CREATE TABLE runs (
     id text COLLATE "C" PRIMARY KEY,
     tenant text COLLATE "C" NOT NULL,
     skill text COLLATE "C" NOT NULL,
     created_at bigint NOT NULL,
     state text COLLATE "C" NOT NULL,
     attempt bigint NOT NULL,
     bytes bigint NOT NULL DEFAULT 0,
     cancel_requested boolean NOT NULL DEFAULT false,
     record text NOT NULL,
     output text,
     call text
   );
   CREATE INDEX runs_by_tenant ON runs (tenant, created_at DESC, id DESC);
   CREATE INDEX runs_by_time ON runs (created_at, id);
   CREATE INDEX runs_by_state ON runs (state, created_at DESC);
   CREATE INDEX runs_waiting ON runs (tenant) WHERE state = 'waiting';
   CREATE INDEX runs_in_line ON runs (tenant, created_at, id) WHERE state = 'queued';
   CREATE INDEX runs_stored ON runs (tenant, bytes) WHERE bytes > 0;
   CREATE INDEX runs_on_the_way ON runs (tenant) WHERE state IN ('preparing', 'running', 'collecting');
   CREATE TABLE idempotency (
     tenant text COLLATE "C" NOT NULL,
     key text COLLATE "C" NOT NULL,
     fingerprint text NOT NULL,
     run text COLLATE "C" NOT NULL,
     created_at bigint NOT NULL,
     PRIMARY KEY (tenant, key)
   );
   CREATE INDEX idempotency_by_time ON idempotency (created_at);
   CREATE TABLE instances (id text COLLATE "C" PRIMARY KEY, owner text NOT NULL, seen_at bigint NOT NULL);

   CREATE TABLE answers (
     tenant text COLLATE "C" NOT NULL,
     id text COLLATE "C" NOT NULL,
     binding text COLLATE "C" NOT NULL,
     refusal text NOT NULL,
     origin text COLLATE "C" NOT NULL,
     created_at bigint NOT NULL,
     body text NOT NULL,
     mac text NOT NULL,
     PRIMARY KEY (tenant, id)
   );
   CREATE INDEX answers_by_binding ON answers (tenant, binding, created_at DESC);
   CREATE INDEX answers_by_origin ON answers (tenant, origin, created_at DESC);
   CREATE TABLE answers_seal (
     tenant text COLLATE "C" PRIMARY KEY,
     version bigint NOT NULL,
     body text NOT NULL,
     mac text NOT NULL
   );

   CREATE TABLE secrets (
     tenant text COLLATE "C" NOT NULL,
     name text COLLATE "C" NOT NULL,
     version bigint NOT NULL,
     kind text NOT NULL,
     hosts text NOT NULL,
     created_at bigint NOT NULL,
     changed_at bigint NOT NULL,
     used_at bigint,
     wrapped bytea NOT NULL,
     sealed bytea NOT NULL,
     PRIMARY KEY (tenant, name)
   );
   CREATE TABLE secrets_key (one integer PRIMARY KEY CHECK (one = 1) DEFAULT 1, id text NOT NULL);

   CREATE TABLE tenants (
     name text COLLATE "C" PRIMARY KEY,
     created_at bigint NOT NULL,
     disabled_at bigint,
     quotas text NOT NULL
   );
   CREATE TABLE api_keys (
     id text COLLATE "C" PRIMARY KEY,
     tenant text COLLATE "C" NOT NULL,
     name text NOT NULL,
     scopes text NOT NULL,
     hash text NOT NULL,
     previous_hash text,
     previous_until bigint,
     created_at bigint NOT NULL,
     created_by text NOT NULL,
     derived boolean NOT NULL,
     expires_at bigint,
     last_used_at bigint,
     revoked_at bigint
   );
   CREATE INDEX api_keys_by_tenant ON api_keys (tenant, id);`;

/** Words are stemmed as those of SQLite are, and none is left out: a skill may be called "the". */
const SKILLS = `
   CREATE TEXT SEARCH DICTIONARY skill_stems (TEMPLATE = snowball, LANGUAGE = english);
   CREATE TEXT SEARCH CONFIGURATION skill_words (COPY = simple);
   ALTER TEXT SEARCH CONFIGURATION skill_words ALTER MAPPING REPLACE simple WITH skill_stems;
   CREATE TABLE skills (
     tenant text COLLATE "C" NOT NULL,
     name text COLLATE "C" NOT NULL,
     version text COLLATE "C" NOT NULL,
     digest text NOT NULL,
     sha256 text NOT NULL,
     bytes bigint NOT NULL,
     dialect text NOT NULL,
     description text NOT NULL,
     published_at bigint NOT NULL,
     published_by text NOT NULL,
     yanked_at bigint,
     yanked_reason text,
     manifest text NOT NULL,
     text text NOT NULL,
     words tsvector NOT NULL,
     unpacked bigint NOT NULL,
     PRIMARY KEY (tenant, name, version)
   );
   CREATE INDEX skills_by_blob ON skills (sha256);
   CREATE INDEX skills_by_words ON skills USING gin (words);
   CREATE TABLE skill_tags (
     tenant text COLLATE "C" NOT NULL,
     name text COLLATE "C" NOT NULL,
     tag text COLLATE "C" NOT NULL,
     version text COLLATE "C" NOT NULL,
     PRIMARY KEY (tenant, name, tag)
   );`;

/**
 * A chain has its head in its own row: whoever appends locks it first, and finds it as the last one left it. What a query
 * filters by stands beside the text that was hashed, and a walk says when it is not the same. Positions are given before the
 * commit, so they may have gaps, and a lower one may be seen after a higher one; audit_settled says up to where nothing more
 * can come. For that, a writer holds a lock named after the last position before its own, until it commits.
 */
const JOURNAL = `
   CREATE TABLE audit_store (id text NOT NULL);
   INSERT INTO audit_store VALUES (replace(gen_random_uuid()::text, '-', ''));
   CREATE TABLE audit_chains (
     id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
     name text COLLATE "C" NOT NULL UNIQUE,
     seq bigint NOT NULL,
     hash text NOT NULL,
     sealed_seq bigint NOT NULL,
     sealed_hash text NOT NULL
   );
   CREATE TABLE audit_segments (
     last_position bigint PRIMARY KEY,
     first_position bigint NOT NULL,
     entries bigint NOT NULL,
     file text NOT NULL,
     sha256 text NOT NULL,
     spans text NOT NULL
   );
   CREATE INDEX audit_segments_by_blob ON audit_segments (sha256);
   CREATE SEQUENCE audit_positions MINVALUE 0 START 0;
   SELECT setval('audit_positions', 0);
   CREATE TABLE audit (
     position bigint PRIMARY KEY,
     chain bigint NOT NULL REFERENCES audit_chains (id),
     seq bigint NOT NULL,
     body text NOT NULL,
     hash text NOT NULL,
     time bigint NOT NULL,
     type text COLLATE "C" NOT NULL,
     subject text COLLATE "C"
   );
   CREATE UNIQUE INDEX audit_by_chain ON audit (chain, seq);
   CREATE INDEX audit_by_subject ON audit (subject, position);
   CREATE FUNCTION audit_settled(base bigint) RETURNS bigint LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
   DECLARE
     given bigint;
     unsettled bigint;
   BEGIN
     -- In this order: whoever was given a position by now holds its lock, or has committed.
     SELECT last_value INTO given FROM audit_positions;
     SELECT min(((classid::bigint << 32) | objid::bigint) - base) INTO unsettled FROM pg_locks
     WHERE locktype = 'advisory' AND objsubid = 1
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
       AND ((classid::bigint << 32) | objid::bigint) - base BETWEEN 0 AND (1::bigint << 40) - 1;
     RETURN least(given, unsettled);
   END $$;
   CREATE FUNCTION audit_refuses() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
   BEGIN
     IF TG_OP = 'DELETE' AND TG_TABLE_NAME = 'audit' THEN
       IF EXISTS (SELECT 1 FROM audit_segments WHERE last_position >= old.position) THEN RETURN old; END IF;
     END IF;
     RAISE EXCEPTION 'the journal is append-only';
   END $$;
   CREATE TRIGGER audit_is_kept BEFORE UPDATE OR DELETE ON audit FOR EACH ROW EXECUTE FUNCTION audit_refuses();
   CREATE TRIGGER audit_is_not_emptied BEFORE TRUNCATE ON audit EXECUTE FUNCTION audit_refuses();
   CREATE TRIGGER audit_segments_are_kept BEFORE UPDATE OR DELETE ON audit_segments
     FOR EACH ROW EXECUTE FUNCTION audit_refuses();
   CREATE TRIGGER audit_segments_are_not_emptied BEFORE TRUNCATE ON audit_segments EXECUTE FUNCTION audit_refuses();`;

/** What runs print is in rows, so that any process can follow them, and in a blob when they have ended. */
const LOGS = `
   CREATE TABLE run_logs (
     run text COLLATE "C" PRIMARY KEY,
     attempt bigint NOT NULL,
     sha256 text COLLATE "C",
     bytes bigint
   );
   CREATE INDEX run_logs_by_blob ON run_logs (sha256);
   CREATE TABLE run_log_rows (
     run text COLLATE "C" NOT NULL,
     begins bigint NOT NULL,
     frames bytea NOT NULL,
     PRIMARY KEY (run, begins)
   );
   ALTER TABLE run_log_rows ALTER COLUMN frames SET STORAGE EXTERNAL;`;

/**
 * Forward only; the position in the list is the version of the schema. A new one goes to the end, and one that was released
 * is never changed. The tables are those of SQLite; what differs, and why, is said beside it.
 */
export const MIGRATIONS: readonly string[] = [[RECORDS, SKILLS, JOURNAL, LOGS].join('\n')];
