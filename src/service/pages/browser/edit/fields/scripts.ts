import { alertSection } from './alerts.ts';
import { certificateRow, dependencyRow, phaseRows } from './http.ts';
import { named, type Section } from './row.ts';
import {
  frequencyRows,
  generalSection,
  locationRows,
  nameRow,
  retryRows,
  runParallel,
  runtimeRow,
  scriptPath,
  shouldFail,
  variables,
} from './shared.ts';

/** The forms of browser checks, multi-step checks and Playwright suites. */

/** Lines of a list, so that nothing takes the import of the sample for one of this file. */
const sample = (title: string, fixture: string, lines: readonly string[]): string =>
  [
    "import { test, expect } from '@playwright/test';",
    '',
    `test('${title}', async ({ ${fixture} }) => {`,
    ...lines.map((line) => `  ${line}`),
    '});',
    '',
  ].join('\n');

const browserScript = sample('the page opens', 'page', [
  "const response = await page.goto('https://shop.example/');",
  'expect(response?.status()).toBeLessThan(400);',
]);
const multiStepScript = sample('the API answers', 'request', [
  "const response = await request.get('https://shop.example/api');",
  'expect(response.status()).toBe(200);',
]);

const scriptSections = (initial: string): readonly Section[] => [
  {
    title: 'Script',
    rows: [
      nameRow,
      {
        path: 'script',
        label: 'Script',
        kind: 'code',
        empty: null,
        initial,
        hint: 'Tests of Playwright Test. Empty = the file that the path below names.',
        isWide: true,
      },
    ],
  },
  {
    title: 'Files and settings',
    isFolded: true,
    rows: [
      scriptPath,
      dependencyRow,
      {
        path: 'playwrightConfig',
        label: 'Settings of Playwright Test',
        kind: 'json',
        default: null,
        hint: 'timeout, use and expect, as JSON. Empty = none.',
        isWide: true,
      },
      runtimeRow,
      ...phaseRows,
    ],
  },
  { title: 'Where and when it runs', rows: [...frequencyRows(1), ...locationRows, runParallel] },
  { title: 'Retries and expected failures', isFolded: true, rows: [...retryRows(false), shouldFail] },
  alertSection(true),
  variables,
  { title: 'More', isFolded: true, rows: [certificateRow] },
  generalSection(),
];

export const browserSections = scriptSections(browserScript);
export const multiStepSections = scriptSections(multiStepScript);

export const suiteSections: readonly Section[] = [
  {
    title: 'Suite',
    rows: [
      nameRow,
      {
        path: 'codeBundlePath',
        label: 'Code bundle',
        kind: 'bundle',
        required: true,
        initial: '',
        hint: 'The project as a .tar.gz file, for example of: tar -czf suite.tar.gz --exclude node_modules .',
        isWide: true,
      },
      {
        path: 'workingDir',
        label: 'Working folder',
        kind: 'text',
        empty: '',
        max: 512,
        default: '',
        hint: 'Empty = the root of the bundle.',
      },
      {
        path: 'playwrightConfigPath',
        label: 'Path of the Playwright config',
        kind: 'text',
        empty: null,
        max: 512,
        default: null,
        hint: 'Relative to the working folder. Empty = found by Playwright.',
      },
      {
        path: 'installCommand',
        label: 'Install command',
        kind: 'text',
        empty: null,
        max: 4096,
        default: null,
        hint: 'Empty = chosen by the lock file.',
      },
      {
        path: 'testCommand',
        label: 'Test command',
        kind: 'text',
        empty: null,
        max: 4096,
        default: null,
        hint: 'Empty = playwright test.',
      },
      {
        path: 'pwProjects',
        label: 'Projects',
        kind: 'words',
        max: 50,
        default: [],
        hint: 'None = all.',
      },
      {
        path: 'pwTags',
        label: 'Tests with the tags',
        kind: 'words',
        max: 50,
        default: [],
        hint: 'None = all.',
      },
    ],
  },
  {
    title: 'Engine and browsers',
    isFolded: true,
    rows: [
      {
        path: 'engine',
        label: 'Engine',
        kind: 'choice',
        choices: [{ value: null, title: 'the default (node)' }, ...named('node', 'bun')],
        default: null,
      },
      {
        path: 'engineVersion',
        label: 'Version of the engine',
        kind: 'text',
        empty: null,
        max: 32,
        default: null,
        hint: 'Empty = the default.',
      },
      {
        path: 'browsers',
        label: 'More browsers',
        kind: 'several',
        choices: named('chromium', 'firefox', 'webkit'),
        default: [],
        hint: 'In addition to those of the config.',
      },
      {
        path: 'maxRunMinutes',
        label: 'Time limit of a run',
        kind: 'number',
        unit: 'minutes',
        min: 1,
        max: 60,
        default: 30,
      },
      scriptPath,
    ],
  },
  { title: 'Where and when it runs', rows: [...frequencyRows(1), ...locationRows, runParallel] },
  alertSection(true),
  variables,
  generalSection(),
];
