-- Mails to subscribers of status pages that are not sent yet. The mails of one incident or maintenance to one
-- subscriber are sent in the order of their positions. Finished mails are deleted.
create table subscriber_mails (
  id uuid primary key,
  subscriber_id uuid not null references status_page_subscribers on delete cascade,
  -- The incident or the occurrence of a maintenance.
  subject text not null,
  position bigint generated always as identity,
  message jsonb not null,
  -- Tries that have failed.
  attempts integer not null default 0,
  -- While a try runs, its lease. Whoever dies during a try leaves a lease that ends.
  trying_until timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz
);
create index subscriber_mails_sequence on subscriber_mails (subscriber_id, subject, position);
create index subscriber_mails_created on subscriber_mails (created_at);
-- The last notification of a subject before another one.
create index alert_notifications_subject on alert_notifications (channel_id, subject, position)
  where subject is not null;
