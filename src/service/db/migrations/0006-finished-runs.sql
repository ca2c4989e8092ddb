-- What alerts, error groups and the like still have to be told: final results, in the order in which they were stored.
-- Written with the result, gone once everybody who follows runs has seen the run.
create table finished_runs (
  id bigint generated always as identity primary key,
  account_id uuid not null,
  check_id uuid not null,
  run_id uuid not null,
  result_id uuid not null,
  started_at timestamptz not null,
  run_location text not null,
  status text not null,
  -- How often the run could not be followed: one that never can must not hold up the others.
  failures integer not null default 0,
  not_before timestamptz
);
create index finished_runs_run on finished_runs (check_id, run_id);
