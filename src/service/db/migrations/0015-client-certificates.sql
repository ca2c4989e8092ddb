-- Client certificates (mTLS) that API checks offer to hosts.
create table client_certificates (
  -- A UUIDv7: the order of ids is that in which they were made.
  id uuid primary key,
  account_id uuid not null references accounts on delete cascade,
  -- An exact name or a pattern, in lower case; of two that fit equally the newer one counts.
  host text not null,
  cert text not null,
  -- Encrypted, as the passphrase is.
  key text not null,
  ca text,
  passphrase text,
  created_at timestamptz not null,
  updated_at timestamptz
);
create index client_certificates_account on client_certificates (account_id, id);
