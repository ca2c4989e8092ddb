-- What an agent reports about itself: raised guards and its outbox. Null: its version reports nothing.
alter table agents add column condition jsonb, add column condition_at timestamptz;
