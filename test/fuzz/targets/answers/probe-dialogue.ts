import { connect, type Socket } from 'node:net';
import { secureConnection } from '../../../../src/agent/probe/certificates.ts';
import { converse } from '../../../../src/agent/probe/dialogue.ts';
import { Gauges } from '../../../../src/agent/probe/gauges.ts';
import { createProbeLog } from '../../../../src/agent/probe/probe-log.ts';
import { allowedTargets } from '../../../../src/agent/probe/allowed-targets.ts';
import { tcpSettings } from '../../../../src/agent/probe/settings/others.ts';
import { ProbeConfigError, ProbeFields } from '../../../../src/agent/probe/settings/fields.ts';
import { plainTls } from '../../../../src/agent/probe/settings/tls.ts';
import { createNetwork } from '../../../../src/executors/system-network.ts';
import { createConversingServer, partsOf } from '../../engine/conversing-server.ts';
import { refuseBugs } from '../../engine/own-error.ts';

/** What a target says in the steps of a TCP probe, over real connections, with patterns and templates of all kinds. */

export const name = 'probe-dialogue';

const server = createConversingServer({ greets: true });
/** The server waits 40 ms before each part. */
const mostParts = 5;
const latestMs = 4_000;
export const maxMs = 5_000;

/** Pattern, template and expected bytes come first; a byte of zero ends each of them, and each part of what the target says. */
export async function run(data: Buffer): Promise<void> {
  const [pattern = '', template = '', bytes = '', ...said] = partsOf(data);
  const steps = stepsOf(pattern.toString(), template.toString(), bytes.toString());
  if (steps === null) return;
  const port = await server.say(said.slice(0, mostParts));
  const gauges = new Gauges();
  const signal = AbortSignal.timeout(latestMs);
  const log = createProbeLog({ module: 'tcp' }, () => 0);
  const plain = connect(port, '127.0.0.1').on('error', () => undefined);
  try {
    await converse(plain, steps, {
      run: {
        target: `127.0.0.1:${port}`,
        hostname: null,
        signal,
        gauges,
        network: createNetwork({ useOsDnsResolver: true }),
        allowed: allowedTargets(['*']),
        now: Date.now,
        log: log.add,
      },
      secure: (socket: Socket) => secureConnection(socket, plainTls, { host: 'shop.test', signal }),
    });
  } catch (error) {
    refuseBugs(error);
    if (error instanceof Error && error.name === 'TimeoutError')
      throw new Error('the dialogue waits for what does not come', { cause: error });
  } finally {
    plain.destroy();
  }
  checkPage(gauges.text());
  log.page(gauges, 'prober: tcp');
}

/** The steps of a module; null = its texts are refused. */
function stepsOf(expect: string, send: string, expectBytes: string) {
  const labels = [{ name: 'found', value: send }];
  const queryResponse = [
    { expect, labels, send },
    ...(expectBytes === '' ? [] : [{ expect_bytes: expectBytes }]),
    ...(send.includes('STARTTLS') ? [{ starttls: true }, { expect: 'secret' }] : []),
  ];
  try {
    return tcpSettings(new ProbeFields('tcp', { query_response: queryResponse })).steps;
  } catch (error) {
    if (!(error instanceof ProbeConfigError)) throw error;
    return null;
  }
}

/** Each line of the page is a comment or a metric; a label's value must not end its line. */
function checkPage(page: string): void {
  for (const line of page.split('\n')) {
    if (line === '' || line.startsWith('# ')) continue;
    if (!/^probe_\w+(?:\{\w+="(?:[^"\\\n]|\\[\\"n])*"\})? \d+$/s.test(line))
      throw new Error(`the line ${line}`);
  }
}

export const close = (): void => server.close();

const joined = (...parts: string[]): string => parts.join('\0');

export const seeds = (): string[] => [
  joined(
    '^220 (?P<name>\\S+) (.+)$',
    'EHLO ${name}$2 $$',
    '250',
    '220 shop.test ESMTP\r\n',
    '250-shop.test\r\n250 OK\r\n',
  ),
  joined('.*', '$1${1}$name', '', 'one\ntwo\n'),
  joined('ready$', 'STARTTLS', '', '220 ready\r\n', '\x16\x03\x03\x02\x28'),
  joined('(a+)+$', 'x', '', `${'a'.repeat(40)}!\n`),
  joined('never', '', 'abc', 'line without an end'),
  joined('"\\\\', 'a"b\\c', '', '"\\\n'),
];

export const dictionary = [
  '\0',
  '\r\n',
  '\n',
  '(?P<a>',
  '${a}',
  '$1',
  '$$',
  '(?i)',
  '(x+x+)+y',
  '"',
  '\\',
  '\u{1f600}',
  'STARTTLS',
];
