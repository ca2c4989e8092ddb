-- Agentic checks in groups: a triggered run of the group lets them go in their turn, as it does jobs.

alter table agentic_runs
  add column group_run_id uuid,
  -- The place of its check in the order of the group.
  add column group_position integer,
  drop constraint agentic_runs_state_check,
  add constraint agentic_runs_state_check check (state in ('queued', 'running', 'blocked'));
create index agentic_runs_group_run on agentic_runs (group_run_id, group_position) where group_run_id is not null;

create or replace view session_jobs as
  select id, account_id, session_id, state, stage, leased_at, cancel_requested from jobs
  union all
  select id, account_id, session_id, case state when 'running' then 'leased' else state end, null::text, begun_at,
    cancel_requested
  from agentic_runs;

-- What runs of groups know of theirs, whoever runs them.
create view group_run_jobs as
  select group_run_id, group_position, check_id, state from jobs where group_run_id is not null
  union all
  select group_run_id, group_position, check_id, case state when 'running' then 'leased' else state end
  from agentic_runs where group_run_id is not null;
