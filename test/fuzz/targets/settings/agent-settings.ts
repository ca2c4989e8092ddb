import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  agentEnvironment,
  readAccountKey,
  readAgentConfig,
  readAgentConfigIfAny,
  readLogLevel,
  readLogStyle,
} from '../../../../src/config.ts';
import { misspeltVariables } from '../../../../src/config/misspelt.ts';
import { FatalError } from '../../../../src/errors.ts';

/** The environment of the agent: whatever it holds is read, or refused in one line that shows no secret. */

export const name = 'agent-settings';

let root: string | null = null;
/** Their values must not be in a message. */
const secretNames = /^(?:API_KEY|PROBE_TOKEN|SERVICE_API_KEY|SERVICE_SECRET_\w+)$/;

/** One variable in a line. What follows a byte of zero is in the file that each NAME_FILE names; if nothing does, it is a folder. */
export function run(data: Buffer): void {
  root ??= mkdtempSync(join(tmpdir(), 'fuzz-settings-'));
  const cut = data.indexOf(0);
  const text = (cut < 0 ? data : data.subarray(0, cut)).toString();
  const file = join(root, 'secret');
  rmSync(file, { recursive: true, force: true });
  if (cut >= 0 && cut === data.length - 1) mkdirSync(file);
  else if (cut >= 0) writeFileSync(file, data.subarray(cut + 1));
  const env: { [name: string]: string } = {};
  for (const line of text.split('\n')) {
    const at = line.indexOf('=');
    if (at > 0) env[line.slice(0, at)] = line.slice(0, at).endsWith('_FILE') ? file : line.slice(at + 1);
  }
  const secrets = Object.entries(env).flatMap(([variable, value]) =>
    secretNames.test(variable) && value.trim().length >= 8 ? [value.trim()] : [],
  );
  const reading = <T>(read: () => T): T | null => {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof FatalError) || error.code !== 'CONFIGURATION') throw error;
      if (/[\r\n]/.test(error.message)) throw new Error('a message of several lines', { cause: error });
      const rest = secrets.find((secret) => error.message.includes(secret));
      if (rest !== undefined) throw new Error(`a message with the secret ${rest}`, { cause: error });
      return null;
    }
  };
  const config = reading(() => readAgentConfig(env));
  if (config !== null) {
    const { healthPort, uptimeConcurrency, suiteConcurrency, referenceTargets, probe } = config;
    const numbers = [
      healthPort,
      uptimeConcurrency,
      suiteConcurrency,
      ...referenceTargets.map(({ port }) => port),
    ];
    if (!numbers.every((value) => Number.isInteger(value) && value >= 0 && value <= 65_535))
      throw new Error(`numbers ${numbers.join(', ')}`);
    if (probe !== null && probe.targets.some((target) => target.trim() === ''))
      throw new Error('an empty target of probes');
  }
  reading(() => readAgentConfigIfAny(env, { usesService: false }));
  reading(() => readLogLevel(env));
  reading(() => readLogStyle(env, { isTerminal: true, preferred: 'text' }));
  reading(() => readAccountKey(env, null));
  for (const { nearest } of misspeltVariables(env)) if (nearest === '') throw new Error('near to nothing');
  const own = agentEnvironment(env, {
    apiKey: 'pl_0123456789abcdef',
    serviceUrl: 'http://127.0.0.1:4400',
    extraCaFile: '/tmp/ca.pem',
    logLevel: 'INFO',
    scriptNetworks: [],
  });
  if (own['API_KEY'] !== 'pl_0123456789abcdef') throw new Error('another key');
}

export const close = (): void => {
  if (root !== null) rmSync(root, { recursive: true, force: true });
};

export const seeds = (): string[] => [
  'API_KEY=pl_0123456789abcdef\nSERVICE_URL=https://monitoring.shop.test/base\nAGENT_HEALTH_PORT=0\nLOG_LEVEL=warn',
  'API_KEY=pl_0123456789abcdef\nREFERENCE_TARGETS=example.test:443, [2001:db8::1]:53, https://shop.test/x',
  'API_KEY_FILE=x\nSERVICE_API_KEY_FILE=x\0pl_0123456789abcdef\r\nrest',
  'API_KEY_FILE=x\0',
  'API_KEY=pl_0123456789abcdef\nHTTP_PROXY=proxy.test:3128\nhttps_proxy=socks5h://user:p%40ss@[::1]:1080\nNO_PROXY=.test,10.0.0.0/8',
  'API_KEY=pl_0123456789abcdef\nPROBE_CONFIG=probe.yml\nPROBE_TARGETS=*.shop.test, 10.0.0.0/8, ::1, *\nPROBE_TOKEN=walnut-4711',
  'API_KEY=pl_0123456789abcdef\nSCRIPT_ALLOWED_NETWORKS=10.0.0.0/8:443,[::1]:80-90\nSCRIPT_DENIED_NETWORKS=0.0.0.0/0',
  'API_KEY=sk_an-account-key\nSERVICE_SECRET_TOKEN=walnut-4711\nUPTIME_CONCURENCY=3\nAGENT_HEALTH_PROT=1',
  'API_KEY=pl_0123456789abcdef\nUPTIME_CONCURRENCY=0\nJOB_CONCURRENCY=auto\nSUITE_CONCURRENCY=0\nDEPENDENCY_CACHE=Off\nDETECT_SECRETS=yes',
  'LOG_FORMAT=json\nNO_COLOR=1\nUSE_OS_DNS_RESOLVER=maybe\nPLAYWRIGHT_BROWSERS_PATH=../x\nAS_DATABASE=as.tsv',
];

export const dictionary = [
  'API_KEY=pl_',
  '_FILE=',
  '\n',
  '\0',
  'SERVICE_URL=',
  'AGENT_HEALTH_HOST=',
  'AGENT_CONTINUE_HOURS=',
  'AGENT_SHUTDOWN_GRACE_SECONDS=',
  'REFERENCE_TARGETS=',
  'PROBE_TARGETS=',
  'PROBE_TOKEN=',
  'SERVICE_SECRET_',
  'HTTPS_PROXY=',
  'SCRIPT_ALLOWED_NETWORKS=',
  '__proto__=',
  'constructor=',
  '%',
  '://',
  '@',
  '[::1]',
  '99999999999999999999',
  '\u2028',
  '\r',
];
