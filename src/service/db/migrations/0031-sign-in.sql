-- Roles of API keys, and the sessions of people who are signed in to the pages.

-- Keys that exist may use the whole account, as before.
alter table api_keys add column role text not null default 'ADMIN'
  check (role in ('ADMIN', 'READ_WRITE', 'READ_RUN', 'READ_ONLY'));

create table web_sessions (
  id uuid primary key,
  api_key_id uuid not null references api_keys on delete cascade,
  -- SHA-256 of the cookie's token.
  token_hash bytea not null unique,
  created_at timestamptz not null,
  -- To the minute.
  last_used_at timestamptz not null
);
create index web_sessions_api_key on web_sessions (api_key_id, last_used_at);
create index web_sessions_last_used on web_sessions (last_used_at);

-- Tokens of addresses that sign in once.
create table sign_in_tokens (
  token_hash bytea primary key,
  api_key_id uuid not null references api_keys on delete cascade,
  expires_at timestamptz not null
);
create index sign_in_tokens_api_key on sign_in_tokens (api_key_id);
create index sign_in_tokens_expiry on sign_in_tokens (expires_at);
