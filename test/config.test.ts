import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { readAgentConfig, readAgentSettings, readLogLevel } from '../src/config.ts';
import { readServiceConfig } from '../src/config/service.ts';

const key = 'pl_0123456789abcdef0123456789abcdef';

function told(read: () => unknown): unknown {
  try {
    read();
    return 'accepted';
  } catch (error) {
    const { message, exitCode } = error as { message: string; exitCode: number };
    return [exitCode, message];
  }
}

describe('a malformed value of the agent is one line and 78', () => {
  test.each([
    [
      'API_KEY',
      'abc',
      'API_KEY is not a key of a private location: set it to one, which begins with pl_; the API key of an account belongs in SERVICE_API_KEY',
    ],
    ['API_KEY_FILE', '/x', 'set API_KEY or API_KEY_FILE, not both'],
    ['SERVICE_URL', 'ftp://x', 'SERVICE_URL must begin with http:// or https://'],
    [
      'SERVICE_URL',
      'https://user:word@service.example',
      'SERVICE_URL must not contain a user, password or query: the agent authenticates with its key',
    ],
    ['UPTIME_CONCURRENCY', '-1', 'UPTIME_CONCURRENCY must be a whole number from 0 to 10000, but is "-1"'],
    ['JOB_CONCURRENCY', 'many', 'JOB_CONCURRENCY must be a whole number from 0 to 1000, but is "many"'],
    ['SUITE_CONCURRENCY', '1.5', 'SUITE_CONCURRENCY must be a whole number from 0 to 100, but is "1.5"'],
    [
      'AGENT_HEALTH_PORT',
      '65536',
      'AGENT_HEALTH_PORT must be a whole number from 0 to 65535, but is "65536"',
    ],
    [
      'AGENT_SHUTDOWN_GRACE_SECONDS',
      '-1',
      'AGENT_SHUTDOWN_GRACE_SECONDS must be a whole number from 0 to 86400, but is "-1"',
    ],
    [
      'HTTP_PROXY',
      'ftp://p:1',
      'HTTP_PROXY must be a URL like http://user:password@proxy:3128 (http, https, socks5, or socks5h, which resolves names at the proxy)',
    ],
    [
      'HTTPS_PROXY',
      'http://user:50%off@p:1',
      'HTTPS_PROXY: user and password must be percent-encoded (write % as %25)',
    ],
    ['USE_OS_DNS_RESOLVER', 'maybe', 'USE_OS_DNS_RESOLVER must be true or false, but is "maybe"'],
    ['DEPENDENCY_CACHE', 's3', 'DEPENDENCY_CACHE must be one of local, off, but is "s3"'],
    ['EXTERNAL_OBSERVABILITY', 'some', 'EXTERNAL_OBSERVABILITY must be true or false, but is "some"'],
  ])('%s=%s', (name, value, message) => {
    expect(told(() => readAgentConfig({ API_KEY: key, [name]: value }))).toEqual([78, message]);
  });
});

describe('a wrong list of networks, reference target or health address is one line and 78', () => {
  test.each([
    [
      'SCRIPT_ALLOWED_NETWORKS',
      '0.0.0.0/0,10.0.0.0/33',
      'SCRIPT_ALLOWED_NETWORKS: "10.0.0.0/33" has an invalid prefix length: 0 to 32 for IPv4',
    ],
    [
      'SCRIPT_DENIED_NETWORKS',
      'example.com',
      'SCRIPT_DENIED_NETWORKS: "example.com" is not a network: write 10.0.0.0/8, 10.1.2.3:443, [fd00::/8]:8000-8100 or fd00::1',
    ],
    [
      'REFERENCE_TARGETS',
      'nowhere',
      'REFERENCE_TARGETS: "nowhere" is neither host:port nor an http(s) URL; separate targets with commas',
    ],
    [
      'REFERENCE_TARGETS',
      'a\r\nb\u2028c',
      'REFERENCE_TARGETS: "a\\u000d\\u000ab\\u2028c" is neither host:port nor an http(s) URL; separate targets with commas',
    ],
    [
      'AGENT_HEALTH_HOST',
      'here',
      'AGENT_HEALTH_HOST must be an IP address of this machine, such as 127.0.0.1',
    ],
  ])('%s=%s', (name, value, message) => {
    expect(told(() => readAgentConfig({ API_KEY: key, [name]: value }))).toEqual([78, message]);
  });
});

test('an unreadable key file is reported with the remedy', () => {
  const read = (file: string) => told(() => readAgentConfig({ API_KEY_FILE: file }));
  expect(read('/nowhere')).toEqual([78, 'API_KEY_FILE: cannot read /nowhere (ENOENT)']);
  expect(read('/')).toEqual([
    78,
    'API_KEY_FILE: cannot read / (EISDIR): it is a folder, not a file; a container engine creates a folder if the file to mount is missing',
  ]);
});

