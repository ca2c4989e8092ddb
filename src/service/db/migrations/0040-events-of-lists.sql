-- Live changes of everything else that pages list: incidents, maintenance, status pages, services, groups, notifications, deployments.

-- Arguments: the kind of the event, and the column whose value is its `id`.
create function publish_row() returns trigger language plpgsql as $$
declare
  changed jsonb;
begin
  if events_are_read() then
    if tg_op = 'DELETE' then changed := to_jsonb(old); else changed := to_jsonb(new); end if;
    perform publish_event((changed->>'account_id')::uuid, tg_argv[0], jsonb_build_object('id', changed->tg_argv[1], 'change',
      case tg_op when 'INSERT' then 'created' when 'UPDATE' then 'updated' else 'deleted' end));
  end if;
  return null;
end $$;

-- A part of something: its owner has changed. Arguments: the kind, the owner's table, and the column with the owner's id.
create function publish_owner() returns trigger language plpgsql as $$
declare
  changed jsonb;
begin
  if events_are_read() then
    if tg_op = 'DELETE' then changed := to_jsonb(old); else changed := to_jsonb(new); end if;
    -- An owner that is being deleted has an event of its own.
    execute format('select publish_event(o.account_id, %L, jsonb_build_object(''id'', o.id, ''change'', ''updated'')) from %I o where o.id = %L',
      tg_argv[0], tg_argv[1], changed->>tg_argv[2]);
  end if;
  return null;
end $$;

create trigger events_of_incidents after insert or update or delete on status_page_incidents for each row
  execute function publish_row('incident', 'id');
create trigger events_of_incident_updates after insert or delete on status_page_incident_updates for each row
  execute function publish_owner('incident', 'status_page_incidents', 'incident_id');
create trigger events_of_changed_incident_updates after update on status_page_incident_updates for each row
  when (old.updated_at is distinct from new.updated_at)
  execute function publish_owner('incident', 'status_page_incidents', 'incident_id');
create trigger events_of_page_incidents after insert or update or delete on incidents for each row
  execute function publish_row('incident', 'id');
create trigger events_of_page_incident_updates after insert or delete on incident_updates for each row
  execute function publish_owner('incident', 'incidents', 'incident_id');
create trigger events_of_changed_page_incident_updates after update on incident_updates for each row
  when (old.updated_at is distinct from new.updated_at)
  execute function publish_owner('incident', 'incidents', 'incident_id');

create trigger events_of_new_windows after insert or delete on maintenance_windows for each row
  execute function publish_row('maintenance', 'id');
-- Not when a step of a window is done, which changes other columns.
create trigger events_of_windows after update on maintenance_windows for each row
  when (old.updated_at is distinct from new.updated_at) execute function publish_row('maintenance', 'id');
create trigger events_of_maintenances after insert or update or delete on maintenances for each row
  execute function publish_owner('maintenance', 'maintenance_windows', 'window_id');
create trigger events_of_maintenance_updates after insert or update or delete on maintenance_updates for each row
  execute function publish_owner('maintenance', 'maintenance_windows', 'window_id');

create trigger events_of_pages after insert or update or delete on status_pages for each row
  execute function publish_row('page', 'id');
create trigger events_of_services after insert or update or delete on status_page_services for each row
  execute function publish_row('service', 'id');

create trigger events_of_new_groups after insert or delete on check_groups for each row
  execute function publish_row('group', 'id');
create trigger events_of_changed_groups after update on check_groups for each row
  when (old.updated_at is distinct from new.updated_at) execute function publish_row('group', 'id');

create function publish_notification() returns trigger language plpgsql as $$
begin
  if events_are_read() then
    perform publish_event(new.account_id, 'notification',
      jsonb_build_object('id', new.id, 'checkId', new.check_id, 'status', new.status));
  end if;
  return null;
end $$;
create trigger events_of_new_notifications after insert on alert_notifications for each row
  execute function publish_notification();
create trigger events_of_notifications after update on alert_notifications for each row
  when (old.status is distinct from new.status or old.attempts is distinct from new.attempts)
  execute function publish_notification();

-- Not when a deployment makes progress only.
create trigger events_of_new_deployments after insert on project_deployments for each row
  execute function publish_row('deployment', 'logical_id');
create trigger events_of_deployments after update on project_deployments for each row
  when (old.status is distinct from new.status) execute function publish_row('deployment', 'logical_id');
create trigger events_of_projects after insert or update or delete on projects for each row
  execute function publish_row('deployment', 'logical_id');
