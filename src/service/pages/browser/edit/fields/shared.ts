import { named, numbers, type Body, type Row, type Section } from './row.ts';

/** Fields that checks of several types share. */

const minutes = [0, 1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440] as const;

function every(value: number): string {
  if (value === 0) return 'every 10, 20 or 30 seconds';
  if (value < 60) return value === 1 ? 'every minute' : `every ${value} minutes`;
  if (value === 60) return 'every hour';
  return value === 1440 ? 'every day' : `every ${value / 60} hours`;
}

/** How often a check runs. `least`: the smallest number of minutes that the type may have. */
export const frequencyRows = (least: number, standard = 10): readonly Row[] => [
  {
    path: 'frequency',
    label: 'Frequency',
    kind: 'choice',
    choices: numbers(
      minutes.filter((value) => value >= least),
      every,
    ),
    default: standard,
  },
  {
    path: 'frequencyOffset',
    label: 'Offset',
    kind: 'number',
    isWide: true,
    min: 1,
    hint:
      'With seconds: 10, 20 or 30, the seconds between two runs. Otherwise: when the runs begin, in steps of 6 seconds ' +
      '(of an hour above 60 minutes). Empty = the service spreads the checks.',
  },
];

export const nameRow: Row = {
  path: 'name',
  label: 'Name',
  kind: 'text',
  empty: '',
  required: true,
  max: 1024,
  isWide: true,
};

export const locationRows: readonly Row[] = [
  {
    path: 'privateLocations',
    label: 'Private locations',
    kind: 'many',
    from: 'privateLocations',
    default: [],
    isWide: true,
  },
  {
    path: 'locations',
    label: 'Locations',
    kind: 'many',
    from: 'locations',
    default: [],
    hint: 'In a group, a check without locations has those of the group.',
    isWide: true,
  },
];

export const runParallel: Row = {
  path: 'runParallel',
  label: 'Run in all locations at once',
  kind: 'switch',
  default: false,
  hint: 'Off: the runs take turns through the locations.',
};

export const shouldFail: Row = {
  path: 'shouldFail',
  label: 'Expect a failure',
  kind: 'switch',
  default: false,
  hint: 'The check passes if its run fails.',
};

export const runtimeRow: Row = {
  path: 'runtimeId',
  label: 'Runtime',
  kind: 'pick',
  from: 'runtimes',
  none: 'of the group or the account',
  default: null,
};

export const scriptPath: Row = {
  path: 'scriptPath',
  label: 'Path of the script',
  kind: 'text',
  empty: null,
  max: 1024,
  default: null,
  hint: 'A file of the dependencies, if the script itself is empty.',
};

const isRepeated = (body: Body) =>
  (body['retryStrategy'] as { type?: string } | null | undefined)?.type !== 'SINGLE_RETRY';

export const retryRows = (mayRestrict: boolean): readonly Row[] => [
  {
    path: 'retryStrategy',
    label: 'Retry failed runs',
    kind: 'object',
    default: null,
    isWide: true,
    rows: [
      {
        path: 'retryStrategy.type',
        label: 'Waits between retries',
        kind: 'choice',
        default: 'FIXED',
        choices: [
          { value: 'FIXED', title: 'always the same' },
          { value: 'LINEAR', title: 'longer each time' },
          { value: 'EXPONENTIAL', title: 'twice as long each time' },
          { value: 'SINGLE_RETRY', title: 'only one retry' },
        ],
      },
      {
        path: 'retryStrategy.baseBackoffSeconds',
        label: 'First wait',
        kind: 'number',
        unit: 'seconds',
        min: 0,
        max: 3600,
        default: 60,
      },
      {
        path: 'retryStrategy.maxRetries',
        label: 'Retries at most',
        kind: 'number',
        min: 1,
        max: 10,
        hint: 'Empty = 2.',
        when: isRepeated,
      },
      {
        path: 'retryStrategy.maxDurationSeconds',
        label: 'Time for all retries',
        kind: 'number',
        unit: 'seconds',
        min: 0,
        max: 600,
        hint: 'Empty = 600.',
        when: isRepeated,
      },
      {
        path: 'retryStrategy.sameRegion',
        label: 'Retry in the same location',
        kind: 'switch',
        default: true,
      },
      {
        path: 'retryStrategy.onlyOn',
        label: 'Retry only',
        kind: 'several',
        choices: [{ value: 'NETWORK_ERROR', title: 'network errors' }],
        default: [],
        hint: 'None chosen = every failure.',
        when: () => mayRestrict,
      },
    ],
  },
  {
    path: 'doubleCheck',
    label: 'Retry once at once',
    kind: 'switch',
    default: true,
    hint: 'Without a retry strategy, a failed run is repeated once, at once.',
    when: (body) => (body['retryStrategy'] ?? null) === null,
  },
];

const variableColumns = [
  { key: 'key', label: 'Name', kind: 'text', max: 256, default: '' },
  {
    key: 'value',
    label: 'Value',
    kind: 'text',
    max: 131_072,
    default: '',
    isSecret: (row: Body) => row['secret'] === true,
    placeholder: (row: Body) => (row['secret'] === true ? 'empty = the stored value stays' : 'value'),
  },
  { key: 'locked', label: 'Locked', kind: 'switch', default: false },
  { key: 'secret', label: 'Secret', kind: 'switch', default: false },
] as const;

export const variables: Section = {
  title: 'Environment variables',
  isFolded: true,
  intro:
    'Scripts and requests read them, for example as {{NAME}}. A secret value can be written but never read again. ' +
    'A locked one is shown only to keys that may write.',
  rows: [
    {
      path: 'environmentVariables',
      label: 'Variables',
      kind: 'list',
      one: 'variable',
      max: 100,
      default: [],
      columns: variableColumns,
      isWide: true,
    },
  ],
};

/** Switches and texts that every check has. */
export const generalSection = (own: readonly Row[] = []): Section => ({
  title: 'Status and order',
  rows: [
    {
      path: 'activated',
      label: 'Activated',
      kind: 'switch',
      default: true,
      hint: 'A check that is off does not run.',
    },
    {
      path: 'muted',
      label: 'Muted',
      kind: 'switch',
      default: false,
      hint: 'It runs, but no alert is sent.',
    },
    ...own,
    { path: 'tags', label: 'Tags', kind: 'words', default: [], max: 200, isWide: true },
    {
      path: 'groupId',
      label: 'Group',
      kind: 'pick',
      from: 'groups',
      none: 'no group',
      default: null,
    },
    {
      path: 'groupOrder',
      label: 'Place in the group',
      kind: 'number',
      min: 0,
      empty: null,
      default: null,
      when: (body) => (body['groupId'] ?? null) !== null,
    },
    {
      path: 'description',
      label: 'Description',
      kind: 'area',
      empty: null,
      max: 500,
      default: null,
      isWide: true,
    },
  ],
});

export const severities = named('CRITICAL', 'MAJOR', 'MEDIUM', 'MINOR');
