-- Files of runs: traces, videos, reports. The bytes lie in the service's folder, under the id.

-- Which lease a result came with: its artifacts came with the same one.
alter table check_results add column lease_token uuid;

create table artifacts (
  id uuid primary key,
  account_id uuid not null references accounts on delete cascade,
  job_id uuid not null,
  attempt integer not null,
  lease_token uuid not null,
  name text not null,
  type text not null,
  content_type text not null,
  -- As announced by the agent; the whole is checked against both before it counts as stored.
  size bigint not null,
  sha256 bytea not null,
  state text not null check (state in ('pending', 'stored', 'refused', 'lost')),
  created_at timestamptz not null,
  stored_at timestamptz,
  unique (job_id, attempt, lease_token, name)
);
create index artifacts_created on artifacts (created_at);
