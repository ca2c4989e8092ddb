-- Alerts about locations: the network of a location's agents has failed, or works again.

-- Null: the alert is about a check. Otherwise check_id has the location's id too, so that its notifications keep their order.
alter table alerts add column location_id uuid;
create index alerts_location on alerts (account_id, created_at desc, id desc) where location_id is not null;

create table location_networks (
  location_id uuid primary key references locations on delete cascade,
  account_id uuid not null references accounts on delete cascade,
  -- Start of the first run that the present trouble spoiled; null: there is no trouble.
  since timestamptz,
  -- Start of the latest spoiled run, and of the run that ended the latest trouble.
  last_seen_at timestamptz not null,
  ended_at timestamptz,
  -- Checks whose latest run here was spoiled: their ids, and when those runs started (milliseconds).
  pending jsonb not null default '{}',
  -- The alert that reported the present trouble.
  alert_id uuid
);
create index location_networks_troubled on location_networks (account_id) where since is not null;
