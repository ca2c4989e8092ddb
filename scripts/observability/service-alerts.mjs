/** Alerts on the service and its locations. Their metrics and labels come from the catalogue of the exporter. */
const agent = (text) => `{{ $labels.instance }}: ${text}`;
const location = (text) => `{{ $labels.private_location_slug_name }}: ${text}`;

export const serviceAlerts = [
  {
    name: 'MonitoringServiceDown',
    expr: 'up == 0 and on (job, instance) max_over_time(private_location_queue_size[1d])',
    for: '2m',
    severity: 'critical',
    summary: agent('the service cannot be scraped'),
    description: 'No run is scheduled while no replica of the service is running. Agents keep their results.',
    runbook: [
      '`GET /health` of the service shows whether its database is the cause. Runs that become due during the outage are recorded as missed.',
    ],
  },
  {
    name: 'PrivateLocationWithoutAgents',
    expr: 'private_location_agent_count == 0',
    for: '5m',
    severity: 'critical',
    summary: location('no agent is connected'),
    description: 'No check of the location runs. Due runs are recorded as missed.',
    runbook: [
      'Start an agent with a location key. [LocationAgentDown](#locationagentdown) and [LocationAgentDisconnected](#locationagentdisconnected) explain how to find out why the previous agents are gone.',
    ],
  },
  {
    name: 'PrivateLocationQueueOld',
    expr: 'private_location_oldest_scheduled_check_run > 120',
    for: '2m',
    severity: 'warning',
    summary: location('a run has been waiting for {{ $value | humanizeDuration }}'),
    description:
      'Runs that no agent takes within their interval, or within six minutes, are recorded as missed.',
    runbook: [
      'If all slots are busy, add agents or configure autoscaling by `private_location_lane_check_runs` ([kubernetes](kubernetes/scaling.md)).',
      'Otherwise no agent may support the runs. The status of a check names the missing type or runtime.',
    ],
  },
  {
    name: 'MonitoringResultFilesUnreadable',
    expr: 'result_files{state="unreadable"} > 0',
    for: '5m',
    severity: 'critical',
    summary: agent('{{ $value }} files with results are damaged or missing'),
    description:
      'Lists and reports that need one of these files are answered with 503. New results are not affected.',
    runbook: [
      "The service's log names the files: `a file with results cannot be read`, with the reason.",
      'Restore them from a backup of the artifact store to the same paths ([results in files](results-store.md)). The service reads them again within ten minutes.',
    ],
  },
];
