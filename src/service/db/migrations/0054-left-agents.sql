-- The agent has given its checks back, or a process that continues it has said so: they need not wait for its lease.
alter table agents add column has_left boolean not null default false;
