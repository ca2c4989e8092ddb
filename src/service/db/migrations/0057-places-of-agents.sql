-- An agent that continues an earlier process takes its place among the agents of the location: it gets the same checks, and no
-- other check moves. Null = a place of its own, which its id names.
alter table agents add column place uuid;
