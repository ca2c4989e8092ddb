/**
 * The table of all variables that the programs read: default and meaning, as `--help` and the man page show them. The
 * readers in read.ts accept only these names. docs/configuration.md has the same rows with more words.
 */

type Row = readonly [fallback: string, meaning: string];
type Rows = { readonly [name: string]: Row };

/** Read by every command that reads variables. */
const common = {
  LOG_LEVEL: ['INFO', 'DEBUG, LOG, INFO, WARN or ERROR'],
  NO_COLOR: ['', 'any value removes colour from log lines for people'],
  LOG_FORMAT: ['json; text on a terminal', 'json or text: one JSON object per line, or lines for people'],
} as const satisfies Rows;

/** Names that other programs also read. */
const connection = {
  SERVICE_URL: ['http://127.0.0.1:4400', 'URL of the service'],
  HTTP_PROXY: ['', 'proxy for http connections to the service and for suite installers; also in lower case'],
  HTTPS_PROXY: [
    '',
    'proxy for https connections to the service and for suite installers; also in lower case',
  ],
  NO_PROXY: ['', 'hosts that are reached without a proxy; also in lower case'],
  NODE_EXTRA_CA_CERTS: ['', 'PEM file with more certificate authorities'],
  NODE_TLS_REJECT_UNAUTHORIZED: [
    '',
    '0 is ignored for the service, proxies, alert channels and mail servers',
  ],
} as const satisfies Rows;

const locationKey = {
  API_KEY: ['required by start', 'key of the private location (pl_…)'],
} as const satisfies Rows;

const runs = {
  AGENT_DATA_DIR: ['.data/agent', 'folder for the outbox, artifacts, run folders and caches'],
  AGENT_CONTINUE_HOURS: ['24', 'hours for which the agent runs the checks that it holds without the service'],
  USE_OS_DNS_RESOLVER: ['false', 'resolve names through the system (getaddrinfo)'],
  DEPENDENCY_CACHE: ['local', 'local keeps the dependencies of passed suites; off installs them each time'],
  NPM_CONFIG_REGISTRY: ['', 'registry from which suites install; also in lower case'],
  npm_config_nodedir: ['', 'folder with the Node headers, for suite packages that installers compile'],
  PLAYWRIGHT_DOWNLOAD_HOST: ['', 'host from which the agent downloads browsers that suites share'],
  PLAYWRIGHT_BROWSERS_PATH: ['', "absolute path of a folder with Playwright's own browser builds"],
  DETECT_SECRETS: ['false', 'true also masks text in script runs that looks like a credential'],
  NETWORK_EVIDENCE: ['on', 'off disables traceroutes and packet captures after network failures'],
  AS_DATABASE: ['', 'file in MMDB format with the AS numbers that traceroute checks show'],
  REFERENCE_TARGETS: ['', "hosts that show whether this machine's own network works: host:port, …"],
  SCRIPT_ALLOWED_NETWORKS: ['all but special', 'networks that scripts and suites may reach'],
  SCRIPT_DENIED_NETWORKS: [
    'none',
    'networks that scripts and suites may not reach, whatever else is allowed',
  ],
} as const satisfies Rows;

const agentOnly = {
  UPTIME_CONCURRENCY: [
    '200',
    'slots for checks without scripts (URL to TRACEROUTE); 0 switches the lane off',
  ],
  JOB_CONCURRENCY: ['auto', 'slots of the browser lane; auto derives them from memory and cores'],
  SUITE_CONCURRENCY: ['1', 'how many Playwright suites may run at the same time; 0 switches the lane off'],
  AGENT_HEALTH_PORT: ['8081', 'port for health and metrics; 0 takes any free port'],
  AGENT_HEALTH_HOST: ['all addresses', 'address on which that port listens'],
  PROBE_CONFIG: ['off', 'file with modules of blackbox_exporter; opens /probe on that port'],
  PROBE_TARGETS: ['required with PROBE_CONFIG', 'names and networks that /probe may reach; * = all'],
  PROBE_TOKEN: ['only this machine', 'token that /probe requires from its callers'],
  AGENT_SHUTDOWN_GRACE_SECONDS: ['300', 'how long running checks may continue after SIGTERM'],
  EXTERNAL_OBSERVABILITY: ['on', 'off stops the agent from reporting its own errors to the service'],
} as const satisfies Rows;

const accountKey = {
  SERVICE_API_KEY: ['generated', "the account's API key"],
} as const satisfies Rows;

