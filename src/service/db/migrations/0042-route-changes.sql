-- Traces whose route differs from the one before them, for the marks of a timeline.
create index check_results_route_changes on check_results (check_id, started_at)
  where check_type in ('TRACEROUTE') and body->'details' ? 'routeChange';
