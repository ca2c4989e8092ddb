-- Results that have left `check_results` for files in the artifact store (result-files/). Each file has results of one
-- account and one day (UTC). A result is in exactly one of both: the transaction that inserts these rows deletes those.
create table result_files (
  id uuid primary key,
  account_id uuid not null,
  day timestamptz not null,
  rows integer not null,
  bytes integer not null,
  -- SHA-256 of its footer, which has the digests of all its columns.
  footer_digest bytea not null,
  created_at timestamptz not null,
  -- Since when it cannot be read; null = it can, as far as is known.
  unreadable_since timestamptz
);
create index result_files_day on result_files (day, account_id);
create index result_files_account on result_files (account_id, unreadable_since);
create index result_files_unreadable on result_files (day) where unreadable_since is not null;

-- Where the results of a check are in a file: `rows` of them from `first_row` on, newest first.
create table result_file_checks (
  check_id uuid not null,
  -- Start of its newest and of its oldest result in this file.
  newest timestamptz not null,
  oldest timestamptz not null,
  file_id uuid not null references result_files on delete cascade,
  first_row integer not null,
  rows integer not null,
  primary key (check_id, newest, file_id)
);
create index result_file_checks_file on result_file_checks (file_id);

-- Days whose results are moved to files, and the replica that is doing it.
create table result_file_days (
  day timestamptz primary key,
  looked_at timestamptz,
  replica uuid,
  until timestamptz
);
