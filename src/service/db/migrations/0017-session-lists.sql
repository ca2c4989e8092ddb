-- Lists of sessions, newest first, of an account or of one check; and the retries that a trigger asks for:
-- {"strategy": {...}}, {"strategy": null} = none; null = as each check says.
alter table check_sessions add column retries jsonb;
create index check_sessions_account on check_sessions (account_id, kind, id desc);
create index check_sessions_check on check_sessions (check_id, id desc) where check_id is not null;
