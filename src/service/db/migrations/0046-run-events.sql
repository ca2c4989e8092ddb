-- Results are stored in batches, and most of the time nobody reads events: the question is asked once for each statement.
drop trigger events_of_runs on check_results;
drop function publish_run();

create function publish_runs() returns trigger language plpgsql as $$
begin
  if events_are_read() then
    perform publish_event(r.account_id, 'run', jsonb_build_object('checkId', r.check_id, 'resultId', r.id,
      'sequenceId', r.sequence_id, 'status', r.status, 'responseTime', r.response_time, 'runLocation', r.run_location,
      'startedAt', iso_time(r.started_at), 'stoppedAt', iso_time(r.stopped_at)))
    from stored r where r.result_type = 'FINAL' and not r.test_session;
  end if;
  return null;
end $$;
create trigger events_of_runs after insert on check_results referencing new table as stored for each statement
  execute function publish_runs();
