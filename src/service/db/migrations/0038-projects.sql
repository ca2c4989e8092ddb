-- Projects: resources that files in a repository describe, and the deployments that wrote them.

create table projects (
  id uuid primary key,
  account_id uuid not null references accounts on delete cascade,
  logical_id text not null,
  name text not null,
  repo_url text,
  created_at timestamptz not null,
  updated_at timestamptz,
  unique (account_id, logical_id)
);

-- A detached resource left the files and stays in the account. It can be attached again.
create table project_resources (
  project_id uuid not null references projects on delete cascade,
  account_id uuid not null,
  type text not null,
  logical_id text not null,
  physical_id text not null,
  is_protected boolean not null,
  is_detached boolean not null,
  -- What the files said, encrypted because it holds secrets; and what the API showed afterwards, without secrets.
  payload text not null,
  state jsonb not null,
  primary key (project_id, type, logical_id)
);
create unique index project_resources_owner on project_resources (account_id, type, physical_id) where not is_detached;

create table project_deployments (
  id uuid primary key,
  account_id uuid not null references accounts on delete cascade,
  logical_id text not null,
  status text not null,
  progress smallint not null,
  error jsonb,
  result jsonb,
  created_at timestamptz not null,
  started_at timestamptz,
  ended_at timestamptz,
  cancel_requested_at timestamptz,
  -- The process that runs it, and the time until which it is known to be alive.
  runner uuid not null,
  leased_until timestamptz not null
);
create unique index project_deployments_going on project_deployments (account_id, logical_id)
  where status in ('PENDING', 'RUNNING');
create index project_deployments_listed on project_deployments (account_id, logical_id, created_at);
