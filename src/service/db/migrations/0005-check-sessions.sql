-- Runs that somebody asked for: check sessions, one per check, and test sessions, of any number of checks. What became of a
-- session follows from its runs and is stored nowhere.
create table check_sessions (
  id uuid primary key,
  account_id uuid not null references accounts on delete cascade,
  kind text not null check (kind in ('check', 'test')),
  -- Of a check session. It stays when its check is deleted, as results do.
  check_id uuid,
  name text not null,
  run_source text not null,
  refresh_cache boolean not null default false,
  -- Of a test session: they go before those of the check. Secret values are encrypted in place.
  environment_variables jsonb,
  metadata jsonb,
  started_at timestamptz not null
);
create index check_sessions_started on check_sessions (started_at);

create table session_runs (
  session_id uuid not null references check_sessions on delete cascade,
  sequence_id uuid not null,
  job_id uuid not null unique,
  check_id uuid not null,
  check_type text not null,
  check_name text not null,
  run_location text not null,
  -- Of the final result; null while the run goes on.
  status text,
  ended_at timestamptz,
  primary key (session_id, sequence_id)
);

alter table jobs
  add column session_id uuid,
  add column test_session boolean not null default false,
  add column refresh_cache boolean not null default false,
  add column leased_at timestamptz;

-- Results of test sessions say nothing about the state of a check.
alter table check_results add column test_session boolean not null default false;

-- What runs tell while they go on; the result has the log afterwards. Lost in a crash, which loses no result.
create unlogged table run_logs (
  job_id uuid not null,
  part bigint generated always as identity,
  lines text[] not null,
  line_count integer not null,
  chars integer not null,
  primary key (job_id, part)
);
