-- The schedule that was handed out. Null in rows of earlier releases, until the check is handed out again.
alter table kept_checks
  add column interval_seconds integer,
  add column offset_seconds double precision;

-- Moments of a schedule that a check had before an edit. Its holder owed them when the edit was handed out. Once it has
-- reported everything until then, or has left, those without a run are recorded as missed.
create table kept_former_schedules (
  id bigint generated always as identity primary key,
  account_id uuid not null references accounts on delete cascade,
  check_id uuid not null,
  agent_id uuid not null,
  location_id uuid not null,
  interval_seconds integer not null,
  offset_seconds double precision not null,
  -- Both included.
  owed_from timestamptz not null,
  owed_to timestamptz not null
);
create index kept_former_schedules_account on kept_former_schedules (account_id);
