import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Result } from '../../src/protocol/result.ts';
import { lightJob } from '../helpers/light-job.ts';
import { naughtyStrings } from '../helpers/naughty-strings.ts';
import { runtimesFolder, runtimesHere } from '../helpers/scripts/runtimes.ts';
import { readableIn } from '../secrets/leak-oracle.ts';
import { daemonTests } from './daemon.ts';
import type { PeerJob } from './link/protocol-peer.ts';

/**
 * Texts that break programs, on their way through a whole agent: in each text field of a job, in what targets answer, in what
 * scripts print, and as secrets. Each job ends with one final result, which the strict peer finds well formed, and no secret
 * can be read out of a result, an event or a line of the log. NAUGHTY_STRINGS=all tries all texts.
 */

// oxlint-disable-next-line eslint/no-restricted-properties -- a setting of this test
const isComplete = process.env['NAUGHTY_STRINGS'] === 'all';

const own = [
  'a\u0000b and a zero byte',
  'half \ud800 of a pair',
  `combining ${'e\u0301\u0302\u0303\u0304'.repeat(200)}`,
  '\u202eright\u2066 to left\u2069\u202c',
  '\u0001\u001b[31mred\u001b[0m\u0085\u2028\u2029\r\n{"kind":"done","id":1}\n',
  '"}\n{"kind":"secret","name":"A","value":"b"}\n',
];
const every = 16;
const texts = [
  ...own,
  ...(isComplete ? naughtyStrings : naughtyStrings.filter((_, index) => index % every === 3)),
];

const daemon = daemonTests();
const { finals, lines, startAgent, startPeer, status, until } = daemon;

/** Answers with what it was asked, as it is and in the forms that servers write. */
let echo: Server;
let url = '';
const wellFormed = (text: string) => text.replace(/\p{Surrogate}/gu, '\ufffd');
const formsOf = (text: string): string[] => [
  text,
  JSON.stringify(text),
  encodeURIComponent(wellFormed(text)),
  Buffer.from(text).toString('base64'),
  Buffer.from(text).toString('hex'),
  text.replace(/[^a-z0-9]/gi, (letter) => `&#${letter.codePointAt(0)};`),
  text.replace(/[^a-z0-9]/gi, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`),
];
beforeAll(async () => {
  echo = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('error', () => response.destroy());
    request.on('end', () => {
      const body = Buffer.concat(parts).toString('utf8');
      const answer = JSON.stringify({ url: request.url, headers: request.headers, forms: formsOf(body) });
      response.writeHead(200, {
        'content-type': 'application/json',
        'x-echo': encodeURIComponent(body).slice(0, 3_000),
      });
      response.end(`${answer}\n${formsOf(body).join('\n')}`);
    });
  });
  await new Promise<void>((resolve) => echo.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(echo.address() as AddressInfo).port}`; // it listens on TCP
});
afterAll(async () => {
  await new Promise((resolve) => {
    echo.close(resolve);
    echo.closeAllConnections();
  });
});

const pair = (key: string, value: string) => ({ key, value, locked: false });
const variable = (key: string, value: string, secret: boolean) => ({ key, value, locked: false, secret });
const assertion = (source: string, fields: object) => ({
  source,
  property: '',
  comparison: 'EQUALS',
  target: '',
  regex: '',
  ...fields,
});
const deadline = () => new Date(Date.now() + 60_000).toISOString();

/** A job for each text field that an agent reads, by the name of the field. */
function jobsOf(text: string): [field: string, job: PeerJob][] {
  const more = { deadline: deadline() };
  const api = (request: object, fields: object = {}) =>
    lightJob('API', { url: `${url}/`, ...request }, { ...more, ...fields });
  const body = (bodyType: string) => api({ method: 'POST', bodyType, body: text });
  return [
    ['checkName', api({}, { checkName: text })],
    ['url', lightJob('URL', { url: text }, more)],
    ['path', lightJob('URL', { url: `${url}/${text}` }, more)],
    ['headers.key', api({ headers: [pair(text, 'a')] })],
    ['headers.value', api({ headers: [pair('x-text', text)] })],
    ['queryParameters', api({ queryParameters: [pair(text, text)] })],
    ...['RAW', 'JSON', 'FORM', 'GRAPHQL'].map((type): [string, PeerJob] => [`body ${type}`, body(type)]),
    ['basicAuth', api({ basicAuth: { username: text, password: text } })],
    [
      'assertions',
      api({
        assertions: [
          assertion('TEXT_BODY', { target: text, comparison: 'CONTAINS' }),
          assertion('TEXT_BODY', { target: 'a', regex: text }),
          assertion('JSON_BODY', { property: text, target: text }),
          assertion('HEADERS', { property: text, target: text }),
        ],
      }),
    ],
    [
      'variables',
      api(
        { method: 'POST', bodyType: 'RAW', body: '{{{TEXT}}} {{TEXT}}' },
        { environmentVariables: [variable('TEXT', text, false), variable(text, 'a', false)] },
      ),
    ],
    ['template', api({ headers: [pair('x-text', `{{${text}}}`)] })],
    ['proxyUrl', api({}, { proxyUrl: text })],
    [
      'tcp.data',
      lightJob('TCP', { hostname: '127.0.0.1', port: Number(new URL(url).port), data: text }, more),
    ],
    ['dns.query', lightJob('DNS', { query: text, nameServer: '127.0.0.1', port: 9 }, more)],
    [
      'grpc',
      lightJob(
        'GRPC',
        {
          url: '127.0.0.1',
          port: Number(new URL(url).port),
          timeout: 2,
          grpcConfig: {
            mode: 'BEHAVIOR',
            tls: false,
            method: text,
            message: text,
            metadata: [{ key: text === '' ? 'a' : text.slice(0, 256), value: text }],
            serviceDefinition: 'PROTO_FILE',
            protoContent: text,
          },
        },
        more,
      ),
    ],
  ];
}

