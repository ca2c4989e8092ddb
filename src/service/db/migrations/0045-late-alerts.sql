-- Alerts about runs that the service learned of much later, because it or its path to the agent was away.
alter table alerts add column is_late boolean not null default false;
-- When the service learned of the last run that counted.
alter table alert_states add column last_learned_at timestamptz;
