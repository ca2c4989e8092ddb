-- Runs of held checks that change nothing leave no trace but their result (src/service/db/last-run.ts).

-- All locks of this and the next two migrations, in the order in which an older replica takes them while it stores results. Otherwise
-- each could wait for the other.
lock table check_results, check_statuses, alert_states, alerts in access exclusive mode;

-- Newer runs may have passed than the one that the row names: they are in check_results only.
alter table check_statuses add column is_behind boolean not null default false;
-- Not on the time of the last run: each run changes it, and a change of an indexed column is written to all indexes.
create index check_statuses_behind on check_statuses (check_id) where is_behind;
