-- Runs of held checks that change nothing leave no trace but their result (src/service/db/last-run.ts).

-- Newer runs may have passed than the one that the row names: they are in check_results only.
alter table check_statuses add column is_behind boolean not null default false;
create index check_statuses_behind on check_statuses (last_started_at) where is_behind;
