-- Alerts: what has been raised, and how far each check is in the state machine (src/service/alerting/state-machine.ts).

-- What checks without alert settings of their own have. Null = the defaults of the schema.
alter table accounts add column alert_settings jsonb;

-- A snapshot: a notification needs nothing else, whatever becomes of the check. They stay when the check is deleted.
create table alerts (
  id uuid primary key,
  account_id uuid not null references accounts on delete cascade,
  check_id uuid not null,
  check_name text not null,
  check_type text not null,
  check_description text,
  -- Of the check and its group.
  tags text[] not null,
  group_id bigint,
  group_name text,
  alert_type text not null,
  -- Of the result that the alert is about; a UUIDv7 of its started_at.
  result_id uuid,
  run_location text,
  run_location_name text,
  -- All locations of the run that say the same.
  run_locations text[] not null default '{}',
  response_time double precision,
  error text,
  status_code integer,
  status_text text,
  ssl_domain text,
  ssl_days_remaining integer,
  is_reminder boolean not null default false,
  -- 0 = no reminder.
  reminder_sequence integer not null default 0,
  -- Nobody is told: muted, deactivated, or a maintenance window silences it.
  silenced boolean not null default false,
  started_at timestamptz not null,
  created_at timestamptz not null
);
create index alerts_account on alerts (account_id, created_at desc, id desc);
create index alerts_check on alerts (check_id, created_at desc, id desc);
create index alerts_created on alerts (created_at);

-- One row per check that has run. Space is left in each page, so that an update stays within it.
create table alert_states (
  check_id uuid primary key references checks on delete cascade,
  account_id uuid not null,
  status text not null default 'passing' check (status in ('passing', 'degraded', 'failing')),
  -- Start of the first run of the present status, and how many consecutive runs it has had.
  since timestamptz,
  runs integer not null default 0,
  -- The alert of the present status has been raised.
  alerted boolean not null default false,
  -- Since the check passed last: somebody was told of anything, of a failure.
  told boolean not null default false,
  told_failure boolean not null default false,
  -- The present status began where nobody is told: nobody will be.
  silent boolean not null default false,
  reminders integer not null default 0,
  -- When the last alert or reminder of the present status was raised.
  alerted_at timestamptz,
  has_incident boolean not null default false,
  last_run_at timestamptz,
  last_run_id uuid,
  -- Of the last run: the result that alerts by time are about, and the locations that say the same.
  result_id uuid,
  run_locations text[] not null default '{}',
  -- When something is due that no run brings: an escalation by time, a reminder.
  due_at timestamptz,
  -- When its certificate was looked at last, and how many days it had.
  ssl_looked_at timestamptz,
  ssl_days integer
) with (fillfactor = 70);
create index alert_states_due on alert_states (due_at) where due_at is not null;

-- Which channels have been told that a certificate expires: each once of each certificate, which its expiry names.
create table ssl_notices (
  check_id uuid not null references checks on delete cascade,
  channel_id bigint not null,
  expires_at timestamptz not null,
  created_at timestamptz not null,
  primary key (check_id, channel_id, expires_at)
);
create index ssl_notices_expiry on ssl_notices (expires_at);
