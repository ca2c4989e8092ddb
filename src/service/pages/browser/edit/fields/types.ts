import { apiSections, urlSections } from './http.ts';
import { dnsSections, icmpSections, tcpSections } from './probes.ts';
import type { Row, Section } from './row.ts';
import { sslSections } from './ssl.ts';
import { browserSections, multiStepSections, suiteSections } from './scripts.ts';
import { agenticSections, heartbeatSections } from './service-checks.ts';

/** One row for each check type that can be created. */
export type CheckForm = {
  readonly type: string;
  /** Last path segment of the API's route. */
  readonly path: string;
  readonly title: string;
  /** One sentence for those who choose a type. */
  readonly about: string;
  readonly sections: readonly Section[];
  /** Whether `location-agent run` takes a file with this check. */
  readonly hasFile: boolean;
  /** Whether a test run is possible. */
  readonly isRun: boolean;
};

const probe = { hasFile: true, isRun: true };
const script = { hasFile: false, isRun: true };

export const checkForms: readonly CheckForm[] = [
  {
    ...probe,
    type: 'URL',
    path: 'url',
    title: 'URL check',
    about: 'Requests one URL and looks at its status and response time.',
    sections: urlSections,
  },
  {
    ...probe,
    type: 'API',
    path: 'api',
    title: 'API check',
    about: 'Sends any HTTP request and compares status, headers and body with what you expect.',
    sections: apiSections,
  },
  {
    ...script,
    type: 'BROWSER',
    path: 'browser',
    title: 'Browser check',
    about: 'Runs one Playwright script in a real browser, with screenshots, video and trace.',
    sections: browserSections,
  },
  {
    ...script,
    type: 'MULTI_STEP',
    path: 'multistep',
    title: 'Multi-step check',
    about: 'Runs a script with several API requests that depend on each other.',
    sections: multiStepSections,
  },
  {
    ...script,
    type: 'PLAYWRIGHT',
    path: 'playwright',
    title: 'Playwright suite',
    about: 'Runs your whole Playwright project, with its own packages and config.',
    sections: suiteSections,
  },
  {
    ...probe,
    type: 'TCP',
    path: 'tcp',
    title: 'TCP check',
    about: 'Connects to a port, and can send data and compare the answer.',
    sections: tcpSections,
  },
  {
    ...probe,
    type: 'DNS',
    path: 'dns',
    title: 'DNS check',
    about: 'Looks up a name and compares the records.',
    sections: dnsSections,
  },
  {
    ...probe,
    type: 'ICMP',
    path: 'icmp',
    title: 'ICMP check',
    about: 'Pings a host and measures latency and packet loss.',
    sections: icmpSections,
  },
  {
    ...probe,
    type: 'SSL',
    path: 'ssl',
    title: 'SSL check',
    about: 'Looks at certificates, their expiry and revocation, and at the security of the connection.',
    sections: sslSections,
  },
  {
    hasFile: false,
    isRun: false,
    type: 'HEARTBEAT',
    path: 'heartbeat',
    title: 'Heartbeat',
    about: 'Waits for pings of your own job, such as a backup, and fails if one is late.',
    sections: heartbeatSections,
  },
  {
    ...script,
    type: 'AGENTIC',
    path: 'agentic',
    title: 'Agentic check',
    about: "Gives a task in plain words to a language model, which uses the service's own browser.",
    sections: agenticSections,
  },
];

/** The form of a type; undefined = there is none. */
export const formOf = (type: string | null): CheckForm | undefined =>
  checkForms.find((form) => form.type === type);

/** All rows of a form, with those inside of objects. */
export function rowsOf(form: CheckForm): Row[] {
  const below = (rows: readonly Row[]): Row[] =>
    rows.flatMap((row) => (row.kind === 'object' ? [row, ...below(row.rows)] : [row]));
  return below(form.sections.flatMap(({ rows }) => rows));
}
