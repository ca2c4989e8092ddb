import { expect, test } from 'vitest';
import { agentEnvironment, readAgentConfig } from '../../src/config.ts';

test('an agent of dev gets its key and proxy, and no secret of the service', () => {
  const env = agentEnvironment(
    {
      PATH: '/bin',
      API_KEY_FILE: '/some/file',
      DATABASE_URL: 'postgres://a:b@c/d',
      SMTP_URL: 'smtp://a:b@c',
      SMS_TOKEN: 't',
      CHAT_A_APP_TOKEN_FILE: '/t',
      ANALYSIS_API_KEY: 'k',
      S3_SECRET_ACCESS_KEY: 's',
      SERVICE_API_KEY: 'sk',
      SERVICE_LOCATION_KEY_FILE: '/f',
      SERVICE_ENCRYPTION_KEY: 'e',
      SERVICE_SECRET_TOKEN: 'kept',
      SERVICE_PORT: '4400',
      HTTP_PROXY: 'http://proxy:3128',
      NO_PROXY: 'internal',
      LOG_FORMAT: 'text',
      SERVICE_URI: 'reported by dev itself',
    },
    {
      apiKey: 'pl_0123456789abcdef',
      serviceUrl: 'http://127.0.0.1:4401',
      extraCaFile: '/ca.pem',
      logLevel: 'INFO',
      scriptNetworks: ['0.0.0.0/0', '127.0.0.1:80'],
    },
  );
  expect(env).toEqual({
    PATH: '/bin',
    SERVICE_SECRET_TOKEN: 'kept',
    SERVICE_PORT: '4400',
    HTTP_PROXY: 'http://proxy:3128',
    NO_PROXY: 'internal',
    API_KEY: 'pl_0123456789abcdef',
    SERVICE_URL: 'http://127.0.0.1:4401',
    no_proxy: 'internal,127.0.0.1',
    NODE_EXTRA_CA_CERTS: '/ca.pem',
    LOG_LEVEL: 'INFO',
    LOG_FORMAT: 'json',
    SCRIPT_ALLOWED_NETWORKS: '0.0.0.0/0,127.0.0.1:80',
  });
  expect(readAgentConfig(env).proxy.noProxy).toBe('internal,127.0.0.1');
});
