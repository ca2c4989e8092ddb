-- The agent's lease on its checks as a replica has set it that sends the variables of the account apart. If keeps_until is
-- another one, a replica of an earlier release has renewed the lease: the agent learns of changes only by its checks.
alter table agents add column shares_until timestamptz;
