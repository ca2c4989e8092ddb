/** Alerts on agents. Their metrics and labels come from the catalogue of agents. */
const agent = (text) => `{{ $labels.instance }}: ${text}`;

export const agentAlerts = [
  {
    name: 'LocationAgentDown',
    // Any target that exposed agent metrics within a day is an agent, whatever the name of its scrape job.
    expr: 'up == 0 and on (job, instance) max_over_time(location_agent_info[1d])',
    for: '5m',
    severity: 'warning',
    summary: agent('the agent cannot be scraped'),
    description:
      'Prometheus has not reached its metrics for 5 minutes. The other agents of its location do its work.',
    runbook: [
      'The process has exited or hangs, or Prometheus cannot reach its port (`AGENT_HEALTH_PORT`).',
      'Check the exit code: 77 is a refused key, 78 a configuration error (the log names the variable), 137 a kill, usually because of memory ([sizing](operations.md#sizing)).',
      'Unsent results are kept in `AGENT_DATA_DIR/outbox` and are sent when an agent starts with that folder.',
    ],
  },
  {
    name: 'LocationAgentDisconnected',
    expr: 'location_agent_connected == 0',
    for: '5m',
    severity: 'warning',
    summary: agent('the service has not accepted the agent'),
    description: 'The agent runs, but the service has not answered its hello for 5 minutes.',
    runbook: [
      "Run `location-agent doctor` with the agent's environment. It reports whether it reaches the service, through which proxy and with which certificate authorities.",
      'Nothing is lost: results are kept in the outbox.',
    ],
  },
  {
    name: 'LocationAgentNotPolling',
    expr: 'location_agent_poll_age_seconds > 120',
    for: '2m',
    severity: 'critical',
    summary: agent('lane {{ $labels.lane }} gets no jobs'),
    description:
      'The lane has free slots, but the service has not answered a poll for {{ $value | humanizeDuration }}.',
    runbook: [
      'Is a guard active that stops the agent from taking jobs (`memory`, `outbox`)? `GET /health` shows it with the reason. Fix that first.',
      'Do claims fail (`location_agent_claims_failed_total`)? Then the service is down or refuses them. Read the reason in the log and run `location-agent doctor`.',
      'If neither applies, the polling loop is stuck and the liveness probe fails. Restart the agent.',
    ],
  },
  {
    name: 'LocationAgentOutboxGrowing',
    expr: 'delta(location_agent_outbox_bytes{place="disk"}[15m]) > 0 and on (job, instance) location_agent_outbox_age_seconds > 120',
    for: '10m',
    severity: 'warning',
    summary: agent('the outbox grows faster than the agent can send'),
    description: 'The outbox is growing, and its oldest result is more than two minutes old.',
    runbook: [
      'The service is down, slow, or refuses results. Check `location_agent_result_upload_seconds` and the log.',
      'The outbox holds 1 GiB on disk (about 500,000 plain results). When it is full, the oldest results are dropped.',
    ],
  },
  {
    name: 'LocationAgentOutboxOld',
    expr: 'location_agent_outbox_age_seconds > 600',
    for: '5m',
    severity: 'critical',
    summary: agent('results are {{ $value | humanizeDuration }} late'),
    description:
      'Results have not reached the service for more than ten minutes, so alerts of checks at this location are late.',
    runbook: [
      'Follow the steps of [LocationAgentOutboxGrowing](#locationagentoutboxgrowing). Waiting results are on disk and survive a restart.',
      'Do not delete `AGENT_DATA_DIR`, because it contains the results.',
    ],
  },
  {
    name: 'LocationAgentOutboxNearlyFull',
    expr: 'location_agent_outbox_bytes / location_agent_outbox_limit_bytes > 0.8',
    for: '1m',
    severity: 'critical',
    summary: agent('the outbox ({{ $labels.place }}) is {{ $value | humanizePercentage }} full'),
    description:
      'Before the outbox is full, the agent stops taking jobs. When it is full, the oldest results are dropped.',
    runbook: [
      'Restore the service. With `place="memory"`, the disk refuses results: see [LocationAgentGuardRaised](#locationagentguardraised).',
    ],
  },
  {
    name: 'LocationAgentResultsLost',
    expr: 'increase(location_agent_results_dropped_total[15m]) > 0 or increase(location_agent_results_damaged_total[15m]) > 0',
    for: '0m',
    severity: 'critical',
    summary: agent('results were lost'),
    description:
      'The outbox was full and dropped results, or its files were damaged, within the last 15 minutes. Those runs are missing from the service.',
    runbook: [
      'The log (`results dropped`) and the counter show how many. The results cannot be recovered; the checks will run again.',
      'Find out why the outbox was full: [LocationAgentOutboxGrowing](#locationagentoutboxgrowing).',
      '`location_agent_results_damaged_total`: the disk returned other bytes than were written. The log names the file; the damaged parts are in `AGENT_DATA_DIR/outbox/damaged`. Check the disk.',
    ],
  },
  {
    name: 'LocationAgentResultsRefused',
    expr: 'increase(location_agent_results_rejected_total[15m]) > 0 or increase(location_agent_results_quarantined_total[15m]) > 0',
    for: '0m',
    severity: 'warning',
    summary: agent('the service refused results'),
    description:
      'The service rejected results, or the agent quarantined them because the service cannot read them.',
    runbook: [
      'The log names the job and the reason. Usual causes are a proxy that changes or limits bodies, and a service much older than the agent ([upgrade](upgrade.md)).',
      'Quarantined results are below `AGENT_DATA_DIR/outbox`, in files named `quarantine.ndjson`.',
    ],
  },
  {
    name: 'LocationAgentArtifactsLost',
    expr: 'increase(location_agent_artifacts_lost_total[1h]) > 0',
    for: '0m',
    severity: 'warning',
    summary: agent('artifacts were lost'),
    description:
      'Traces, videos or reports of the last hour will not reach the service. Results are not affected.',
    runbook: [
      'The log has the reason for each file: a full disk, more than 2 GiB of waiting files, or a day without the service.',
    ],
  },
  {
    name: 'LocationAgentLeasesLost',
    expr: 'increase(location_agent_leases_lost_total[15m]) > 3',
    for: '0m',
    severity: 'warning',
    summary: agent('the agent lost the leases of its runs'),
    description:
      'The service gave runs of this agent to another agent, because it did not renew their leases within 30 s.',
    runbook: [
      'The agent was stopped or starved for half a minute (processor limits, a suspended machine), or its connection to the service is broken. Compare `location_agent_renewals_failed_total` and `location_agent_event_loop_delay_seconds`.',
      'A few lost leases after a service outage are normal.',
    ],
  },
  {
    name: 'LocationAgentSlotsSaturated',
    expr: 'avg_over_time(location_agent_slots_busy[15m]) / location_agent_slots > 0.9',
    for: '5m',
    severity: 'warning',
    summary: agent('lane {{ $labels.lane }} is {{ $value | humanizePercentage }} busy'),
    description:
      'More than 90 % of the slots have been busy for a quarter of an hour, so runs start to wait.',
    runbook: [
      'Add an agent to the location; it takes its share of the runs immediately.',
      'Or raise `UPTIME_CONCURRENCY`, `JOB_CONCURRENCY` or `SUITE_CONCURRENCY`, if the machine has spare capacity ([sizing](operations.md#sizing)).',
    ],
  },
  {
    name: 'LocationAgentRunsLate',
    expr: 'histogram_quantile(0.95, sum by (le, job, instance, lane) (rate(location_agent_start_delay_seconds_bucket[15m]))) > 30',
    for: '10m',
    severity: 'warning',
    summary: agent('lane {{ $labels.lane }} starts runs {{ $value | humanizeDuration }} late (p95)'),
    description: 'At least one run in twenty starts more than 30 s after its due time.',
    runbook: [
      'If `location_agent_slot_wait_seconds` is high, this agent has too few slots ([LocationAgentSlotsSaturated](#locationagentslotssaturated)).',
      'If `location_agent_claim_delay_seconds` is high, the location has too few agents, or the service assigns runs late.',
    ],
  },
  {
    name: 'LocationAgentGuardStopsWork',
    expr: 'location_agent_guard{guard=~"memory|outbox|descriptors|processes"} == 1',
    for: '2m',
    severity: 'critical',
    summary: agent('guard {{ $labels.guard }} stops the agent from taking jobs'),
    description: 'The agent takes no jobs until there is room again, to protect its results.',
    runbook: [
      '`GET /health` of the agent shows the guard and its reason.',
      '`memory`: more than 92 % of the limit is used. Configure fewer slots or more memory.',
      '`descriptors`, `processes`: more than 92 % of the limit is used. Configure fewer slots or raise the limit.',
      '`outbox`: results wait because the service is down. If the disk refuses them too, 32 MB or 25,000 results in memory are the limit.',
    ],
  },
  {
    name: 'LocationAgentGuardRaised',
    expr: 'location_agent_guard{guard=~"disk|event-loop|service|clock|network|pressure|inodes"} == 1',
    for: '10m',
    severity: 'warning',
    summary: agent('guard {{ $labels.guard }} is active'),
    description: 'The agent has a problem that can affect its results. It continues to take jobs.',
    runbook: [
      '`disk`: less than 64 MB are free in `AGENT_DATA_DIR`, or it cannot be written. Results wait in memory and are sent from there; a restart loses those that the service does not have yet. Runs that need a folder (browser checks, suites, API scripts) get the status `errored`.',
      '`event-loop`: see [LocationAgentEventLoopLate](#locationagenteventlooplate).',
      '`service`: the agent has not reached the service for more than 30 s.',
      '`pressure`, `inodes`: see [guards.md](guards.md).',
      "`clock`: the agent's clock differs from the service's by more than 5 s. Run NTP.",
      "`network`: the network of the agent's own host is at fault; `GET /health` names the cause. See docs/own-network.md.",
    ],
  },
  {
    name: 'LocationAgentEventLoopLate',
    expr: 'location_agent_event_loop_delay_seconds{stat="p99"} > 0.1',
    for: '5m',
    severity: 'warning',
    summary: agent('the event loop delay is {{ $value | humanizeDuration }} (p99)'),
    description: 'Measured response times of checks are too long by this delay.',
    runbook: [
      'The agent gets too little processor time. Raise or remove its limit, lower `UPTIME_CONCURRENCY`, or move browser checks and suites to separate agents.',
    ],
  },
  {
    name: 'LocationAgentFaults',
    expr: 'increase(location_agent_faults_total[15m]) > 5',
    for: '0m',
    severity: 'warning',
    summary: agent('the agent has internal errors'),
    description:
      'More than five internal errors occurred within 15 minutes. Affected runs get the status errored, never failed.',
    runbook: [
      'The log has each error with its cause, at level ERROR. Please report those that are bugs of the agent.',
    ],
  },
  {
    name: 'LocationAgentVersionSkew',
    expr: 'count by (location) (count by (location, version) (location_agent_info{location!=""})) > 1',
    for: '1h',
    severity: 'info',
    summary: '{{ $labels.location }}: agents have {{ $value }} different versions',
    description:
      'Agents of one location have had different versions for an hour, so an upgrade has probably stopped halfway.',
    runbook: [
      'The agents work together, but checks may behave differently from run to run. Finish the upgrade ([upgrade](upgrade.md)).',
    ],
  },
];
