import type { CommandSpec } from './spec.ts';

const json = { type: 'boolean', default: false, help: 'prints one line of JSON' } as const;
const keep = {
  type: 'boolean',
  default: false,
  help: 'keeps resources that left the files, and detaches them from the project',
} as const;

/** What `plan` and `apply` have in common. */
const withService = {
  arguments: '[DIR]',
  complete: 'folder',
  variables: ['accountKey', 'connection', 'common'],
} as const;

export const planLine = {
  ...withService,
  name: 'plan',
  summary: 'shows what apply would change in the account',
  description: [
    'Reads the YAML, JSON and *.check.ts files of DIR (the current folder if absent) and compares them with the account.',
    'Nothing is changed. Secret values are named and never shown.',
  ],
  options: { keep, json },
  examples: [{ command: 'location-agent plan monitoring', does: 'shows what would change' }],
  exitCodes: {
    0: 'no changes',
    1: 'the files are not valid, or there is no plan for another reason',
    2: 'there are changes',
    64: null,
    77: null,
    78: null,
  },
  couldNotRun: 1,
} as const satisfies CommandSpec;

export const applyLine = {
  ...withService,
  name: 'apply',
  summary: 'makes the account what the files of a folder describe',
  description: [
    'Applies the files in one transaction and shows what changed. Ctrl-C cancels, and nothing is then changed.',
    'If another deployment of the project is going on, apply waits for it.',
    'Deletions are confirmed at the terminal. Without a terminal they need --yes.',
  ],
  options: {
    yes: { type: 'boolean', default: false, help: 'deletes without asking' },
    keep,
    schedule: { type: 'boolean', default: false, help: 'runs new and changed checks at once' },
    json,
  },
  examples: [{ command: 'location-agent apply monitoring --yes', does: 'applies the files without asking' }],
  exitCodes: {
    0: null,
    1: 'the files are not valid, or the deployment failed',
    2: 'deletions were not confirmed, or the service could not be used',
    64: null,
    77: null,
    78: null,
  },
} as const satisfies CommandSpec;

export const validateLine = {
  name: 'validate',
  arguments: '[DIR]',
  complete: 'folder',
  summary: 'checks the files of a project without a service',
  description: [
    'Prints the file, line, field and remedy of each problem. Files with code (*.check.ts) are run.',
  ],
  options: {},
  variables: [],
  examples: [{ command: 'location-agent validate monitoring', does: 'checks the files in monitoring' }],
  exitCodes: { 0: null, 1: 'the files are not valid', 2: null, 64: null, 78: null },
} as const satisfies CommandSpec;

export const testLine = {
  ...withService,
  name: 'test',
  summary: 'runs changed checks once, before apply changes them',
  description: [
    'Runs the checks that apply would create or change, once and as the files describe them. Nothing in the account is changed, and the results do not count for the status of a check.',
    'Suites can be cancelled with Ctrl-C; other runs end by themselves.',
  ],
  options: {
    all: { type: 'boolean', default: false, help: 'also runs checks that did not change' },
    name: { type: 'string', value: 'TEXT', help: 'only checks whose name contains TEXT' },
    tag: {
      type: 'string',
      multiple: true,
      value: 'TAG',
      help: 'only checks with this tag; with commas, all of them; !TAG = not with it',
    },
    location: { type: 'string', value: 'CODE', help: 'runs all of them at this location' },
    env: { type: 'string', multiple: true, value: 'NAME=VALUE', help: 'a variable for all runs' },
    reporter: {
      type: 'string',
      value: 'NAME',
      help: 'text, json, junit or markdown (text)',
      complete: ['text', 'json', 'junit', 'markdown'],
    },
    out: { type: 'string', value: 'FILE', help: 'writes the report to FILE', complete: 'file' },
  },
  examples: [
    { command: 'location-agent test monitoring', does: 'runs the checks that changed' },
    {
      command: 'location-agent test monitoring --all --tag smoke --reporter junit --out report.xml',
      does: 'runs all checks with the tag smoke, for a CI server',
    },
  ],
  exitCodes: {
    0: 'all checks passed, or there was nothing to run',
    1: 'a check failed',
    2: 'the files are not valid, or a check could not run',
    64: null,
    77: null,
    78: null,
  },
} as const satisfies CommandSpec;

export const exportLine = {
  name: 'export',
  arguments: '[DIR]',
  complete: 'folder',
  summary: 'writes the resources of the account as files',
  description: [
    'Writes YAML files that plan and apply read into DIR (the current folder if absent). Fields with default values are left out, and the same account always gives the same files.',
    'Secret values are not exported: the files name environment variables in their place.',
  ],
  options: {
    project: { type: 'string', value: 'ID', help: 'only resources of this project' },
    unowned: { type: 'boolean', default: false, help: 'only resources that no project owns' },
    overwrite: { type: 'boolean', default: false, help: 'writes over files that differ' },
  },
  variables: ['accountKey', 'connection', 'common'],
  examples: [{ command: 'location-agent export account', does: 'writes all resources as files in account' }],
  exitCodes: {
    0: null,
    2: 'files would be overwritten, or the service could not be used',
    64: null,
    77: null,
    78: null,
  },
} as const satisfies CommandSpec;