const serviceOnly = {
  SERVICE_HOST: ['127.0.0.1', 'address that the service listens on'],
  SERVICE_PORT: ['4400', 'port that the service listens on; 0 takes any free port'],
  SERVICE_PUBLIC_URL: ['', 'address at which others reach the service'],
  SERVICE_AGENT_IMAGE: ['location-agent:VERSION', 'image in the commands that the pages show for agents'],
  DATABASE_URL: ['embedded', 'URL of a PostgreSQL server (postgres://…, version 15 or newer)'],
  SERVICE_DATA_DIR: ['.data', 'folder for the embedded database, keys.json, artifacts and code bundles'],
  SERVICE_ENCRYPTION_KEY: ['generated', 'key that encrypts secrets at rest; required with DATABASE_URL'],
  SERVICE_ACCOUNT_ID: ['generated', 'account of the first start'],
  SERVICE_LOCATION_SLUG: ['generated', 'private location of the first start'],
  SERVICE_LOCATION_KEY: ['generated', 'location key of the first start'],
  SMTP_URL: ['', 'mail server (smtp://user:password@host:587)'],
  SMTP_FROM: ['', 'sender address of mails'],
  NOTIFICATION_PRIVATE_TARGETS: ['allow', 'refuse forbids alert channels with hosts inside your own network'],
  CHAT_A_APP_URL: ['', 'endpoint of these alert channels'],
  CHAT_A_APP_TOKEN: ['', 'token for CHAT_A_APP_URL'],
  PAGING_A_URL: ['', 'endpoint of these alert channels'],
  PAGING_B_URL: ['', 'endpoint of these alert channels'],
  PAGING_B_EU_URL: ['PAGING_B_URL', 'endpoint of these alert channels in the region EU'],
  PAGING_B_AUTH_SCHEME: ['Bearer', "scheme before a channel's key in the authorization header"],
  SMS_URL: ['', 'endpoint of SMS channels'],
  SMS_TOKEN: ['', 'token for SMS_URL'],
  CALL_URL: ['', 'endpoint of phone call channels'],
  CALL_TOKEN: ['', 'token for CALL_URL'],
  SERVICE_ARTIFACT_STORE: [
    'directory',
    'where artifacts and bundles are stored: directory or s3://bucket/prefix',
  ],
  S3_ENDPOINT: ["the region's", 'URL of the object store'],
  S3_REGION: ['us-east-1', 'region of the bucket'],
  S3_ACCESS_KEY_ID: ['', 'access key id of the bucket'],
  S3_SECRET_ACCESS_KEY: ['', 'secret access key of the bucket'],
  S3_FORCE_PATH_STYLE: [
    'with S3_ENDPOINT',
    'true puts the bucket name into the path instead of the host name',
  ],
  S3_PRESIGNED_DOWNLOADS: ['false', 'true redirects large downloads to the bucket'],
  SERVICE_RATE_LIMIT: ['600', 'requests per minute and API key, for each replica; 0 means no limit'],
  SERVICE_ASSIGNMENTS: ['true', 'agents hold checks and keep their schedule themselves'],
  SERVICE_PUBLIC_RATE_LIMIT: ['300', 'requests for status pages per minute and address; 0 means no limit'],
  SERVICE_TRUSTED_PROXIES: ['', 'addresses and networks of proxies whose x-forwarded headers are trusted'],
  SERVICE_RETENTION_DAYS: ['30', 'days that the service keeps results'],
  SERVICE_ARTIFACT_RETENTION_DAYS: [
    'SERVICE_RETENTION_DAYS',
    'days that the service keeps the files of runs',
  ],
  SERVICE_RESULT_FILES_AFTER_DAYS: [
    '1; 0 with DATABASE_URL',
    'days after which the service keeps results in files; 0 = in the database only',
  ],
  SERVICE_ROLLUP_RETENTION_DAYS: ['400', 'days that the service keeps hourly figures'],
  ANALYSIS_API_URL: ['', 'endpoint of the chat completions protocol, for analyses and agentic checks'],
  ANALYSIS_API_KEY: ['', 'key for ANALYSIS_API_URL'],
  ANALYSIS_MODEL: ['', 'model for analyses and agentic checks'],
  ANALYSIS_AUTOMATIC: ['false', 'true analyses the first result of each error group'],
  AGENTIC_MODEL: ['ANALYSIS_MODEL', 'model for agentic checks'],
  AGENTIC_BROWSER: ['searched for', 'browser program for agentic checks'],
} as const satisfies Rows;

/** All variables by name. */
export const variables = {
  ...common,
  ...connection,
  ...locationKey,
  ...accountKey,
  ...runs,
  ...agentOnly,
  ...serviceOnly,
} as const satisfies Rows;
export type VariableName = keyof typeof variables;

/** Variables that may also name a file: NAME_FILE. */
export const secretVariables = [
  'API_KEY',
  'SERVICE_API_KEY',
  'DATABASE_URL',
  'SERVICE_ENCRYPTION_KEY',
  'SERVICE_LOCATION_KEY',
  'SMTP_URL',
  'CHAT_A_APP_TOKEN',
  'SMS_TOKEN',
  'CALL_TOKEN',
  'S3_SECRET_ACCESS_KEY',
  'ANALYSIS_API_KEY',
  'PROBE_TOKEN',
] as const satisfies readonly VariableName[];
export type SecretName = (typeof secretVariables)[number];

/** Variables that are also read in lower case. */
export const anyCaseVariables = [
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'NO_PROXY',
  'NPM_CONFIG_REGISTRY',
] as const satisfies readonly VariableName[];
export type AnyCaseName = (typeof anyCaseVariables)[number];

/** Variables with this prefix are values that the agent masks. */
export const secretPrefix = 'SERVICE_SECRET_';

/** The names of a table of rows, in order. */
function namesOf<R extends Rows>(...tables: readonly R[]): readonly (keyof R & string)[] {
  return tables.flatMap((rows) => Object.keys(rows));
}

/** The variables by what reads them, for the help of commands. */
export const variableGroups = {
  common: namesOf<Rows>(common),
  connection: namesOf<Rows>(connection),
  locationKey: namesOf<Rows>(locationKey),
  accountKey: namesOf<Rows>(accountKey),
  runs: namesOf<Rows>(runs),
  agent: namesOf<Rows>(agentOnly),
  service: namesOf<Rows>(serviceOnly),
} as const;
export type VariableGroup = keyof typeof variableGroups;

/** The rows of these groups, as help shows them: name (with NAME_FILE), default, meaning. */
export function variableRows(
  groups: readonly VariableGroup[],
): { name: string; fallback: string; meaning: string }[] {
  const all: Rows = variables;
  return groups
    .flatMap((group) => variableGroups[group])
    .map((name) => {
      const [fallback = '', meaning = ''] = all[name] ?? [];
      const isSecret = secretVariables.some((secret) => secret === name);
      return { name: isSecret ? `${name}, ${name}_FILE` : name, fallback, meaning };
    });
}
