import { scriptTypes } from '../../protocol/check-types.ts';
import type { CommandSpec } from './spec.ts';

export const runLine = {
  name: 'run',
  arguments: 'FILE|DIR',
  complete: 'file',
  summary: 'runs a check once on this machine: a file, a script, or a Playwright project',
  description: [
    "Runs one check with the agent's own code and without a service, and prints a report.",
    'FILE is a check in YAML or JSON: as apply reads it, or the body that creates one in the API, plus checkType. If it has several resources, its only check runs, or the one that --name chooses. FILE may also be a script (.ts or .js), which is a BROWSER check unless --type is given. DIR is a Playwright project.',
    'Options apply to all kinds unless their text names one.',
  ],
  options: {
    json: { type: 'boolean', default: false, help: 'prints the result as one line of JSON' },
    output: { type: 'string', value: 'DIR', help: 'folder for artifacts (artifacts)', complete: 'folder' },
    name: { type: 'string', value: 'TEXT', help: 'file: the logicalId or name of one of its checks' },
    type: {
      type: 'string',
      value: 'TYPE',
      help: 'script: BROWSER or MULTI_STEP',
      complete: scriptTypes,
    },
    runtime: { type: 'string', value: 'NAME', help: 'script: the runtime that it uses' },
    env: { type: 'string', multiple: true, value: 'NAME=VALUE', help: 'script, folder: a variable' },
    project: { type: 'string', multiple: true, value: 'NAME', help: 'folder: runs only these projects' },
    tag: { type: 'string', multiple: true, value: 'TAG', help: 'folder: runs only tests with these tags' },
    config: {
      type: 'string',
      value: 'FILE',
      help: "folder: Playwright's configuration file",
      complete: 'file',
    },
    engine: { type: 'string', value: 'ENGINE', help: 'folder: node@VERSION or bun@VERSION' },
    include: { type: 'string', multiple: true, value: 'GLOB', help: 'folder: more files for the bundle' },
    'install-command': { type: 'string', value: 'TEXT', help: 'folder: replaces the install command' },
    'test-command': { type: 'string', value: 'TEXT', help: 'folder: replaces the test command' },
    'refresh-cache': { type: 'boolean', help: 'folder: installs the dependencies again' },
  },
  variables: ['connection', 'runs', 'common'],
  examples: [
    { command: 'location-agent run check.json', does: 'runs one check and prints its report' },
    {
      command: 'location-agent run monitoring/home.yaml --name home',
      does: 'runs one check of a file with several',
    },
    {
      command: 'location-agent run login.ts --env USER=ada --json',
      does: 'runs a browser script, prints JSON',
    },
    { command: 'location-agent run e2e --project chromium', does: 'runs one project of a Playwright suite' },
  ],
  exitCodes: { 0: 'the check passed or is degraded', 1: 'the check failed', 2: null, 64: null, 78: null },
} as const satisfies CommandSpec;