/** Results that are the agent's own fault: only its delay, on a busy machine. A job that is not valid says so. */
const isWrong = ({ status: verdict, reason }: Result): boolean =>
  verdict === 'errored' && !/^(AGENT_OVERLOADED|INVALID_JOB)$/.test(reason?.code ?? '');

test('texts in each field of a job end as one result each', { timeout: 7_200_000 }, async () => {
  const peer = await startPeer();
  await startAgent();
  const names = new Map<string, string>();
  for (const text of texts) {
    for (const [field, job] of jobsOf(text))
      names.set(peer.add(job).jobId, `${field}: ${JSON.stringify(text).slice(0, 80)}`);
    const isOver = () => finals().length === names.size;
    await until(isOver, 'all results', 100_000).catch((error: unknown) => {
      const ended = new Set(finals().map(({ jobId }) => jobId));
      const open = [...names].flatMap(([jobId, name]) => (ended.has(jobId) ? [] : [name]));
      throw new Error(`no result of ${open.join('; ')}`, { cause: error });
    });
  }
  const shown = ({ jobId, reason }: Result) => `${names.get(jobId)}: ${reason?.code} ${reason?.message}`;
  expect(finals().filter(isWrong).map(shown)).toEqual([]);
  expect(new Set(finals().map(({ jobId }) => jobId)).size).toBe(names.size);
  expect(finals().filter(({ status: verdict }) => verdict === 'passed').length).toBeGreaterThan(texts.length);
  for (const line of lines) expect(() => void JSON.parse(line), line).not.toThrow();
  expect(await status('/-/liveness')).toBe(200);
});

/** Shorter secrets are masked as whole values only. */
const shortestSecret = 8;

const phase = (content: string) => [{ origin: 'check', content }];

test('texts as secrets are masked in every form', { timeout: 7_200_000 }, async () => {
  const [runtime] = runtimesHere;
  const peer = await startPeer();
  await startAgent({}, runtime === undefined ? {} : { runtimesFolder });
  const jobWith = (value: string) =>
    lightJob(
      'API',
      {
        url: `${url}/{{SECRET}}`,
        method: 'POST',
        bodyType: 'RAW',
        body: '{{{SECRET}}}',
        queryParameters: [pair('q', '{{SECRET}}')],
        assertions: [
          assertion('TEXT_BODY', { target: 'not there', comparison: 'EQUALS' }),
          assertion('HEADERS', { property: 'x-echo', target: '{{SECRET}}' }),
          assertion('JSON_BODY', { property: '$.{{SECRET}}', target: '{{SECRET}}' }),
        ],
      },
      {
        deadline: deadline(),
        environmentVariables: [variable('SECRET', value, true)],
        ...(runtime === undefined
          ? {}
          : {
              scripts: {
                runtimeId: runtime.name,
                setup: phase(
                  `const value = process.env.SECRET;
                   console.log(value, [value], JSON.stringify(value), Buffer.from(value));
                   process.stdout.write(value + '\\n');
                   console.error(new Error(value));`,
                ),
                teardown: phase('throw new Error(process.env.SECRET);'),
                files: [],
              },
            }),
      },
    );
  // What is there anyway, for texts like "undefined".
  const plain = peer.add(jobWith('a value like no other'));
  await until(() => finals().length === 1, 'the first result', 100_000);
  const usual = Buffer.from(JSON.stringify(finals()[0]));
  expect(finals()[0]?.jobId).toBe(plain.jobId);
  const secrets = texts.filter(
    // As bytes: Node 24 ends if it searches a buffer for a text with half of a surrogate pair.
    (text) => Buffer.byteLength(text.trim()) >= shortestSecret && !usual.includes(Buffer.from(text.trim())),
  );
  expect(secrets.length).toBeGreaterThan(10);
  const leaks: string[] = [];
  for (const [index, secret] of secrets.entries()) {
    const before = { lines: lines.length, events: peer.events.length };
    const { jobId } = peer.add(jobWith(secret));
    await until(() => finals().length === index + 2, `the result of ${JSON.stringify(secret)}`, 100_000);
    const result = finals().find((each) => each.jobId === jobId);
    const output = JSON.stringify([result, peer.events.slice(before.events), lines.slice(before.lines)]);
    if (readableIn(Buffer.from(output), [secret], 1).length > 0)
      leaks.push(`${JSON.stringify(secret).slice(0, 100)}: ${output.slice(output.indexOf('"details"'))}`);
  }
  expect(leaks).toEqual([]);
  for (const line of lines) expect(() => void JSON.parse(line), line).not.toThrow();
  expect(finals().filter(isWrong)).toEqual([]);
  expect(await status('/-/liveness')).toBe(200);
});
