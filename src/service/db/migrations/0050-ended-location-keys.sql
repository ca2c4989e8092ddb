-- Replicas that remember the owner of a location key forget it when the key is deleted. The payload is the hash of the key.
create function publish_ended_location_key() returns trigger language plpgsql as $$
begin
  perform pg_notify('ended_location_keys', encode(old.key_hash, 'base64'));
  return null;
end $$;
create trigger ended_location_keys after delete on location_keys for each row
  execute function publish_ended_location_key();
