-- Whether the agent can hold checks, as it said in its last hello to a replica that writes this down. An agent whose `keeps` is
-- another was greeted by a replica that let agents hold none, or knew of none: it is asked for a new hello.
alter table agents add column can_keep boolean;
