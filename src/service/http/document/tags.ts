/** The subjects of the public API: their order in the document, and what each is for. */

type Tag = { readonly name: string; readonly description: string };

export const tags: readonly Tag[] = [
  {
    name: 'Checks',
    description:
      'A check is a definition: its type, its target, how often it runs, and where. There is one path per type to create and change checks, and common paths to read and delete them.',
  },
  {
    name: 'Check groups',
    description:
      'A group holds checks with common settings: locations, alerts, retries, variables. Paths of version 2 leave the settings of the checks alone where the group has null.',
  },
  {
    name: 'Heartbeats',
    description:
      'A heartbeat check waits for pings of a job. These paths read and send pings; the ping URL itself needs no API key.',
  },
  {
    name: 'Triggers',
    description: 'A trigger is a URL that runs a check or a group, for example after a deployment.',
  },
  {
    name: 'Check sessions',
    description: 'A check session holds the runs of one check that one request started.',
  },
  {
    name: 'Test sessions',
    description:
      'A test session runs several checks together, for example before a deployment. Its results do not count for the checks.',
  },
  { name: 'Results', description: 'Results of runs, their files, and the latest status of each check.' },
  {
    name: 'Analytics',
    description:
      'Figures over a range of time: availability and response times of checks, reports, and metrics for Prometheus.',
  },
  {
    name: 'Error groups',
    description: 'Failures of a check with the same message form an error group, which can be analysed.',
  },
  {
    name: 'Alerts',
    description: 'Alerts of checks and locations, and what became of each notification.',
  },
  {
    name: 'Alert channels',
    description: 'A channel is a place to which alerts are sent: mail, webhook, chat, phone, paging.',
  },
  {
    name: 'Locations',
    description:
      'Locations are where checks run. Agents join a location with a key; private locations belong to the account.',
  },
  {
    name: 'Maintenance windows',
    description: 'A maintenance window pauses checks or silences alerts, once or repeatedly.',
  },
  {
    name: 'Status pages',
    description: 'Public pages with services and their incidents, and the subscribers of these pages.',
  },
  { name: 'Incidents', description: 'Incidents of a status page as a whole, with their updates.' },
  { name: 'Badges', description: 'SVG images with the state of a check, a group or a status page.' },
  {
    name: 'Projects',
    description:
      'A project is a set of resources that files describe. A deployment makes the account match the files, in one transaction.',
  },
  {
    name: 'Playwright bundles',
    description: 'Archives with the code of Playwright suites. A suite names its bundle by key.',
  },
  { name: 'Snippets', description: 'Code that scripts of several checks share.' },
  { name: 'Variables', description: 'Environment variables and secrets that all runs of the account see.' },
  {
    name: 'Client certificates',
    description: 'Certificates that API checks offer to hosts that ask for one.',
  },
  { name: 'Runtimes', description: 'Fixed sets of packages on which scripts run.' },
  { name: 'Events', description: 'Live changes of the account as a stream.' },
  { name: 'Accounts', description: 'The account of the API key, and its settings.' },
  { name: 'API keys', description: 'Keys of programs, each with a role.' },
  { name: 'Sign-in', description: 'Sessions of browsers: a cookie takes the place of the API key.' },
  { name: 'Service', description: 'The state of the service itself.' },
];
