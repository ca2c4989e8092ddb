-- Accounts, keys, locations, agents, checks, the job queue, results by day, statuses.

create table accounts (
  id uuid primary key,
  name text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz
);

-- Keys are kept as SHA-256 only: they are random and long, so a slow hash adds nothing.
create table api_keys (
  id uuid primary key,
  account_id uuid not null references accounts on delete cascade,
  name text not null,
  key_hash bytea not null unique,
  masked_key text not null,
  created_at timestamptz not null default now()
);

-- Private locations, and the data-centre codes of the specification once an account uses one.
create table locations (
  id uuid primary key,
  account_id uuid not null references accounts on delete cascade,
  kind text not null check (kind in ('private', 'data-center')),
  name text not null,
  slug_name text not null,
  icon text not null default 'location',
  -- Encrypted: it may hold a password.
  proxy_url bytea,
  created_at timestamptz not null default now(),
  updated_at timestamptz,
  unique (account_id, slug_name)
);

create table location_keys (
  id uuid primary key,
  location_id uuid not null references locations on delete cascade,
  key_hash bytea not null unique,
  masked_key text not null,
  created_at timestamptz not null default now()
);
create index location_keys_location on location_keys (location_id);

create table agents (
  id uuid primary key,
  location_id uuid not null references locations on delete cascade,
  instance_id text not null,
  version text not null,
  host jsonb not null,
  check_types text[] not null,
  runtimes text[] not null,
  lanes jsonb not null,
  created_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now(),
  unique (location_id, instance_id)
);

create table checks (
  id uuid primary key,
  account_id uuid not null references accounts on delete cascade,
  check_type text not null,
  name text not null,
  activated boolean not null default true,
  muted boolean not null default false,
  tags text[] not null default '{}',
  group_id bigint,
  -- Slugs: data-centre codes and private locations.
  locations text[] not null default '{}',
  private_locations text[] not null default '{}',
  run_parallel boolean not null default false,
  frequency integer not null,
  frequency_offset integer,
  -- Due at epoch-aligned multiples of interval_seconds plus offset_seconds.
  interval_seconds integer not null,
  offset_seconds double precision not null,
  next_due_at timestamptz,
  -- Which location's turn is next when the locations take turns.
  rotation integer not null default 0,
  -- Everything else of the check as the API shows it. Values of secret variables are encrypted in place.
  definition jsonb not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz
);
create index checks_account on checks (account_id, created_at, id);
create index checks_due on checks (next_due_at) where activated;

-- Runs that have not ended: one row per run and location, gone once the run's final result is stored.
create table jobs (
  id uuid primary key,
  account_id uuid not null,
  check_id uuid not null references checks on delete cascade,
  -- Of a scheduled run it derives from the check and the moment, so that a run is made once, however many replicas try.
  run_id uuid not null,
  sequence_id uuid not null,
  location_id uuid not null references locations on delete cascade,
  run_location text not null,
  run_source text not null default 'SCHEDULER',
  run_parallel boolean not null default false,
  check_type text not null,
  runtime_id text,
  lane text not null,
  -- Abandoned: missed after an agent had had it. Kept a while, because that agent may still bring the result.
  state text not null default 'queued' check (state in ('queued', 'leased', 'abandoned')),
  due_at timestamptz not null,
  -- Claimable from here on.
  not_before timestamptz not null,
  -- Not claimed by then: missed.
  expires_at timestamptz not null,
  -- How long it may wait each time it is queued.
  claim_window_seconds double precision not null,
  attempt integer not null default 1,
  first_attempt_at timestamptz,
  lease_token uuid,
  lease_expires_at timestamptz,
  agent_id uuid,
  -- How often it was handed out: a job that ends every agent that takes it must stop somewhere.
  deliveries integer not null default 0,
  stage text,
  cancel_requested boolean not null default false,
  -- Tokens of earlier leases: a late result of theirs is known, and counts if no final one exists yet.
  past_tokens uuid[] not null default '{}',
  -- 'attempt:token' of each result stored.
  reported text[] not null default '{}',
  created_at timestamptz not null default now()
);
create unique index jobs_run on jobs (check_id, run_id, location_id);
create index jobs_location on jobs (location_id, lane, not_before) where state = 'queued';
create index jobs_expiry on jobs (expires_at) where state = 'queued';
create index jobs_leases on jobs (lease_expires_at) where state = 'leased';
create index jobs_abandoned on jobs (expires_at) where state = 'abandoned';

-- What late and repeated results of ended runs are recognised by. A table of its own, dropped by the day: the embedded
-- database has no autovacuum, so the rows of `jobs` must stay few.
create table finished_jobs (
  job_id uuid not null,
  finished_at timestamptz not null,
  location_id uuid not null,
  lease_token uuid,
  past_tokens uuid[] not null,
  reported text[] not null,
  final_result_id uuid not null,
  primary key (job_id, finished_at)
) partition by range (finished_at);

-- Partitioned by day of started_at. The id is a UUIDv7 made from started_at, so that an id alone finds its partition.
create table check_results (
  id uuid not null,
  started_at timestamptz not null,
  stopped_at timestamptz not null,
  stored_at timestamptz not null default now(),
  account_id uuid not null,
  check_id uuid not null,
  job_id uuid,
  sequence_id uuid not null,
  check_type text not null,
  run_location text not null,
  result_type text not null,
  status text not null,
  has_failures boolean not null,
  has_errors boolean not null,
  is_degraded boolean not null,
  over_max_response_time boolean not null,
  is_cancelled boolean not null,
  response_time double precision not null,
  attempts integer not null,
  reason jsonb,
  -- assertions, timings, details, artifacts, log
  body jsonb not null,
  primary key (id, started_at)
) partition by range (started_at);
create index check_results_check on check_results (check_id, started_at desc, id desc);

-- The latest of each check, from FINAL results only. Space is left in each page, so that an update stays within it.
create table check_statuses (
  check_id uuid primary key references checks on delete cascade,
  account_id uuid not null,
  status text not null,
  has_failures boolean not null,
  has_errors boolean not null,
  is_degraded boolean not null,
  longest_run double precision,
  shortest_run double precision,
  last_run_location text,
  last_check_run_id uuid,
  last_started_at timestamptz not null,
  ssl_days_remaining integer,
  reason jsonb,
  created_at timestamptz not null default now(),
  updated_at timestamptz
) with (fillfactor = 70);
create index check_statuses_account on check_statuses (account_id);

-- Consecutive missed runs of a check at a location, for one reason, are one result; this names the open one.
create table missed_runs (
  check_id uuid not null references checks on delete cascade,
  run_location text not null,
  result_id uuid not null,
  result_started_at timestamptz not null,
  count integer not null,
  from_due_at timestamptz not null,
  to_due_at timestamptz not null,
  reason text not null,
  primary key (check_id, run_location)
);

-- Error-level events that agents report about themselves.
create table agent_events (
  id uuid primary key,
  location_id uuid not null references locations on delete cascade,
  agent_id uuid,
  event jsonb not null,
  created_at timestamptz not null default now()
);
create index agent_events_created on agent_events (created_at);

-- Facts about this installation, such as what its encryption key is recognised by.
create table settings (
  name text primary key,
  value text not null
);
