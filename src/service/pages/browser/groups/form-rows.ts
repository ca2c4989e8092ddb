import { alertSection } from '../edit/fields/alerts.ts';
import { phaseRows } from '../edit/fields/http.ts';
import type { Body, Row, Section } from '../edit/fields/row.ts';
import { locationRows, nameRow, retryRows, runtimeRow, variables } from '../edit/fields/shared.ts';

/** The form of a check group: the fields of `/v2/check-groups`. */

/** A field that the group can leave to each of its checks. */
export type Leaving = {
  readonly path: 'runParallel' | 'useGlobalAlertSettings';
  readonly label: string;
  readonly yes: string;
  readonly no: string;
};
export type GroupSection = Section & { readonly leaving?: Leaving };

const decidesAlerts = (body: Body) => body['useGlobalAlertSettings'] !== null;
const withHint = (row: Row, hint: string): Row => ({ ...row, hint });
const retries = retryRows(true).filter(({ path }) => path === 'retryStrategy');
const ownAlerts = alertSection(false)
  .rows.filter(({ path }) => path !== 'useGlobalAlertSettings')
  .map((row) => (row.kind === 'channels' ? { ...row, when: decidesAlerts } : row));

export const groupSections: readonly GroupSection[] = [
  {
    title: 'Group',
    rows: [
      nameRow,
      {
        path: 'activated',
        label: 'Activated',
        kind: 'switch',
        default: true,
        hint: 'No check of a group that is off runs.',
      },
      {
        path: 'muted',
        label: 'Muted',
        kind: 'switch',
        default: false,
        hint: 'Its checks run, but no alert is sent.',
      },
      { path: 'tags', label: 'Tags', kind: 'words', default: [], max: 200, isWide: true },
    ],
  },
  {
    title: 'Where its checks run',
    leaving: {
      path: 'runParallel',
      label: 'Runs in several locations',
      yes: 'in all locations at once',
      no: 'in turns through the locations',
    },
    rows: [
      ...locationRows.map(({ hint: _hint, ...row }) => row as Row),
      {
        path: 'concurrency',
        label: 'Concurrency',
        kind: 'number',
        min: 1,
        max: 100,
        default: 3,
        unit: 'checks',
        hint: 'Checks that run at a time when the trigger of the group is called.',
      },
      withHint(
        { ...runtimeRow, none: 'of the account' } as Row,
        'For scripts of checks that name no runtime of their own.',
      ),
    ],
  },
  {
    title: 'Retries',
    isFolded: true,
    rows: retries.map((row) =>
      withHint(row, 'Off: as each check says. On: replaces the retries of its checks.'),
    ),
  },
  {
    title: 'Alerts',
    isFolded: true,
    intro: 'If the group decides about alerts, only its channels are told.',
    leaving: {
      path: 'useGlobalAlertSettings',
      label: 'Alert settings',
      yes: 'of the account',
      no: 'of this group',
    },
    rows: ownAlerts,
  },
  {
    ...variables,
    intro: `${variables.intro ?? ''} A variable of a check replaces one of its group with the same name.`,
  },
  {
    title: 'API checks',
    isFolded: true,
    intro: 'Setup and teardown scripts of the group run in addition to those of each check.',
    rows: [
      {
        path: 'apiCheckDefaults',
        label: 'Defaults of requests',
        kind: 'json',
        isWide: true,
        hint: 'url (read as GROUP_BASE_URL), headers, queryParameters, basicAuth and assertions, as JSON.',
      },
      ...phaseRows,
    ],
  },
];

/** What a new group begins with: the defaults of the API. */
export const newGroup: Body = {
  name: '',
  activated: true,
  muted: false,
  tags: [],
  locations: [],
  privateLocations: [],
  runParallel: null,
  concurrency: 3,
  runtimeId: null,
  retryStrategy: null,
  useGlobalAlertSettings: null,
  alertSettings: {
    escalationType: 'RUN_BASED',
    runBasedEscalation: { failedRunThreshold: 1 },
    timeBasedEscalation: { minutesFailingThreshold: 5 },
    reminders: { amount: 0, interval: 5 },
    parallelRunFailureThreshold: { enabled: false, percentage: 10 },
  },
  alertChannelSubscriptions: [],
  environmentVariables: [],
  apiCheckDefaults: { url: '', headers: [], queryParameters: [], basicAuth: null, assertions: [] },
  setupSnippetId: null,
  tearDownSnippetId: null,
  localSetupScript: null,
  localTearDownScript: null,
};

/** The fields of a stored group that the form shows. */
export function bodyOfGroup(group: Body): Body {
  const body = Object.fromEntries(Object.keys(newGroup).map((name) => [name, group[name]]));
  return { ...body, retryStrategy: group['retryStrategy'] === 'FALLBACK' ? null : group['retryStrategy'] };
}
