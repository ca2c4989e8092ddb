import { apiSections, urlSections } from './http.ts';
import { grpcSections } from './grpc.ts';
import { dnsSections, icmpSections, tcpSections } from './probes.ts';
import type { Row, Section } from './row.ts';
import { sslSections } from './ssl.ts';
import { tracerouteSections } from './traceroute.ts';
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
  /** Whether a test run is possible. */
  readonly isRun: boolean;
};

const run = { isRun: true };

export const checkForms: readonly CheckForm[] = [
  {
    ...run,
    type: 'URL',
    path: 'url',
    title: 'URL check',
    about: 'Requests one URL and looks at its status and response time.',
    sections: urlSections,
  },
  {
    ...run,
    type: 'API',
    path: 'api',
    title: 'API check',
    about: 'Sends any HTTP request and compares status, headers and body with what you expect.',
    sections: apiSections,
  },
  {
    ...run,
    type: 'BROWSER',
    path: 'browser',
    title: 'Browser check',
    about: 'Runs one Playwright script in a real browser, with screenshots, video and trace.',
    sections: browserSections,
  },
  {
    ...run,
    type: 'MULTI_STEP',
    path: 'multistep',
    title: 'Multi-step check',
    about: 'Runs a script with several API requests that depend on each other.',
    sections: multiStepSections,
  },
  {
    ...run,
    type: 'PLAYWRIGHT',
    path: 'playwright',
    title: 'Playwright suite',
    about: 'Runs your whole Playwright project, with its own packages and config.',
    sections: suiteSections,
  },
  {
    ...run,
    type: 'TCP',
    path: 'tcp',
    title: 'TCP check',
    about: 'Connects to a port, and can send data and compare the answer.',
    sections: tcpSections,
  },
  {
    ...run,
    type: 'DNS',
    path: 'dns',
    title: 'DNS check',
    about: 'Looks up a name and compares the records.',
    sections: dnsSections,
  },
  {
    ...run,
    type: 'ICMP',
    path: 'icmp',
    title: 'ICMP check',
    about: 'Pings a host and measures latency and packet loss.',
    sections: icmpSections,
  },
  {
    ...run,
    type: 'SSL',
    path: 'ssl',
    title: 'SSL check',
    about: 'Looks at certificates, their expiry and revocation, and at the security of the connection.',
    sections: sslSections,
  },
  {
    ...run,
    type: 'GRPC',
    path: 'grpc',
    title: 'gRPC check',
    about: 'Calls a gRPC method, or asks the health service.',
    sections: grpcSections,
  },
  {
    ...run,
    type: 'TRACEROUTE',
    path: 'traceroute',
    title: 'Traceroute check',
    about: 'Finds the routers on the way to a host, with loss and times.',
    sections: tracerouteSections,
  },
  {
    isRun: false,
    type: 'HEARTBEAT',
    path: 'heartbeat',
    title: 'Heartbeat',
    about: 'Waits for pings of your own job, such as a backup, and fails if one is late.',
    sections: heartbeatSections,
  },
  {
    ...run,
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
