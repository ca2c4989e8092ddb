-- What a session has come to, written with the end of its last run: lists of sessions by their status. OPEN while runs go on, of one
-- whose jobs are gone without a result, and of one that an older replica has ended: what these have come to is counted when they are read.
alter table check_sessions add column status text not null default 'OPEN';
update check_sessions s set status = ended.status
from (
  select session_id, case
    when bool_or(status = 'cancelled') then 'CANCELLED'
    when bool_or(status in ('failed', 'errored')) then 'FAILED'
    when bool_or(status = 'missed') then 'TIMED_OUT'
    when bool_or(status = 'degraded') then 'DEGRADED'
    else 'PASSED' end as status
  from session_runs group by session_id having bool_and(status is not null)
) as ended
where ended.session_id = s.id;
create index check_sessions_status on check_sessions (account_id, kind, status, id desc);
