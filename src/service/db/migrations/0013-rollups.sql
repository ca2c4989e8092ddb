-- Figures of checks by the hour, which analytics and reports are made of, and samples of locations.

-- One row per check, metric, hour, location, status and group key. Partitioned by month: dropped as a whole.
create table check_rollups (
  check_id uuid not null,
  metric text not null,
  hour timestamptz not null,
  run_location text not null,
  -- passed, degraded, failed; and errored, of which only `retries` counts runs.
  status text not null,
  -- Status code (API), index of the page (metrics of a page of BROWSER), else empty.
  group_key text not null,
  -- Of the metric `retries`: the number of runs.
  count integer not null,
  sum double precision not null,
  squares double precision not null,
  least double precision not null,
  greatest double precision not null,
  -- Histogram of logarithmic buckets (analytics/histogram.ts): keys in ascending order, how many values each has.
  bucket_keys smallint[] not null,
  bucket_counts integer[] not null,
  primary key (check_id, metric, hour, run_location, status, group_key)
) partition by range (hour);

-- Hours of checks that have results which their rollup does not have yet.
create table rollups_due (
  hour timestamptz not null,
  check_id uuid not null,
  primary key (hour, check_id)
);
create index rollups_due_check on rollups_due (check_id, hour);
insert into rollups_due (hour, check_id)
  select distinct date_trunc('hour', started_at, 'UTC'), check_id from check_results
  where result_type = 'FINAL' and not test_session and status not in ('missed', 'cancelled');

-- How locations stand, once a minute.
create table location_samples (
  location_id uuid not null references locations on delete cascade,
  sampled_at timestamptz not null,
  queue_size integer not null,
  -- Seconds that the run which has waited longest had waited.
  oldest_seconds double precision not null,
  primary key (location_id, sampled_at)
);
create index location_samples_time on location_samples (sampled_at);

-- How long runs waited for an agent: histograms of some seconds, each of one replica.
create table queue_waits (
  location_id uuid not null references locations on delete cascade,
  -- uptime, or main: browser and suite
  queue text not null,
  recorded_at timestamptz not null,
  count integer not null,
  sum double precision not null,
  bucket_keys smallint[] not null,
  bucket_counts integer[] not null
);
create index queue_waits_time on queue_waits (recorded_at);
