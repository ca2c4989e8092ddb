/**
 * The alert rules: what is wrong, how long it must have been so, and what whoever is woken up should do. Metrics and labels are those
 * of the catalogues; a test reads every expression.
 */

const agent = (text) => `{{ $labels.instance }}: ${text}`;
const location = (text) => `{{ $labels.private_location_slug_name }}: ${text}`;

export const agentAlerts = [
  {
    name: 'LocationAgentDown',
    // Whatever has told of an agent within a day is one, however its job is called.
    expr: 'up == 0 and on (job, instance) max_over_time(location_agent_info[1d])',
    for: '5m',
    severity: 'warning',
    summary: agent('the agent cannot be scraped'),
    description:
      'Its metrics have been out of reach for 5 minutes. The other agents of its location do its work.',
    runbook: [
      'The process has ended, hangs, or its port (`AGENT_HEALTH_PORT`) cannot be reached from Prometheus.',
      'Look at the exit code: 77 is a refused key, 78 a configuration (the log says which variable), 137 a kill, most often for memory ([sizing](operations.md#sizing)).',
      'Results that were not sent wait in `AGENT_DATA_DIR/outbox` and go out when an agent starts with that folder.',
    ],
  },
  {
    name: 'LocationAgentDisconnected',
    expr: 'location_agent_connected == 0',
    for: '5m',
    severity: 'warning',
    summary: agent('the service has not accepted the agent'),
    description: 'The agent runs, but has had no answer to its hello for 5 minutes.',
    runbook: [
      'Run `location-agent doctor` with the environment of the agent: it says whether the service is reached, through which proxy and with which authorities.',
      'Nothing is lost meanwhile: results wait in the outbox.',
    ],
  },
  {
    name: 'LocationAgentNotPolling',
    expr: 'location_agent_poll_age_seconds > 120',
    for: '2m',
    severity: 'critical',
    summary: agent('lane {{ $labels.lane }} gets no jobs'),
    description:
      'There are free slots, but the service has not answered a question for jobs for {{ $value | humanizeDuration }}.',
    runbook: [
      'Is a guard raised that stops the agent from taking jobs (`disk`, `memory`, `outbox`)? `GET /health` says so, with the reason: mend that first.',
      'Do claims fail (`location_agent_claims_failed_total`)? Then the service is away or refuses them: the log has the reason, `location-agent doctor` the rest.',
      'If neither, the loop is stuck: liveness fails, and a restart is right.',
    ],
  },
  {
    name: 'LocationAgentOutboxGrowing',
    expr: 'delta(location_agent_outbox_bytes{place="disk"}[15m]) > 0 and on (job, instance) location_agent_outbox_age_seconds > 120',
    for: '10m',
    severity: 'warning',
    summary: agent('results come faster than they go out'),
    description: 'The outbox grows, and its oldest result is more than two minutes old.',
    runbook: [
      'The service is away, slow, or refuses results: look at `location_agent_result_upload_seconds` and the log.',
      'On disk 512 MB have room (some 250,000 plain results). Beyond that the oldest are dropped.',
    ],
  },
  {
    name: 'LocationAgentOutboxOld',
    expr: 'location_agent_outbox_age_seconds > 600',
    for: '5m',
    severity: 'critical',
    summary: agent('results are {{ $value | humanizeDuration }} late'),
    description:
      'Results have waited for the service for more than ten minutes: alerts on checks of this location are late.',
    runbook: [
      'The same as [LocationAgentOutboxGrowing](#locationagentoutboxgrowing). What waits is on disk and survives a restart.',
      'Do not remove `AGENT_DATA_DIR`: the results are in it.',
    ],
  },
  {
    name: 'LocationAgentOutboxNearlyFull',
    expr: 'location_agent_outbox_bytes / location_agent_outbox_limit_bytes > 0.8',
    for: '1m',
    severity: 'critical',
    summary: agent('the outbox ({{ $labels.place }}) is {{ $value | humanizePercentage }} full'),
    description: 'When it is full the oldest results are dropped; before that the agent takes no more jobs.',
    runbook: [
      'Bring the service back. `place="memory"` means that the disk refuses results: see [LocationAgentGuardStopsWork](#locationagentguardstopswork).',
    ],
  },
  {
    name: 'LocationAgentResultsLost',
    expr: 'increase(location_agent_results_dropped_total[15m]) > 0',
    for: '0m',
    severity: 'critical',
    summary: agent('results were lost'),
    description:
      'The outbox was full and has dropped results within the last 15 minutes: those runs are missing from the service.',
    runbook: [
      'How many is in the log (`results dropped`) and in the counter. They cannot be had back; the checks will run again.',
      'Find out why the outbox filled: [LocationAgentOutboxGrowing](#locationagentoutboxgrowing).',
    ],
  },
  {
    name: 'LocationAgentResultsRefused',
    expr: 'increase(location_agent_results_rejected_total[15m]) + increase(location_agent_results_quarantined_total[15m]) > 0',
    for: '0m',
    severity: 'warning',
    summary: agent('the service refused results'),
    description: 'Results were rejected, or set aside because the service cannot read them.',
    runbook: [
      'The log names job and reason. A proxy that changes or limits bodies is the usual culprit; so is a service much older than the agent ([upgrade](upgrade.md)).',
      'What was set aside stands below `AGENT_DATA_DIR/outbox`, in files named `quarantine.ndjson`.',
    ],
  },
  {
    name: 'LocationAgentArtifactsLost',
    expr: 'increase(location_agent_artifacts_lost_total[1h]) > 0',
    for: '0m',
    severity: 'warning',
    summary: agent('files of runs were lost'),
    description:
      'Traces, videos or reports of the last hour will not reach the service. Results are not concerned.',
    runbook: [
      'The log says why for each: no room on disk, more than 2 GiB waiting, or a day without the service.',
    ],
  },
  {
    name: 'LocationAgentLeasesLost',
    expr: 'increase(location_agent_leases_lost_total[15m]) > 3',
    for: '0m',
    severity: 'warning',
    summary: agent('runs are taken away from the agent'),
    description: 'The service gave runs of this agent to another one: its renewals came later than 30 s.',
    runbook: [
      'The agent was stopped or starved for half a minute (processor limits, a suspended machine), or the way to the service is broken: compare `location_agent_renewals_failed_total` and `location_agent_event_loop_delay_seconds`.',
      'A few after an outage of the service are normal.',
    ],
  },
  {
    name: 'LocationAgentSlotsSaturated',
    expr: 'avg_over_time(location_agent_slots_busy[15m]) / location_agent_slots > 0.9',
    for: '5m',
    severity: 'warning',
    summary: agent('lane {{ $labels.lane }} is {{ $value | humanizePercentage }} busy'),
    description: 'Nearly all slots of the lane have been busy for a quarter of an hour: runs begin to wait.',
    runbook: [
      'Add an agent to the location: it takes its share at once.',
      'Or raise `UPTIME_CONCURRENCY`, `JOB_CONCURRENCY` or `SUITE_CONCURRENCY`, if the machine has room ([sizing](operations.md#sizing)).',
    ],
  },
  {
    name: 'LocationAgentRunsLate',
    expr: 'histogram_quantile(0.95, sum by (le, job, instance, lane) (rate(location_agent_start_delay_seconds_bucket[15m]))) > 30',
    for: '10m',
    severity: 'warning',
    summary: agent(
      'one run in twenty of lane {{ $labels.lane }} starts {{ $value | humanizeDuration }} late',
    ),
    description: 'Runs start more than 30 s after they were due.',
    runbook: [
      '`location_agent_slot_wait_seconds` high: this agent has too few slots ([LocationAgentSlotsSaturated](#locationagentslotssaturated)).',
      '`location_agent_claim_delay_seconds` high: the location has too few agents, or the service hands runs out late.',
    ],
  },
  {
    name: 'LocationAgentGuardStopsWork',
    expr: 'location_agent_guard{guard=~"disk|memory|outbox"} == 1',
    for: '2m',
    severity: 'critical',
    summary: agent('guard {{ $labels.guard }} keeps the agent from taking jobs'),
    description: 'The agent protects its results: it takes no jobs until there is room again.',
    runbook: [
      '`GET /health` of the agent has the guard with its reason.',
      '`disk`: less than 64 MB are free in `AGENT_DATA_DIR`, or writing fails. `memory`: more than 92 % of the limit is used: fewer slots, or more memory. `outbox`: results wait for a service that is away.',
    ],
  },
  {
    name: 'LocationAgentGuardRaised',
    expr: 'location_agent_guard{guard=~"event-loop|service|clock"} == 1',
    for: '10m',
    severity: 'warning',
    summary: agent('guard {{ $labels.guard }} is raised'),
    description: "Something of the agent's own stands in the way of good work; it goes on.",
    runbook: [
      "`event-loop`: [LocationAgentEventLoopLate](#locationagenteventlooplate). `service`: the service has not been reached for more than 30 s. `clock`: it differs from the service's by more than 5 s: run NTP.",
    ],
  },
  {
    name: 'LocationAgentEventLoopLate',
    expr: 'location_agent_event_loop_delay_seconds{stat="p99"} > 0.1',
    for: '5m',
    severity: 'warning',
    summary: agent('the event loop is {{ $value | humanizeDuration }} late'),
    description: 'Measured times of checks are too long by as much.',
    runbook: [
      'The agent gets too little processor time: raise its limit (or drop it), lower `UPTIME_CONCURRENCY`, or move browser checks and suites to agents of their own.',
    ],
  },
  {
    name: 'LocationAgentFaults',
    expr: 'increase(location_agent_faults_total[15m]) > 5',
    for: '0m',
    severity: 'warning',
    summary: agent('the agent has faults of its own'),
    description: 'More than five within 15 minutes; runs that they hit end as errored, never as failed.',
    runbook: [
      'The log has each with its cause, at level ERROR. Please report what the agent is to blame for.',
    ],
  },
  {
    name: 'LocationAgentVersionSkew',
    expr: 'count by (location) (count by (location, version) (location_agent_info{location!=""})) > 1',
    for: '1h',
    severity: 'info',
    summary: '{{ $labels.location }}: agents of {{ $value }} versions',
    description:
      'Agents of one location have had different versions for an hour: a roll has stopped halfway.',
    runbook: [
      'They work together, but checks may behave differently from run to run. Finish the roll ([upgrade](upgrade.md)).',
    ],
  },
];

