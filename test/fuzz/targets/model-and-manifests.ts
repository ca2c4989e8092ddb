import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { chat, ChatError } from '../../../src/service/analyses/chat.ts';
import { canonicalManifest } from '../../../src/script/suite/install/dependency-key.ts';
import { causeOf, networkTrouble, stillTrying } from '../../../src/script/suite/install/output.ts';

/** Answers of a model's endpoint, the manifests of a suite and the output of its package manager. */

export const name = 'model-and-manifests';

let server: Server | null = null;
let answer: Buffer = Buffer.alloc(0);

async function started(): Promise<number> {
  if (server === null) {
    server = createServer((request, response) => {
      request.resume();
      response.statusCode = (answer[0] ?? 0) === 255 ? 500 : 200;
      response.end(answer);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    server.unref();
  }
  return (server.address() as AddressInfo).port; // it listens on TCP
}

/** Throws if an answer is neither read nor refused. */
export async function run(data: Buffer): Promise<void> {
  canonicalManifest(data);
  const lines = data.toString().split('\n');
  for (const manager of ['npm', 'pnpm', 'yarn', 'bun'] as const) {
    networkTrouble(manager, lines);
    causeOf(manager, lines);
  }
  stillTrying(lines);
  const port = await started();
  answer = data;
  const endpoint = { url: `http://127.0.0.1:${port}`, model: 'm', key: null };
  try {
    const options = { messages: [], maxTokens: 1, timeoutMs: 60_000, signal: new AbortController().signal };
    await chat(endpoint as never, options); // further fields are not read here
  } catch (error) {
    if (!(error instanceof ChatError)) throw error;
  }
}

export const close = (): void => {
  server?.closeAllConnections();
  server?.close();
};

export const seeds = (): string[] => [
  '{"choices":[{"message":{"content":"a","tool_calls":[{"id":"1","function":{"name":"x","arguments":"{}"}}]}}],"usage":{"total_tokens":7}}',
  '{"name":"a","version":"1","dependencies":{"b":"^1","10":"<2 & >1"}}',
  'npm error code ENOTFOUND\nnpm error network request to https://registry.test/a failed, reason: getaddrinfo\n',
  'WARN GET https://registry.test/a error (ECONNRESET). Will retry in 10 seconds. 2 retries left.\nERR_PNPM_FETCH_404\n',
  '➤ YN0001: RequestError: connect ECONNREFUSED\nerror: ConnectionRefused downloading package manifest a\n',
];

export const dictionary = [
  '{"',
  '":',
  '[',
  ']',
  '{',
  '}',
  ',',
  'npm error ',
  'ERR_PNPM_',
  'YN00',
  'error ',
  '\u001b[31m',
  '\n',
];
