-- Files whose bytes have not all come: few, and looked for by age.
create index artifacts_unfinished on artifacts (created_at) where state = 'pending';
