-- Notifications of one subject (for example a check) and channel are sent in the order in which they were written.
-- Null: no order, as for tests and certificates.
-- The tables that this and the next migrations change, locked at once: replicas of the version before still write to them.
lock table jobs, alerts, alert_notifications in access exclusive mode;
alter table alert_notifications add column subject text;
-- No identity column, which would write the whole table anew. Earlier notifications have no position.
create sequence alert_notifications_position;
alter table alert_notifications add column position bigint;
alter table alert_notifications alter column position set default nextval('alert_notifications_position');
alter sequence alert_notifications_position owned by alert_notifications.position;
-- While a try runs, its lease. Whoever dies during a try leaves a lease that ends.
alter table alert_notifications add column trying_until timestamptz;
alter table alert_notifications drop constraint alert_notifications_status_check;
alter table alert_notifications add constraint alert_notifications_status_check
  check (status in ('IN_PROGRESS', 'SUCCESS', 'FAILURE', 'RATE_LIMITED', 'SUPERSEDED')) not valid;
create index alert_notifications_sequence on alert_notifications (channel_id, subject, position)
  where status = 'IN_PROGRESS';
