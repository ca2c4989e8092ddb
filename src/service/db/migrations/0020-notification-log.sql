-- What nobody delivers any more is looked for among few rows; the log is read by check, alert and channel.
create index alert_notifications_open on alert_notifications (coalesce(updated_at, created_at))
  where status = 'IN_PROGRESS';
create index alert_notifications_check on alert_notifications (check_id, created_at desc, id desc)
  where check_id is not null;
create index alert_notifications_alert on alert_notifications (alert_id) where alert_id is not null;
create index alert_notifications_bad on alert_notifications (account_id, status, created_at desc, id desc)
  where status <> 'SUCCESS';
