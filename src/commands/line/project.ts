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
    'Reads the YAML and JSON files of DIR (the current folder if absent) and compares them with the account.',
    'Nothing is changed. Secret values are named and never shown.',
  ],
  options: { keep, json },
  examples: [{ command: 'location-agent plan monitoring', does: 'shows what would change' }],
  exitCodes: {
    0: 'no changes',
    1: 'the files are not valid',
    2: 'there are changes',
    64: null,
    77: null,
    78: null,
  },
} as const satisfies CommandSpec;

export const applyLine = {
  ...withService,
  name: 'apply',
  summary: 'makes the account what the files of a folder describe',
  description: [
    'Shows the plan and applies it in one transaction. Ctrl-C cancels, and nothing is then changed.',
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
    1: 'the files or the deployment were refused',
    2: 'deletions were not confirmed, or the service cannot be reached',
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
  description: ['Prints the file, line, field and remedy of each problem.'],
  options: {},
  variables: [],
  examples: [{ command: 'location-agent validate monitoring', does: 'checks the files in monitoring' }],
  exitCodes: { 0: null, 1: 'the files are not valid', 2: null, 64: null, 78: null },
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
  examples: [
    { command: 'location-agent export monitoring', does: 'writes all resources as files in monitoring' },
  ],
  exitCodes: {
    0: null,
    2: 'files would be overwritten, or the service cannot be reached',
    64: null,
    77: null,
    78: null,
  },
} as const satisfies CommandSpec;
