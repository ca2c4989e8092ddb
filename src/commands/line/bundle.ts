import type { CommandSpec } from './spec.ts';

export const bundleLine = {
  name: 'bundle',
  arguments: 'DIR',
  complete: 'folder',
  summary: 'packs a Playwright project and uploads it to the service; prints {"key","digest"}',
  description: [
    'Packs the Playwright project in DIR and uploads it to the service at SERVICE_URL with the API key of the account.',
    'Prints one line of JSON with the key and digest of the bundle. Warnings go to standard error.',
  ],
  options: {
    include: { type: 'string', multiple: true, value: 'GLOB', help: 'more files for the bundle' },
    'api-key-file': {
      type: 'string',
      value: 'FILE',
      help: 'file with the API key, instead of SERVICE_API_KEY',
      complete: 'file',
    },
    json: { type: 'boolean', default: false, help: 'adds facts about the archive to the line of JSON' },
  },
  variables: ['accountKey', 'connection', 'common'],
  examples: [
    {
      command: 'SERVICE_URL=https://monitoring.example location-agent bundle e2e --api-key-file account-key',
      does: 'uploads the project in e2e',
    },
  ],
  exitCodes: { 0: null, 2: null, 64: null, 77: null, 78: null },
} as const satisfies CommandSpec;
