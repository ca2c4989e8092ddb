-- Each look for finished runs asks which checks have a postponed one, of which there are few. Without the index, it reads
-- all finished runs.
create index finished_runs_postponed on finished_runs (check_id, id) where not_before is not null;
