-- Whether a session has runs that go on is asked with the end of each run; one test session may have 20,000.
create index session_runs_open on session_runs (session_id) where status is null;
