-- Checks whose statuses a service of status pages shows, and how a page looks.

create table status_page_service_checks (
  service_id uuid not null references status_page_services on delete cascade,
  check_id uuid not null references checks on delete cascade,
  position integer not null,
  primary key (service_id, check_id)
);
create index status_page_service_checks_check on status_page_service_checks (check_id);

alter table status_pages
  -- Null: its name.
  add column title text,
  -- Colours by theme; null: the default one.
  add column colors jsonb;
