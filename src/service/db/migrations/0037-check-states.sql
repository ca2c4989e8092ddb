-- What overviews count and sort by, of each check: narrow rows in the order of the usual list, so that a page and the totals of
-- 10,000 checks cost little. Triggers keep them; each writes only columns of its own, so that changes at the same time are no harm.
-- Replicas of the version before may still write: nothing may change between the copy below and its triggers.
lock table check_groups, checks, check_statuses in share row exclusive mode;

create table check_states (
  check_id uuid primary key references checks on delete cascade,
  account_id uuid not null,
  group_id bigint,
  -- The start of the name in lower case.
  name text not null,
  activated boolean not null,
  muted boolean not null,
  group_activated boolean not null,
  group_muted boolean not null,
  -- Of check_statuses; null: no run yet.
  status text,
  -- Places in the list: failing, errored, degraded, waiting, passing, paused.
  state smallint not null generated always as (
    case when not activated or not group_activated then 5 when status is null then 3 when status = 'failed' then 0
      when status = 'degraded' then 2 when status = 'passed' then 4 else 1 end) stored
);
create index check_states_listed on check_states (account_id, state, name, check_id) include (group_id, muted, group_muted);
create index check_states_group on check_states (group_id) where group_id is not null;

insert into check_states (check_id, account_id, group_id, name, activated, muted, group_activated, group_muted, status)
select c.id, c.account_id, c.group_id, left(lower(c.name), 200), c.activated, c.muted, coalesce(g.activated, true),
  coalesce(g.muted, false), s.status
from checks c left join check_groups g on g.id = c.group_id left join check_statuses s on s.check_id = c.id;

create function keep_check_state() returns trigger language plpgsql as $$
declare
  of_group record;
begin
  -- The lock waits for a change of the group that is not committed yet, which could not see this check.
  select activated, muted into of_group from check_groups where id = new.group_id for share;
  insert into check_states (check_id, account_id, group_id, name, activated, muted, group_activated, group_muted)
  values (new.id, new.account_id, new.group_id, left(lower(new.name), 200), new.activated, new.muted,
    coalesce(of_group.activated, true), coalesce(of_group.muted, false))
  on conflict (check_id) do update set group_id = excluded.group_id, name = excluded.name, activated = excluded.activated,
    muted = excluded.muted, group_activated = excluded.group_activated, group_muted = excluded.group_muted;
  return null;
end $$;
create trigger state_of_new_checks after insert on checks for each row execute function keep_check_state();
create trigger state_of_checks after update on checks for each row
  when (old.group_id is distinct from new.group_id or old.name <> new.name or old.activated <> new.activated
    or old.muted <> new.muted) execute function keep_check_state();

create function keep_group_of_states() returns trigger language plpgsql as $$
begin
  update check_states set group_activated = new.activated, group_muted = new.muted where group_id = new.id;
  return null;
end $$;
create trigger states_of_groups after update on check_groups for each row
  when (old.activated <> new.activated or old.muted <> new.muted) execute function keep_group_of_states();

create function keep_status_of_state() returns trigger language plpgsql as $$
begin
  update check_states set status = case when tg_op <> 'DELETE' then new.status end
    where check_id = case when tg_op = 'DELETE' then old.check_id else new.check_id end;
  return null;
end $$;
create trigger state_of_new_statuses after insert or delete on check_statuses for each row execute function keep_status_of_state();
create trigger state_of_statuses after update on check_statuses for each row
  when (old.status <> new.status) execute function keep_status_of_state();

-- Runs by status (passed, degraded, failed, errored) of each of the 24 hours up to `hour`, oldest first. Null: not computed yet.
alter table check_figures add column runs integer[];

-- The last change of an account's checks, by which an overview knows whether its tags are still the same.
create index checks_changed on checks (account_id, (coalesce(updated_at, created_at)));
