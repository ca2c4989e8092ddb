-- Figures of checks by the day, which reports over weeks are made of.

-- One row per check and day, made of its hours. Partitioned by month: dropped as a whole.
create table report_days (
  check_id uuid not null,
  day timestamptz not null,
  -- Runs that say something about the target, and those of them that did not fail.
  runs integer not null,
  up integer not null,
  -- Response times, in milliseconds: null and empty where nothing was measured.
  count integer not null,
  sum double precision not null,
  least double precision,
  greatest double precision,
  bucket_keys smallint[] not null,
  bucket_counts integer[] not null,
  -- The highest key that a tenth of the values reach: most of what is below is of no use for high percentiles.
  tail_key smallint,
  primary key (check_id, day)
) partition by range (day);

-- Days of checks with hours that their row does not have yet.
create table report_days_due (
  day timestamptz not null,
  check_id uuid not null,
  primary key (day, check_id)
);
create index report_days_due_check on report_days_due (check_id, day);
insert into report_days_due (day, check_id)
  select distinct date_trunc('day', hour, 'UTC'), check_id from check_rollups;
