-- Status pages, the services that they show, incidents with their updates, and who is told of them by mail.

create table status_page_services (
  id uuid primary key,
  account_id uuid not null references accounts on delete cascade,
  name text not null,
  created_at timestamptz not null,
  updated_at timestamptz
);
create index status_page_services_account on status_page_services (account_id, id);

create table status_pages (
  id uuid primary key,
  account_id uuid not null references accounts on delete cascade,
  name text not null,
  -- The part of the path that names it; of all accounts.
  url text not null unique,
  custom_domain text unique,
  description text,
  default_theme text not null check (default_theme in ('AUTO', 'LIGHT', 'DARK')),
  logo text,
  favicon text,
  redirect_to text,
  is_private boolean not null,
  created_at timestamptz not null,
  updated_at timestamptz
);
create index status_pages_account on status_pages (account_id, id);

-- Cards group services on a page; they are written as a whole.
create table status_page_cards (
  id uuid primary key,
  page_id uuid not null references status_pages on delete cascade,
  position integer not null,
  name text not null
);
create index status_page_cards_page on status_page_cards (page_id, position);

create table status_page_card_services (
  card_id uuid not null references status_page_cards on delete cascade,
  service_id uuid not null references status_page_services on delete cascade,
  position integer not null,
  primary key (card_id, service_id)
);
create index status_page_card_services_service on status_page_card_services (service_id);

-- Incidents of services.
create table status_page_incidents (
  id uuid primary key,
  account_id uuid not null references accounts on delete cascade,
  name text not null,
  severity text not null check (severity in ('CRITICAL', 'MAJOR', 'MEDIUM', 'MINOR')),
  -- What its updates say together, written with each of them: the first one, the status of the last one, and the one that
  -- resolved it (null = it is not resolved).
  started_at timestamptz not null,
  last_update_status text not null,
  resolved_at timestamptz,
  -- The alert that opened it; null = a person did.
  alert_id uuid,
  -- Subscribers are told of its end, since they were told of its beginning.
  notify_subscribers boolean not null default false,
  -- The check whose recovery resolves it; null = none, or none any more.
  followed_check_id uuid references checks on delete set null,
  created_at timestamptz not null,
  updated_at timestamptz
);
create index status_page_incidents_account on status_page_incidents (account_id, id);
create unique index status_page_incidents_followed on status_page_incidents (followed_check_id)
  where followed_check_id is not null;
create index status_page_incidents_resolved on status_page_incidents (account_id, resolved_at);

create table status_page_incident_services (
  incident_id uuid not null references status_page_incidents on delete cascade,
  service_id uuid not null references status_page_services on delete cascade,
  position integer not null,
  primary key (incident_id, service_id)
);
create index status_page_incident_services_service on status_page_incident_services (service_id);

create table status_page_incident_updates (
  id uuid primary key,
  incident_id uuid not null references status_page_incidents on delete cascade,
  -- Updates of one moment are in the order in which they were written.
  position bigint generated always as identity,
  status text not null check (status in ('INVESTIGATING', 'IDENTIFIED', 'MONITORING', 'RESOLVED')),
  description text not null,
  -- Subscribers are told of it; when that was seen to.
  notify_subscribers boolean not null,
  told_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz
);
create index status_page_incident_updates_incident on status_page_incident_updates (incident_id, position);

-- Incidents of a status page ("dashboard") as a whole.
create table incidents (
  id uuid primary key,
  account_id uuid not null references accounts on delete cascade,
  dashboard_id uuid not null references status_pages on delete cascade,
  name text not null,
  severity text not null check (severity in ('MAINTENANCE', 'MAJOR', 'MINOR')),
  started_at timestamptz not null,
  stopped_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz
);
create index incidents_account on incidents (account_id, id);
create index incidents_dashboard on incidents (dashboard_id, stopped_at);

create table incident_updates (
  id uuid primary key,
  incident_id uuid not null references incidents on delete cascade,
  position bigint generated always as identity,
  status text not null check (status in ('INVESTIGATING', 'IDENTIFIED', 'MONITORING', 'RESOLVED', 'MAINTENANCE')),
  description text not null,
  notify_subscribers boolean not null,
  told_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz
);
create index incident_updates_incident on incident_updates (incident_id, position);

-- Who has asked to be told by mail of what a page shows, and is when the address has been confirmed.
create table status_page_subscribers (
  id uuid primary key,
  page_id uuid not null references status_pages on delete cascade,
  email text not null,
  -- The token of its links: sealed, since each mail carries it, and hashed, to find it.
  token text not null,
  token_hash bytea not null unique,
  -- When it was last asked to confirm.
  asked_at timestamptz not null,
  confirmed_at timestamptz,
  created_at timestamptz not null,
  unique (page_id, email)
);
create index status_page_subscribers_page on status_page_subscribers (page_id, id);