export const serviceAlerts = [
  {
    name: 'MonitoringServiceDown',
    expr: 'up == 0 and on (job, instance) max_over_time(private_location_queue_size[1d])',
    for: '2m',
    severity: 'critical',
    summary: agent('the service cannot be scraped'),
    description: 'Nothing is scheduled while no replica of the service runs; agents keep their results.',
    runbook: [
      '`GET /health` of the service says whether its database is the reason. Runs that are due meanwhile are recorded as missed.',
    ],
  },
  {
    name: 'PrivateLocationWithoutAgents',
    expr: 'private_location_agent_count == 0',
    for: '5m',
    severity: 'critical',
    summary: location('no agent is connected'),
    description: 'No check of the location runs: runs that are due are recorded as missed.',
    runbook: [
      'Start an agent with a key of the location; [LocationAgentDown](#locationagentdown) and [LocationAgentDisconnected](#locationagentdisconnected) say why the old ones are gone.',
    ],
  },
  {
    name: 'PrivateLocationQueueOld',
    expr: 'private_location_oldest_scheduled_check_run > 120',
    for: '2m',
    severity: 'warning',
    summary: location('a run has waited for {{ $value | humanizeDuration }}'),
    description:
      'Runs that no agent takes within their interval, or within six minutes, are recorded as missed.',
    runbook: [
      'All slots are busy: add agents, or let them be added ([kubernetes](kubernetes.md): autoscaling by `private_location_lane_check_runs`).',
      'Or no agent has what the runs need: the status of a check names a type or runtime that is missing.',
    ],
  },
];

/** The rules as Prometheus reads them; `docs` is put before the page that has the runbooks. */
export function ruleGroups({ docs }) {
  const group = (name, alerts) => ({
    name,
    rules: alerts.map((alert) => ({
      alert: alert.name,
      expr: alert.expr,
      for: alert.for,
      labels: { severity: alert.severity },
      annotations: {
        summary: alert.summary,
        description: alert.description,
        runbook_url: `${docs}metrics.md#${alert.name.toLowerCase()}`,
      },
    })),
  });
  return { groups: [group('location-agent', agentAlerts), group('monitoring-service', serviceAlerts)] };
}

/** The same for the Prometheus operator. */
export function prometheusRule(options) {
  return {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'PrometheusRule',
    metadata: { name: 'location-agent', labels: { 'app.kubernetes.io/name': 'location-agent' } },
    spec: ruleGroups(options),
  };
}
