-- When the service and its database last worked together, and when they last did not for a while. One row, which each
-- replica writes once a second: nobody could renew a lease or claim a run while no replica could write it.
create table service_beat (
  id boolean primary key default true check (id),
  at timestamptz not null,
  away_from timestamptz,
  away_to timestamptz
);

-- How often the agent that was running the job disappeared. An agent that had the job and had not begun it is no loss.
alter table jobs add column losses integer not null default 0;
