import { numbers, type Body, type Row, type Section } from './row.ts';
import { severities } from './shared.ts';

/** Who is told when a check fails, and when. */

const hasOwn = (body: Body) => body['useGlobalAlertSettings'] === false;
type Settings = {
  escalationType?: string;
  parallelRunFailureThreshold?: { enabled?: boolean };
};
const settings = (body: Body): Settings => (body['alertSettings'] ?? {}) as Settings;

const count = (one: string) => (value: number) => `${value} ${one}${value === 1 ? '' : 's'}`;

const settingRows: readonly Row[] = [
  {
    path: 'useGlobalAlertSettings',
    label: 'Use the settings of the group or the account',
    kind: 'switch',
    default: true,
    isWide: true,
  },
  {
    path: 'alertSettings.escalationType',
    label: 'Alert after',
    kind: 'choice',
    choices: [
      { value: 'RUN_BASED', title: 'a number of failed runs' },
      { value: 'TIME_BASED', title: 'a time of failing' },
    ],
    default: 'RUN_BASED',
    when: hasOwn,
  },
  {
    path: 'alertSettings.runBasedEscalation.failedRunThreshold',
    label: 'Failed runs in a row',
    kind: 'choice',
    choices: numbers([1, 2, 3, 4, 5], count('run')),
    default: 1,
    when: (body) => hasOwn(body) && settings(body).escalationType !== 'TIME_BASED',
  },
  {
    path: 'alertSettings.timeBasedEscalation.minutesFailingThreshold',
    label: 'Time of failing',
    kind: 'choice',
    choices: numbers([5, 10, 15, 30], count('minute')),
    default: 5,
    when: (body) => hasOwn(body) && settings(body).escalationType === 'TIME_BASED',
  },
  {
    path: 'alertSettings.reminders.amount',
    label: 'Reminders',
    kind: 'choice',
    choices: numbers([0, 1, 2, 3, 4, 5, 100_000], (value) =>
      value === 0 ? 'none' : value === 100_000 ? 'until it recovers' : count('reminder')(value),
    ),
    default: 0,
    when: hasOwn,
  },
  {
    path: 'alertSettings.reminders.interval',
    label: 'Time between reminders',
    kind: 'choice',
    choices: numbers([1, 2, 3, 4, 5, 10, 15, 30], count('minute')),
    default: 5,
    when: hasOwn,
  },
  {
    path: 'alertSettings.parallelRunFailureThreshold.enabled',
    label: 'Only if several locations fail',
    kind: 'switch',
    default: false,
    hint: 'For checks that run in all locations at once.',
    when: hasOwn,
  },
  {
    path: 'alertSettings.parallelRunFailureThreshold.percentage',
    label: 'Failing locations',
    kind: 'choice',
    choices: numbers([10, 20, 30, 40, 50, 60, 70, 80, 90, 100], (value) => `at least ${value} %`),
    default: 10,
    when: (body) => hasOwn(body) && settings(body).parallelRunFailureThreshold?.enabled === true,
  },
];

const incident: Row = {
  path: 'triggerIncident',
  label: 'Open an incident on the status pages while it fails',
  kind: 'object',
  default: null,
  isWide: true,
  rows: [
    {
      path: 'triggerIncident.serviceId',
      label: 'Service',
      kind: 'pick',
      from: 'services',
      none: null,
      required: true,
    },
    {
      path: 'triggerIncident.severity',
      label: 'Severity',
      kind: 'choice',
      choices: severities,
      initial: 'MAJOR',
    },
    {
      path: 'triggerIncident.name',
      label: 'Title of the incident',
      kind: 'text',
      empty: '',
      max: 1024,
      required: true,
    },
    {
      path: 'triggerIncident.description',
      label: 'Text of the incident',
      kind: 'area',
      empty: '',
      max: 4096,
      default: '',
      isWide: true,
    },
    {
      path: 'triggerIncident.notifySubscribers',
      label: 'Send mail to subscribers',
      kind: 'switch',
      default: false,
    },
  ],
};

export const alertSection = (opensIncidents: boolean): Section => ({
  title: 'Alerts',
  isFolded: true,
  rows: [
    {
      path: 'alertChannelSubscriptions',
      label: 'Alert channels',
      kind: 'channels',
      default: [],
      isWide: true,
    },
    ...settingRows,
    ...(opensIncidents ? [incident] : []),
  ],
});
