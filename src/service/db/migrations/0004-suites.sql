-- Playwright suites: code bundles, and what is shown of many runs at once.

-- The bytes lie in the service's folder, under the id. The same content is stored once per account: the key is its digest.
create table playwright_bundles (
  id uuid primary key,
  account_id uuid not null references accounts on delete cascade,
  key text not null,
  -- SHA-256 of the archive, in hex.
  digest text not null,
  size bigint not null,
  created_at timestamptz not null,
  -- When it was uploaded last, or last seen to be used by a check.
  used_at timestamptz not null,
  unique (account_id, key)
);
create index playwright_bundles_used on playwright_bundles (used_at);

alter table checks
  add column code_bundle_key text generated always as (definition->>'codeBundlePath') stored;
create index checks_bundle on checks (account_id, code_bundle_key) where code_bundle_key is not null;

-- How many tests of a suite passed, failed and so on: apart, because bodies of suites are large.
alter table check_results add column totals jsonb;
