import { describe, expect, test } from 'vitest';
import { misspeltVariables } from '../src/config/misspelt.ts';
import { secretVariables, variables } from '../src/config/variables.ts';

const nearestOf = (name: string, value = 'x') => misspeltVariables({ [name]: value })[0]?.nearest ?? null;

test.each([
  ['API_KYE', 'API_KEY'],
  ['API_KEYS', 'API_KEY'],
  ['APIKEY', 'API_KEY'],
  ['API_KEY_FIEL', 'API_KEY_FILE'],
  ['SERVICE_URI', 'SERVICE_URL'],
  ['service_url', 'SERVICE_URL'],
  ['SERVICE_API_KEYS', 'SERVICE_API_KEY'],
  ['LOGLEVEL', 'LOG_LEVEL'],
  ['LOG_LEVL', 'LOG_LEVEL'],
  ['AGENT_HELTH_PORT', 'AGENT_HEALTH_PORT'],
  ['AGENT_HEALTH_HOSTNAME', 'AGENT_HEALTH_HOST'],
  ['AGENT_SHUTDOWN_GRACE', 'AGENT_SHUTDOWN_GRACE_SECONDS'],
  ['UPTIME_CONCURENCY', 'UPTIME_CONCURRENCY'],
  ['SERVICE_ENCRYPTION_KEY_PATH', 'SERVICE_ENCRYPTION_KEY_FILE'],
  ['DATABASE_URI', 'DATABASE_URL'],
  ['S3_SECRET_KEY', 'S3_SECRET_ACCESS_KEY'],
  ['NODE_EXTRA_CA_CERT', 'NODE_EXTRA_CA_CERTS'],
])('%s is reported as %s', (name, nearest) => {
  expect(nearestOf(name)).toBe(nearest);
});

test('our own names, in every form in which they are read, are not reported', () => {
  const names = [...Object.keys(variables), ...secretVariables.map((name) => `${name}_FILE`)];
  const lower = ['http_proxy', 'https_proxy', 'no_proxy', 'npm_config_registry', 'SERVICE_SECRET_TOKEN'];
  expect(misspeltVariables(Object.fromEntries([...names, ...lower].map((name) => [name, 'x'])))).toEqual([]);
});

/** Names that are often set where the programs run, by what sets them. */
const others = {
  shells: `HOME PATH USER LOGNAME SHELL PWD OLDPWD LANG LC_ALL TERM EDITOR PAGER DISPLAY HOSTNAME SHLVL TMPDIR TZ _
    COLUMNS LINES COLORTERM FORCE_COLOR CLICOLOR NO_COLOR SSH_AUTH_SOCK SSH_CONNECTION XDG_RUNTIME_DIR MAIL LS_COLORS
    DBUS_SESSION_BUS_ADDRESS INVOCATION_ID JOURNAL_STREAM NOTIFY_SOCKET WATCHDOG_USEC CREDENTIALS_DIRECTORY`,
  proxies: `ALL_PROXY all_proxy FTP_PROXY ftp_proxy SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE`,
  node: `NODE_ENV NODE_OPTIONS NODE_PATH NODE_VERSION YARN_VERSION NODE_NO_WARNINGS npm_config_cache npm_config_prefix
    npm_config_user_agent npm_config_noproxy npm_config_node_gyp npm_config_global_prefix npm_config_local_prefix
    npm_config_userconfig npm_lifecycle_event npm_package_json npm_execpath npm_node_execpath INIT_CWD NVM_DIR NVM_BIN
    PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD PLAYWRIGHT_HTML_REPORT PLAYWRIGHT_JSON_OUTPUT_NAME DEBUG PORT HOST`,
  ci: `CI GITHUB_ACTIONS GITHUB_TOKEN GITHUB_SHA GITHUB_REF_NAME RUNNER_OS RUNNER_TEMP GITLAB_CI CI_JOB_ID CI_JOB_TOKEN
    CI_COMMIT_SHA CI_API_V4_URL CI_SERVER_URL CI_SERVER_HOST CI_SERVER_PORT CI_REGISTRY JOB_NAME JOB_URL BUILD_ID
    BUILD_NUMBER BUILD_URL WORKSPACE NODE_NAME AGENT_ID AGENT_NAME AGENT_VERSION AGENT_HOMEDIRECTORY AGENT_JOBNAME
    AGENT_TOOLSDIRECTORY AGENT_WORKFOLDER AGENT_TEMPDIRECTORY AGENT_OS SYSTEM_ACCESSTOKEN CIRCLECI TRAVIS BUILDKITE
    BUILDKITE_AGENT_NAME DRONE TEAMCITY_VERSION BITBUCKET_BUILD_NUMBER`,
  applications: `APP_KEY APP_URL API_URL API_TOKEN AUTH_KEY SECRET_KEY DB_URL DB_HOST DB_PORT REDIS_URL MONGO_URL BASE_URL
    PUBLIC_URL PGHOST PGPORT PGUSER PGDATA POSTGRES_PASSWORD POSTGRES_USER SMTP_HOST SMTP_PORT SMTP_USER SMTP_PASSWORD
    S3_BUCKET AWS_REGION AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_DEFAULT_REGION AWS_PROFILE SERVICE_NAME SERVICE_VERSION
    SERVICE_ACCOUNT SERVICE_ACCOUNT_EMAIL SERVICE_ACCOUNT_KEY OTEL_SERVICE_NAME OTEL_EXPORTER_OTLP_ENDPOINT SENTRY_DSN
    LOG_FILE LOG_DIR LOG_PATH OPENAI_API_KEY STRIPE_API_KEY DOCKER_HOST DOCKER_CONFIG COMPOSE_PROJECT_NAME KUBECONFIG`,
  scripts: `SERVICE_RUN SERVICE_RUN_SOURCE SERVICE_CHECK_ID SERVICE_REGION CHECK_NAME CHECK_TYPE RUNTIME_VERSION`,
};

describe('no false alarm', () => {
  test.each(Object.entries(others))('%s', (_, names) => {
    const env = Object.fromEntries(names.split(/\s+/).map((name) => [name, 'x']));
    expect(misspeltVariables(env)).toEqual([]);
  });

  test.each([
    'service',
    'agent-health',
    'service-public',
    'sms',
    'api',
    'location-agent',
    'database',
    'kubernetes',
  ])('links to a Kubernetes service %s', (service) => {
    const name = service.toUpperCase().replaceAll('-', '_');
    const env = {
      [`${name}_SERVICE_HOST`]: '10.0.0.1',
      [`${name}_SERVICE_PORT`]: '443',
      [`${name}_SERVICE_PORT_HTTPS`]: '443',
      [`${name}_PORT`]: 'tcp://10.0.0.1:443',
      [`${name}_PORT_443_TCP`]: 'tcp://10.0.0.1:443',
      [`${name}_PORT_443_TCP_PROTO`]: 'tcp',
      [`${name}_PORT_443_TCP_PORT`]: '443',
      [`${name}_PORT_443_TCP_ADDR`]: '10.0.0.1',
    };
    expect(misspeltVariables(env)).toEqual([]);
  });
});
