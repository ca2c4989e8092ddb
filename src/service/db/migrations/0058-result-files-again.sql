-- The stored (compressed) bytes of what a body shares with others; 0 if it is whole. Of a result, from its columns `base_id` and
-- `started_at`.
create function base_bytes(base_id uuid, started_at timestamptz) returns integer language plpgsql stable as $$
begin
  if base_id is null then
    return 0;
  end if;
  return coalesce((select pg_column_size(b.body) from result_bases b where b.id = base_bytes.base_id
    and b.started_at >= date_trunc('day', base_bytes.started_at, 'UTC')
    and b.started_at < date_trunc('day', base_bytes.started_at, 'UTC') + interval '1 day'), 0);
end $$;

-- When an unreadable file was read again last; null = never.
alter table result_files add column tried_at timestamptz;

-- Files that others without the results of deleted checks have replaced. They stay for a day, for a database that loses its
-- last transactions in a failover.
create table replaced_result_files (
  id uuid primary key,
  account_id uuid not null,
  day timestamptz not null,
  replaced_at timestamptz not null
);

-- The space of moved results was not given back to the disk; it is tried again at the next look.
alter table result_file_days add column holds_space boolean not null default false;
