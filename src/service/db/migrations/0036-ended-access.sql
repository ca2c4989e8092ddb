-- Open streams of events end with the API key or the session that opened them.
create function publish_ended_access() returns trigger language plpgsql as $$
begin
  if events_are_read() then
    perform pg_notify('events', jsonb_build_object('endedAccess', old.id)::text);
  end if;
  return null;
end $$;
create trigger events_of_ended_keys after delete on api_keys for each row execute function publish_ended_access();
create trigger events_of_ended_sessions after delete on web_sessions for each row execute function publish_ended_access();
