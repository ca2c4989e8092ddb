import type { CommandSpec } from './spec.ts';

export const startLine = {
  name: 'start',
  arguments: '',
  complete: null,
  summary: 'the agent: claims jobs of its private location and runs them',
  description: [
    'Runs the agent of a private location until SIGTERM or Ctrl-C. The agent needs a location key in API_KEY or API_KEY_FILE, and the URL of the service in SERVICE_URL. It opens no port except AGENT_HEALTH_PORT.',
    'The first SIGTERM drains: the agent takes no new jobs and finishes the running ones. A second SIGTERM interrupts them.',
  ],
  options: {},
  variables: ['locationKey', 'connection', 'agent', 'runs', 'common'],
  examples: [
    {
      command: 'API_KEY_FILE=location-key SERVICE_URL=https://monitoring.example location-agent start',
      does: 'runs an agent with a key from a file',
    },
  ],
  exitCodes: { 0: 'stopped after a drain', 2: null, 64: null, 75: null, 77: null, 78: null },
} as const satisfies CommandSpec;
