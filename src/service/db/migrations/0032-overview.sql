-- Figures of each check's last 24 full hours, which overviews sort by. Written with the rollup of each hour.
create table check_figures (
  check_id uuid primary key references checks on delete cascade,
  -- The last hour that the figures contain.
  hour timestamptz not null,
  -- Percent; null: no run counted.
  availability double precision,
  -- Milliseconds; null: no run was measured.
  p95 double precision
) with (fillfactor = 70);

-- Missed runs have no rollups. There are few of them, so that finding them must not read all results of a day.
create index check_results_missed on check_results (check_id, started_at) where status = 'missed';
