-- Networks that customer code of a private location may reach.

-- Null: every network that is not special.
alter table locations add column allowed_networks text[];

-- The list that the agent's last hello delivered. If the location's list is another one, the agent must say hello again.
alter table agents add column allowed_networks text[];
