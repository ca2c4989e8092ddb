-- What is recorded of occurrences is forgotten in the end.
create index maintenances_ended on maintenances (ends_at) where ended_at is not null;
