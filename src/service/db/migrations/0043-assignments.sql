-- Assignments: agents that hold checks and keep their schedule themselves (docs/agent-protocol.md).

alter table agents
  -- It can hold checks.
  add column keeps boolean not null default false,
  -- Its lease on all the checks that it holds; null = it has none.
  add column keeps_until timestamptz,
  -- It has reported every run up to here of the checks that it knew of at `kept_cursor`.
  add column reported_to timestamptz,
  add column kept_cursor text;

-- Kept: an agent that holds the check has reported an attempt and makes the next one itself.
alter table jobs
  drop constraint jobs_state_check,
  add constraint jobs_state_check check (state in ('queued', 'leased', 'abandoned', 'blocked', 'kept'));
create index jobs_kept on jobs (agent_id) where state = 'kept';

-- Accounts with agents that hold checks. The row is locked while checks are handed out.
create table kept_accounts (
  account_id uuid primary key references accounts on delete cascade,
  -- Rises with each hand-out.
  rev bigint not null default 0,
  -- Rises with each change of the agents, and fences the checks that one of them got earlier.
  epoch bigint not null default 0,
  -- The agents among which all checks were last handed out.
  members uuid[] not null default '{}',
  handed_out_at timestamptz
);

-- Which agent holds a check, or has held it. While an agent holds it, checks.next_due_at is null: the scheduler makes no
-- runs of it.
create table kept_checks (
  check_id uuid not null,
  agent_id uuid not null,
  account_id uuid not null references accounts on delete cascade,
  location_id uuid not null,
  -- The agent owes every run from here on.
  owed_from timestamptz not null,
  -- The hand-out that has changed it last; agents read what is newer than what they have.
  rev bigint not null,
  epoch bigint not null,
  -- When it was taken from the agent; null = it holds the check.
  dropped_at timestamptz,
  -- No job can be built of the check, so it stays in the queue until it is changed.
  is_refused boolean not null default false,
  -- Up to when the agent knows the pauses of maintenance windows; null = the account has none.
  pauses_until timestamptz,
  primary key (check_id, agent_id)
);
create unique index kept_checks_holder on kept_checks (check_id) where dropped_at is null;
create index kept_checks_agent on kept_checks (agent_id, rev, check_id);
create index kept_checks_account on kept_checks (account_id) where dropped_at is null or is_refused;
create index kept_checks_dropped on kept_checks (dropped_at) where dropped_at is not null;

-- What has changed since the last hand-out. Neither a check nor a group: anything that all checks of the account use.
create table kept_changes (
  id bigint generated always as identity primary key,
  -- Not a reference: rows are also written while an account is deleted.
  account_id uuid not null,
  check_id uuid,
  group_id bigint
);
create index kept_changes_account on kept_changes (account_id);

create function note_kept_change(account uuid, changed_check uuid, changed_group bigint) returns void language plpgsql as $$
begin
  -- An account that is being deleted has nothing left to hand out.
  if exists (select 1 from kept_accounts k join accounts a on a.id = k.account_id where k.account_id = account) then
    insert into kept_changes (account_id, check_id, group_id) values (account, changed_check, changed_group);
    perform pg_notify('keeping', account::text);
  end if;
end $$;

create function note_kept_check() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then perform note_kept_change(old.account_id, old.id, null);
  else perform note_kept_change(new.account_id, new.id, null); end if;
  return null;
end $$;
create trigger kept_new_checks after insert on checks for each row
  when (new.account_id is not null) execute function note_kept_check();
create trigger kept_deleted_checks after delete on checks for each row
  when (old.account_id is not null) execute function note_kept_check();
-- Not when the scheduler moves it on.
create trigger kept_changed_checks after update of name, check_type, activated, tags, group_id, locations, private_locations,
  run_parallel, interval_seconds, offset_seconds, definition, code on checks for each row
  when (new.account_id is not null) execute function note_kept_check();

create function note_kept_group() returns trigger language plpgsql as $$
begin
  perform note_kept_change(new.account_id, null, new.id);
  return null;
end $$;
create trigger kept_changed_groups after update on check_groups for each row execute function note_kept_group();

-- The argument: the table whose row has the account, if it is another one than the changed one.
create function note_kept_account() returns trigger language plpgsql as $$
declare
  changed jsonb;
  account uuid;
begin
  if tg_op = 'DELETE' then changed := to_jsonb(old); else changed := to_jsonb(new); end if;
  if tg_nargs = 0 then account := (changed->>'account_id')::uuid;
  else select w.account_id into account from maintenance_windows w where w.id = (changed->>'window_id')::bigint; end if;
  perform note_kept_change(account, null, null);
  return null;
end $$;
create trigger kept_variables after insert or update or delete on account_variables for each row
  execute function note_kept_account();
create trigger kept_certificates after insert or update or delete on client_certificates for each row
  execute function note_kept_account();
create trigger kept_locations after update of proxy_url, slug_name on locations for each row
  execute function note_kept_account();
create trigger kept_new_windows after insert or delete on maintenance_windows for each row
  execute function note_kept_account();
create trigger kept_windows after update of starts_at, ends_at, timezone, repeat_interval, repeat_unit, repeat_ends_at,
  over_at, pause_all_checks, tags on maintenance_windows for each row execute function note_kept_account();
create trigger kept_maintenances after insert or update or delete on maintenances for each row
  execute function note_kept_account('maintenance_windows');
