-- Which held checks a change concerns, so that agents read only those again. `what` is also 'certificates', or 'location:' and
-- an id. Replicas that do not know `what` take such a row for something that all checks use.
create function note_kept_part(account uuid, part text) returns void language plpgsql as $$
begin
  if exists (select 1 from kept_accounts k join accounts a on a.id = k.account_id where k.account_id = account) then
    insert into kept_changes (account_id, what) values (account, part);
    perform pg_notify('keeping', account::text);
  end if;
end $$;

create function note_kept_certificates() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then perform note_kept_part(old.account_id, 'certificates');
  else perform note_kept_part(new.account_id, 'certificates'); end if;
  return null;
end $$;
drop trigger kept_certificates on client_certificates;
create trigger kept_certificates after insert or update or delete on client_certificates for each row
  execute function note_kept_certificates();

create function note_kept_location() returns trigger language plpgsql as $$
begin
  perform note_kept_part(new.account_id, 'location:' || new.id);
  return null;
end $$;
drop trigger kept_locations on locations;
create trigger kept_locations after update of proxy_url, slug_name, stops_in_outages on locations for each row
  when ((old.proxy_url, old.slug_name, old.stops_in_outages) is distinct from
    (new.proxy_url, new.slug_name, new.stops_in_outages))
  execute function note_kept_location();
