-- Runs of agentic checks, which the service itself makes: those that wait or go on. One that has ended is a result.

create table agentic_runs (
  -- As jobs have one: what a session knows the run by.
  id uuid primary key,
  run_id uuid not null,
  sequence_id uuid not null,
  account_id uuid not null references accounts on delete cascade,
  check_id uuid not null references checks on delete cascade,
  -- Null = scheduled.
  session_id uuid references check_sessions on delete cascade,
  test_session boolean not null default false,
  state text not null default 'queued' check (state in ('queued', 'running')),
  due_at timestamptz not null,
  -- While it waits: when it is given up.
  expires_at timestamptz not null,
  -- How often a replica has begun it.
  tries integer not null default 0,
  -- While it runs: of the replica that runs it, until then unless it is renewed.
  lease_token uuid,
  lease_until timestamptz,
  begun_at timestamptz,
  cancel_requested boolean not null default false
);
-- Of the scheduled runs of a check one waits or goes on.
create unique index agentic_runs_scheduled on agentic_runs (check_id) where session_id is null;
create index agentic_runs_check on agentic_runs (check_id);
create index agentic_runs_session on agentic_runs (session_id) where session_id is not null;
create index agentic_runs_account on agentic_runs (account_id);
create index agentic_runs_queued on agentic_runs (due_at) where state = 'queued';

-- A run is in the table until its result is stored, so that no second one is.
alter table agentic_states drop column last_run_id;

-- What sessions know of their runs that wait or go on, whoever runs them.
create view session_jobs as
  select id, account_id, session_id, state, stage, leased_at, cancel_requested from jobs
  union all
  select id, account_id, session_id, case state when 'running' then 'leased' else 'queued' end, null::text, begun_at,
    cancel_requested
  from agentic_runs;
