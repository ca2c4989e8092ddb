import type { CommandSpec } from './spec.ts';

export const serviceLine = {
  name: 'service',
  arguments: '',
  complete: null,
  summary: 'the monitoring service: public API, scheduler, job queue, results',
  description: [
    'Runs the monitoring service until SIGTERM or Ctrl-C, with an embedded database or, if DATABASE_URL is set, with PostgreSQL for many replicas.',
    'Prints one line of JSON on standard output when it is ready. The keys of the first start are in SERVICE_DATA_DIR/keys.json.',
  ],
  options: {},
  variables: ['accountKey', 'service', 'common'],
  examples: [
    { command: 'location-agent service', does: 'runs a service for this machine on port 4400' },
    {
      command:
        'DATABASE_URL=postgres://monitoring@db.example/monitoring SERVICE_ENCRYPTION_KEY_FILE=key location-agent service',
      does: 'runs one replica on a PostgreSQL server',
    },
  ],
  exitCodes: { 0: 'stopped by a signal', 2: null, 64: null, 78: null },
} as const satisfies CommandSpec;
