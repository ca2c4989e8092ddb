-- Agents that hold checks get the variables of their account apart from the checks, so a change of one is sent by itself.

-- 'variables': the variables of the account. Older replicas take such a row for something that all checks use.
alter table kept_changes add column what text;

create function note_kept_variables() returns trigger language plpgsql as $$
declare
  account uuid;
begin
  if tg_op = 'DELETE' then account := old.account_id; else account := new.account_id; end if;
  if exists (select 1 from kept_accounts k join accounts a on a.id = k.account_id where k.account_id = account) then
    insert into kept_changes (account_id, what) values (account, 'variables');
    perform pg_notify('keeping', account::text);
  end if;
  return null;
end $$;
drop trigger kept_variables on account_variables;
create trigger kept_variables after insert or update or delete on account_variables for each row
  execute function note_kept_variables();
