import type { CommandSpec } from './spec.ts';

export const devLine = {
  name: 'dev',
  arguments: '',
  complete: null,
  summary: 'starts the service, one agent, sample targets and sample checks on your computer',
  description: [
    'Starts everything on one machine, to try the product. Prints one line of JSON on standard output when it is ready, with the URL of the pages and both keys.',
    'Ctrl-C stops all parts in order.',
  ],
  options: {},
  variables: ['accountKey', 'service', 'agent', 'runs', 'common'],
  examples: [
    { command: 'location-agent dev', does: 'starts everything; open signInUrl in a browser' },
    {
      command: 'SERVICE_PORT=0 SERVICE_DATA_DIR=/tmp/try AGENT_HEALTH_PORT=0 location-agent dev',
      does: 'uses free ports and a folder of its own',
    },
  ],
  exitCodes: { 0: 'stopped by a signal', 2: null, 64: null, 75: null, 78: null },
} as const satisfies CommandSpec;
