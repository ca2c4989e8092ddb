-- Runs that pass as the one before did repeat most of its result. What they repeat is stored once a day (src/service/results/bases.ts).

-- Bodies of results that later ones of the same check and day refer to. Partitioned by day, like the results.
create table result_bases (
  id uuid not null,
  started_at timestamptz not null,
  body jsonb not null,
  primary key (id, started_at)
) partition by range (started_at);

-- Null: `body` is whole. Otherwise it has what differs from this base.
alter table check_results add column base_id uuid;

-- A document with other values in it. Objects are merged, anything else is replaced.
create function overlaid(document jsonb, other jsonb) returns jsonb language plpgsql immutable as $$
begin
  if jsonb_typeof(document) <> 'object' or jsonb_typeof(other) <> 'object' then
    return other;
  end if;
  return document || coalesce((select jsonb_object_agg(key,
    case when document ? key then overlaid(document->key, value) else value end) from jsonb_each(other)), '{}');
end $$;

-- The whole body of a result, from its columns `body`, `base_id` and `started_at`.
create function whole_body(body jsonb, base_id uuid, started_at timestamptz) returns jsonb language plpgsql stable as $$
begin
  if base_id is null then
    return body;
  end if;
  return coalesce((select overlaid(b.body, whole_body.body) from result_bases b where b.id = whole_body.base_id
    and b.started_at >= date_trunc('day', whole_body.started_at, 'UTC')
    and b.started_at < date_trunc('day', whole_body.started_at, 'UTC') + interval '1 day'), body);
end $$;
