-- A check without an account is a draft: a definition that files describe, for the runs of one test session.
alter table checks alter column account_id drop not null;
alter table checks
  add column draft_session uuid references check_sessions on delete cascade deferrable initially deferred,
  -- Its job for an agent, encrypted.
  add column draft_job text,
  add constraint checks_owner check ((account_id is null) = (draft_session is not null));
create index checks_drafts on checks (draft_session) where draft_session is not null;

-- Drafts have no states, and nobody follows them.
drop trigger state_of_new_checks on checks;
create trigger state_of_new_checks after insert on checks for each row
  when (new.account_id is not null) execute function keep_check_state();
drop trigger events_of_new_checks on checks;
create trigger events_of_new_checks after insert on checks for each row
  when (new.account_id is not null) execute function publish_check();
create trigger events_of_deleted_checks after delete on checks for each row
  when (old.account_id is not null) execute function publish_check();
