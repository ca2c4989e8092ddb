-- Agents that hold checks of the location stop while the service is away, instead of continuing.
alter table locations add column stops_in_outages boolean not null default false;
-- The protocol minor that the agent named when it last renewed its checks. Agents of minor 7 do not know the switch.
alter table agents add column keeps_minor integer not null default 7;

drop trigger kept_locations on locations;
create trigger kept_locations after update of proxy_url, slug_name, stops_in_outages on locations for each row
  execute function note_kept_account();
