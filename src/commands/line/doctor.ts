import type { CommandSpec } from './spec.ts';

export const doctorLine = {
  name: 'doctor',
  arguments: '',
  complete: null,
  summary: 'checks this machine: shows what works, what does not, and how to fix it',
  description: [
    'Checks the connection to the service (if SERVICE_URL is set), clock, DNS, IPv4 and IPv6, ICMP, TLS, gRPC, packet captures, browsers, runtimes, disk and memory.',
    'Each problem is printed with its remedy.',
  ],
  options: { json: { type: 'boolean', default: false, help: 'prints the findings as one line of JSON' } },
  variables: ['locationKey', 'connection', 'agent', 'runs', 'common'],
  examples: [
    { command: 'location-agent doctor', does: 'checks this machine, without a service' },
    {
      command: 'API_KEY_FILE=location-key SERVICE_URL=https://monitoring.example location-agent doctor',
      does: 'also checks the connection, the key and the clock',
    },
  ],
  exitCodes: { 0: 'no problem was found', 1: 'a problem was found', 2: null, 64: null, 78: null },
} as const satisfies CommandSpec;
