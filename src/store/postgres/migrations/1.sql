-- Unfinished tasks. A row is updated when it is claimed and deleted when it ends; so its indexes are narrow and partial: a
-- row is in those of its state only. States: 0 parked, 1 behind, 2 unjudged, 3 ready, 4 claimed. Times are microseconds
-- since 1970 in UTC, on the server's clock.
CREATE TABLE tasks (
  sequence     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id           uuid     NOT NULL UNIQUE,
  lane         bigint   NOT NULL,
  rank         bigint   NOT NULL,
  due          bigint   NOT NULL,
  posted       bigint   NOT NULL,
  expires      bigint,
  batch        bigint,
  owner        bigint   NOT NULL DEFAULT 0,     -- who has it, or had it last
  key          uuid,
  twins        uuid,                            -- key and namespace, of which only so many may be ready or claimed
  key_limit    integer,
  key_waiting  integer,
  epoch        integer  NOT NULL DEFAULT 0,
  attempts     integer  NOT NULL DEFAULT 0,
  setbacks     integer  NOT NULL DEFAULT 0,
  crash_marks  integer  NOT NULL DEFAULT 0,
  start_marked integer,                         -- the epoch of the last crash mark: a repeated one counts once
  state        smallint NOT NULL,
  priority     smallint NOT NULL,
  overflow     smallint NOT NULL,
  judged       boolean  NOT NULL DEFAULT false,
  logged       boolean  NOT NULL DEFAULT false, -- has a log: every further pass is noted
  unwanted     boolean  NOT NULL DEFAULT false, -- somebody wants it cancelled while another has it
  last_error   text,
  body         bytea    NOT NULL
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);
ALTER TABLE tasks ALTER COLUMN body SET STORAGE EXTERNAL;

CREATE INDEX tasks_ready    ON tasks (lane, rank, sequence)      WHERE state = 3;
CREATE INDEX tasks_unjudged ON tasks (lane, rank, sequence)      WHERE state = 2;
CREATE INDEX tasks_parked   ON tasks (lane, due, rank, sequence) WHERE state = 0;
CREATE INDEX tasks_behind   ON tasks (twins, rank, sequence)     WHERE state = 1;
CREATE INDEX tasks_counted  ON tasks (twins)                     WHERE state IN (3, 4) AND twins IS NOT NULL;
CREATE INDEX tasks_claimed  ON tasks (owner, sequence)           WHERE state = 4;
CREATE INDEX tasks_expiring ON tasks (expires)                   WHERE state <> 4 AND expires IS NOT NULL;
CREATE INDEX tasks_unwanted ON tasks (owner)                     WHERE unwanted;
CREATE INDEX tasks_batch    ON tasks (batch)                     WHERE batch IS NOT NULL;

-- Pairs of namespace and name that ever had a task. A number is never given to another pair; a pair may have two numbers, if
-- two gave it one at once: so nobody waits for a transaction that is still open, which may be an application's.
CREATE TABLE lanes (
  lane      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  namespace text NOT NULL,
  name      text NOT NULL
);
CREATE INDEX lanes_named ON lanes (namespace, name);

-- What ended, but for the trash.
CREATE TABLE history (
  place    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id       uuid     NOT NULL UNIQUE,
  lane     bigint   NOT NULL,
  owner    bigint   NOT NULL,
  ended    bigint   NOT NULL,
  epoch    integer  NOT NULL,
  attempts integer  NOT NULL,
  outcome  smallint NOT NULL,
  detail   text
);

-- What failed for good, in the order in which it got here, with all that is needed to post it again.
CREATE TABLE trash (
  place       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id          uuid     NOT NULL UNIQUE,
  lane        bigint   NOT NULL,
  owner       bigint   NOT NULL,
  ended       bigint   NOT NULL,
  epoch       integer  NOT NULL,
  attempts    integer  NOT NULL,
  outcome     smallint NOT NULL,
  detail      text,
  crash_marks integer  NOT NULL,
  key         uuid,
  twins       uuid,
  key_limit   integer,
  key_waiting integer,
  priority    smallint NOT NULL,
  overflow    smallint NOT NULL,
  last_error  text,
  body        bytea    NOT NULL
);
ALTER TABLE trash ALTER COLUMN body SET STORAGE EXTERNAL;

-- How the passes of a task ended, from the first one that went wrong.
CREATE TABLE attempts (
  id    uuid    NOT NULL,
  epoch integer NOT NULL,
  ended bigint  NOT NULL,
  owner bigint  NOT NULL,
  how   text    NOT NULL,
  PRIMARY KEY (id, epoch)
);

CREATE TABLE owners (
  owner    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  host     text    NOT NULL,
  pid      bigint  NOT NULL,
  version  text    NOT NULL,
  lease    bigint  NOT NULL,
  until    bigint  NOT NULL,
  fenced   boolean NOT NULL DEFAULT false,
  patterns text[]  NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE schedules (
  name   text    PRIMARY KEY,
  done   bigint  NOT NULL,
  paused boolean NOT NULL DEFAULT false
);

CREATE TABLE batches (
  batch  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  hash   bytea   NOT NULL,
  run    integer NOT NULL,
  sealed boolean NOT NULL DEFAULT false,
  UNIQUE (hash, run)
);

-- Up to where in the history values were forgotten.
CREATE TABLE pruned (values_to bigint NOT NULL);
INSERT INTO pruned VALUES (0);
