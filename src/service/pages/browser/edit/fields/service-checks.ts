import { alertSection } from './alerts.ts';
import { named, type Section } from './row.ts';
import { frequencyRows, generalSection, locationRows, nameRow, variables } from './shared.ts';

/** The forms of heartbeats and agentic checks, which no agent runs. */

const units = named('seconds', 'minutes', 'hours', 'days');

export const heartbeatSections: readonly Section[] = [
  {
    title: 'Pings',
    intro: 'After saving, the check has a URL that your job calls when it is done.',
    rows: [
      nameRow,
      {
        path: 'heartbeat.period',
        label: 'A ping is due every',
        kind: 'number',
        min: 1,
        max: 31_536_000,
        required: true,
        initial: 1,
      },
      {
        path: 'heartbeat.periodUnit',
        label: 'Unit of the period',
        kind: 'choice',
        choices: units,
        initial: 'hours',
      },
      {
        path: 'heartbeat.grace',
        label: 'Grace time',
        kind: 'number',
        min: 0,
        max: 31_536_000,
        default: 0,
        hint: 'How much later than the period a ping may arrive.',
      },
      {
        path: 'heartbeat.graceUnit',
        label: 'Unit of the grace time',
        kind: 'choice',
        choices: units,
        default: 'seconds',
      },
    ],
  },
  alertSection(true),
  variables,
  generalSection(),
];

export const agenticSections: readonly Section[] = [
  {
    title: 'Task',
    rows: [
      nameRow,
      {
        path: 'prompt',
        label: 'What is to be done, and what must hold',
        kind: 'area',
        empty: '',
        max: 10_000,
        required: true,
        hint: '{{NAME}} is a variable of the check, its group or the account.',
        isWide: true,
      },
      {
        path: 'agentRuntime.skills',
        label: 'Skills',
        kind: 'words',
        max: 50,
        default: [],
        isWide: true,
      },
    ],
  },
  {
    title: 'When it runs',
    rows: [...frequencyRows(5, 30), ...locationRows.filter(({ path }) => path === 'locations')],
  },
  alertSection(false),
  variables,
  generalSection(),
];
