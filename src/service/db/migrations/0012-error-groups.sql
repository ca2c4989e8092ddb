-- Error groups, root cause analyses, and what is known of agentic checks.

-- Results with the same cleaned message. Which results belong to a group follows from their messages, so no row says it.
create table error_groups (
  -- A UUIDv7 of first_seen.
  id uuid primary key,
  account_id uuid not null references accounts on delete cascade,
  check_id uuid not null references checks on delete cascade,
  -- SHA-256 of the cleaned message, in hex.
  error_hash text not null,
  -- Of the latest result.
  raw_error_message text,
  cleaned_error_message text not null,
  first_seen timestamptz not null,
  last_seen timestamptz not null,
  -- The latest result of the group, a UUIDv7 of its started_at.
  last_result_id uuid not null,
  archived_until_next_event boolean not null default false,
  archive_for_ever boolean not null default false,
  -- Runs that started before it are no next event.
  archived_at timestamptz,
  unique (check_id, error_hash)
) with (fillfactor = 70);
create index error_groups_check on error_groups (check_id, last_seen desc, id desc);
create index error_groups_age on error_groups (last_seen);

-- They outlive their check and group until retention takes them.
create table root_cause_analyses (
  id uuid primary key,
  account_id uuid not null references accounts on delete cascade,
  check_id uuid references checks on delete set null,
  error_group_id uuid references error_groups on delete set null,
  check_type text not null,
  provider text not null,
  model text not null,
  user_context text not null,
  status text not null check (status in ('PENDING', 'COMPLETED')),
  duration_ms double precision not null default 0,
  -- Null while it is pending.
  analysis jsonb,
  created_at timestamptz not null
);
create index root_cause_analyses_group on root_cause_analyses (error_group_id, created_at desc);
create index root_cause_analyses_check on root_cause_analyses (check_id);
create index root_cause_analyses_pending on root_cause_analyses (account_id) where status = 'PENDING';
create index root_cause_analyses_age on root_cause_analyses (created_at);

-- What an agentic check did in its first good run: later runs do the same again without asking a model.
create table agentic_states (
  check_id uuid primary key references checks on delete cascade,
  -- Of the prompt and the skills that the actions were found for.
  prompt_hash text,
  actions jsonb,
  -- A run that is begun again by another replica stores no second result.
  last_run_id uuid
);
create index checks_agentic_due on checks (next_due_at) where activated and check_type = 'AGENTIC';
