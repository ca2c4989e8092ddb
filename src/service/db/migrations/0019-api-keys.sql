-- API keys have an end, and tell when they were last of use.
alter table api_keys
  -- Null = it does not end.
  add column expires_at timestamptz,
  -- To the minute.
  add column last_used_at timestamptz,
  add column updated_at timestamptz;
create index api_keys_account on api_keys (account_id, created_at, id);
