-- Live changes for open pages: triggers that notify the channel `events`, whatever part of the service makes the change.

-- Replicas that have open streams. While there is none, the triggers do nothing.
create table event_readers (
  replica_id uuid primary key,
  until timestamptz not null
);

create function events_are_read() returns boolean language sql stable as
  'select exists (select 1 from event_readers where until > now())';

create function publish_event(account uuid, kind text, data jsonb) returns void language sql as
  $$ select pg_notify('events', jsonb_build_object('account', account, 'kind', kind, 'data', data)::text) $$;

create function iso_time(at timestamptz) returns text language sql stable as
  $$ select to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') $$;

create function publish_run() returns trigger language plpgsql as $$
begin
  if events_are_read() then
    perform publish_event(new.account_id, 'run', jsonb_build_object('checkId', new.check_id, 'resultId', new.id,
      'sequenceId', new.sequence_id, 'status', new.status, 'responseTime', new.response_time,
      'runLocation', new.run_location, 'startedAt', iso_time(new.started_at), 'stoppedAt', iso_time(new.stopped_at)));
  end if;
  return null;
end $$;
create trigger events_of_runs after insert on check_results for each row
  when (new.result_type = 'FINAL' and not new.test_session) execute function publish_run();

create function publish_state() returns trigger language plpgsql as $$
begin
  if events_are_read() then
    perform publish_event(new.account_id, 'state', jsonb_build_object('checkId', new.check_id, 'state',
      case new.status when 'passed' then 'passing' when 'failed' then 'failing' when 'degraded' then 'degraded' else 'errored' end));
  end if;
  return null;
end $$;
create trigger events_of_first_states after insert on check_statuses for each row execute function publish_state();
create trigger events_of_states after update on check_statuses for each row
  when (old.status is distinct from new.status) execute function publish_state();

create function publish_check() returns trigger language plpgsql as $$
declare
  check_row checks%rowtype;
begin
  if events_are_read() then
    check_row := case when tg_op = 'DELETE' then old else new end;
    perform publish_event(check_row.account_id, 'check', jsonb_build_object('checkId', check_row.id, 'change',
      case tg_op when 'INSERT' then 'created' when 'UPDATE' then 'updated' else 'deleted' end));
  end if;
  return null;
end $$;
create trigger events_of_new_checks after insert or delete on checks for each row execute function publish_check();
-- Not when a run is due, which changes other columns.
create trigger events_of_checks after update on checks for each row
  when (old.updated_at is distinct from new.updated_at or old.private_locations is distinct from new.private_locations
    or old.group_id is distinct from new.group_id) execute function publish_check();

-- The settings of a group are those of its checks.
create function publish_checks_of_group() returns trigger language plpgsql as $$
begin
  if events_are_read() then
    perform publish_event(c.account_id, 'check', jsonb_build_object('checkId', c.id, 'change', 'updated'))
      from checks c where c.group_id = new.id;
  end if;
  return null;
end $$;
create trigger events_of_groups after update on check_groups for each row
  when (old.updated_at is distinct from new.updated_at) execute function publish_checks_of_group();

create function publish_job() returns trigger language plpgsql as $$
declare
  job jobs%rowtype;
begin
  if events_are_read() then
    job := case when tg_op = 'DELETE' then old else new end;
    perform publish_event(job.account_id, 'job', jsonb_build_object('checkId', job.check_id, 'sequenceId', job.sequence_id,
      'runLocation', job.run_location, 'state', case when tg_op = 'DELETE' then 'ended' else job.state end,
      'stage', case when tg_op = 'DELETE' then null else job.stage end));
  end if;
  return null;
end $$;
-- Scheduled runs that wait are not worth an event; runs that a person has started are.
create trigger events_of_new_jobs after insert on jobs for each row when (new.session_id is not null)
  execute function publish_job();
create trigger events_of_jobs after update on jobs for each row
  when (old.state is distinct from new.state or old.stage is distinct from new.stage) execute function publish_job();
create trigger events_of_ended_jobs after delete on jobs for each row execute function publish_job();

create function publish_alert() returns trigger language plpgsql as $$
begin
  if events_are_read() then
    perform publish_event(new.account_id, 'alert', jsonb_build_object('checkId', case when new.location_id is null then new.check_id end,
      'alertType', new.alert_type, 'id', new.id));
  end if;
  return null;
end $$;
create trigger events_of_alerts after insert on alerts for each row when (not new.silenced) execute function publish_alert();