describe('no message shows a secret that was set in the wrong variable', () => {
  const folder = mkdtempSync(join(tmpdir(), 'config-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const tokenFile = join(folder, 'token');
  writeFileSync(tokenFile, 'Hazel+nut+in+a+file\n');

  test.each<[variable: string, value: string, secret: string]>([
    ['PROBE_TARGETS', `*.shop.test, *${key}`, key],
    ['LOG_LEVEL', key, key],
    // In another case, cut and split.
    ['DETECT_SECRETS', 'WALNUT-AND-HAZEL', 'walnut'],
    ['PROBE_TARGETS', 'chestnut,*cashew!nut,pecan', 'cashew'],
    ['UPTIME_CONCURRENCY', 'walnut-and-hazel', 'walnut'],
    ['UPTIME_CONCURRENCY', 'first line\nsecond line', 'second line'],
    ['UPTIME_CONCURRENCY', 'Hazel+nut+in+a+file', 'nut+in'],
    ['UPTIME_CONCURRENCY', 'correct-horse', 'correct'],
    ['UPTIME_CONCURRENCY', 'battery-staple', 'battery'],
    ['UPTIME_CONCURRENCY', 'https://hooks.test/T0/B0/almond', 'almond'],
    // Its lower case is one letter longer.
    ['UPTIME_CONCURRENCY', 'İİİİİİİİ walnut-and-hazel', 'walnut'],
  ])('of the agent: %s=%j', (variable, value, secret) => {
    const env = {
      API_KEY: key,
      PROBE_CONFIG: 'probe.yml',
      PROBE_TARGETS: '*.shop.test',
      PROBE_TOKEN_FILE: tokenFile,
      SERVICE_SECRET_NUTS: 'walnut-and-hazel',
      SERVICE_SECRET_LIST: 'chestnut,*cashew!nut,pecan',
      SERVICE_SECRET_HOOK: 'https://hooks.test/T0/B0/almond',
      SERVICE_SECRET_LINES: 'first line\nsecond line',
      HTTP_PROXY: 'http://user:correct-horse@proxy.test:3128',
      HTTPS_PROXY: 'user:battery-staple@proxy.test:3128',
      [variable]: value,
    };
    const message = JSON.stringify(told(() => [readLogLevel(env), readAgentConfig(env)]));
    expect(message).toContain(variable);
    expect(message).not.toContain('accepted');
    expect(message.toLowerCase()).not.toContain(secret.toLowerCase());
  });

  test('of the service', () => {
    const secret = 'one-key-for-all-replicas';
    const env = { SERVICE_ENCRYPTION_KEY: secret, SERVICE_ACCOUNT_ID: secret };
    expect(told(() => readServiceConfig(env))).toEqual([
      78,
      'SERVICE_ACCOUNT_ID must be a lower-case UUID, but is "*********"',
    ]);
  });

  test.each([
    key,
    '/Ab3dEf0hIjKlMnOpQrStUvWxYz0123456789+abcdef=',
    '//b3dEf0hIjKlMnOpQrStUvWxYz0123456789+abcdef=',
    '/Ab3d/f0hIjKlMnOpQrStUvWxYz0123456789+abcdef=',
  ])('nor a key in place of the path of its file: %s', (value) => {
    expect(told(() => readAgentConfig({ API_KEY_FILE: value }))).toEqual([
      78,
      'API_KEY_FILE names a file that cannot be read (ENOENT)',
    ]);
  });

  test('the path of a file that is missing is shown', () => {
    const missing = join(folder, 'location_agent_api_key');
    expect(told(() => readAgentConfig({ API_KEY_FILE: missing }))).toEqual([
      78,
      `API_KEY_FILE: cannot read ${missing} (ENOENT)`,
    ]);
  });
});

describe('and so is one of the service', () => {
  test.each([
    ['SERVICE_PORT', 'x', 'SERVICE_PORT must be a whole number from 0 to 65535, but is "x"'],
    ['SERVICE_PUBLIC_URL', 'x', 'SERVICE_PUBLIC_URL is not a URL'],
    ['DATABASE_URL', 'mysql://x', 'DATABASE_URL must begin with postgres:// or postgresql://'],
    ['SERVICE_LOCATION_KEY', 'x', 'SERVICE_LOCATION_KEY must begin with pl_'],
    [
      'SERVICE_API_KEY',
      'two words',
      'SERVICE_API_KEY must have 8 to 200 letters, digits and punctuation marks, without spaces',
    ],
    ['SMTP_URL', 'mail', 'SMTP_URL must be a URL like smtp://user:password@mail.example.com:587'],
    ['SMTP_URL', 'http://mail', 'SMTP_URL must be a URL like smtp://user:password@mail.example.com:587'],
    [
      'SMTP_FROM',
      'somebody',
      'SMTP_FROM must be an address like "Monitoring <alerts@example.com>", but is "somebody"',
    ],
    ['SMS_URL', 'ftp://sms.example', 'SMS_URL must begin with http:// or https://'],
    [
      'NOTIFICATION_PRIVATE_TARGETS',
      'never',
      'NOTIFICATION_PRIVATE_TARGETS must be one of allow, refuse, but is "never"',
    ],
    ['PAGING_B_AUTH_SCHEME', 'a b', 'PAGING_B_AUTH_SCHEME must be one word of letters, digits or hyphens'],
  ])('%s=%s', (name, value, message) => {
    expect(told(() => readServiceConfig({ [name]: value }))).toEqual([78, message]);
  });

  test('a mail server with a password is taken', () => {
    expect(told(() => readServiceConfig({ SMTP_URL: 'smtps://user:word@mail.example:465' }))).toBe(
      'accepted',
    );
  });
});

test('lanes are switched off by 0 slots, but not all of them', () => {
  const off = { UPTIME_CONCURRENCY: '0', JOB_CONCURRENCY: '0', SUITE_CONCURRENCY: '0' };
  expect(readAgentSettings({ ...off, JOB_CONCURRENCY: 'auto' })).toMatchObject({
    uptimeConcurrency: 0,
    jobConcurrency: null,
    suiteConcurrency: 0,
  });
  expect(told(() => readAgentSettings(off))).toEqual([
    78,
    'UPTIME_CONCURRENCY, JOB_CONCURRENCY and SUITE_CONCURRENCY are all 0: set at least one of them above 0',
  ]);
});

test('PLAYWRIGHT_BROWSERS_PATH is an absolute path; 0, which means within an installation, is none', () => {
  const read = (value: string) =>
    readAgentSettings({ PLAYWRIGHT_BROWSERS_PATH: value }).playwrightBrowsersPath;
  expect([read('/opt/browsers/'), read('0'), read('')]).toEqual(['/opt/browsers', null, null]);
  expect(() => read('browsers')).toThrow('PLAYWRIGHT_BROWSERS_PATH must be an absolute path');
});

test('suite installers get proxies by both names, authorities, registry and download host, and nothing else', () => {
  const { installEnvironment } = readAgentSettings({
    HTTP_PROXY: 'http://upper:1',
    http_proxy: 'http://lower:1',
    HTTPS_PROXY: 'proxy:2',
    no_proxy: 'localhost,.internal',
    NODE_EXTRA_CA_CERTS: '/etc/ca.pem',
    NPM_CONFIG_REGISTRY: 'https://registry.test/',
    PLAYWRIGHT_DOWNLOAD_HOST: 'https://browsers.test/',
    npm_config__auth: 'c2VjcmV0',
    SERVICE_SECRET_ONE: 'secret',
    PATH: '/bin',
  });
  expect(
    Object.fromEntries(Object.entries(installEnvironment).map(([name, value]) => [name, value.reveal()])),
  ).toEqual({
    HTTP_PROXY: 'http://lower:1',
    http_proxy: 'http://lower:1',
    HTTPS_PROXY: 'http://proxy:2',
    https_proxy: 'http://proxy:2',
    NO_PROXY: 'localhost,.internal',
    no_proxy: 'localhost,.internal',
    NODE_EXTRA_CA_CERTS: '/etc/ca.pem',
    NPM_CONFIG_REGISTRY: 'https://registry.test/',
    PLAYWRIGHT_DOWNLOAD_HOST: 'https://browsers.test/',
  });
  expect(JSON.stringify(installEnvironment)).not.toContain('lower');
  expect(readAgentSettings({}).installEnvironment).toEqual({});
});

describe('results are in files after', () => {
  const afterDays = (env: Record<string, string>) => readServiceConfig(env).resultFiles.afterDays;
  const server = {
    DATABASE_URL: 'postgres://user:word@db.example/monitoring',
    SERVICE_ENCRYPTION_KEY: '0123456789abcdef',
  };
  const bucket = {
    SERVICE_ARTIFACT_STORE: 's3://monitoring/staging',
    S3_REGION: 'eu-central-1',
    S3_ACCESS_KEY_ID: 'id',
    S3_SECRET_ACCESS_KEY: 'key',
  };

  test('a day, where one process has both stores', () => {
    expect(afterDays({})).toBe(1);
    expect(afterDays({ ...server, ...bucket })).toBe(0);
  });

  test('no time, if a folder beside a database server may not be shared', () => {
    expect(afterDays(server)).toBe(0);
  });

  test('the configured days, or never', () => {
    expect(afterDays({ SERVICE_RESULT_FILES_AFTER_DAYS: '0' })).toBe(0);
    expect(afterDays({ ...server, SERVICE_RESULT_FILES_AFTER_DAYS: '7' })).toBe(7);
  });
});
