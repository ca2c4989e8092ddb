import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ModelEndpoint } from '../../../src/config/analysis.ts';
import { Secret } from '../../../src/secrets/secret.ts';

/** A peer that speaks the chat completions protocol: it says what the test has it say, and keeps what it was asked. */
export type TestModel = {
  endpoint: ModelEndpoint;
  /** Bodies, oldest first. */
  asked: {
    body: { messages: { role: string; content: string }[]; [field: string]: unknown };
    key: string | undefined;
  }[];
  /**
   * Answers to come, oldest first: a text, calls of tools, a status alone, the whole body, tokens that are said to be used, or
   * none at all.
   */
  answers: (
    | string
    | { name: string; arguments: object }[]
    | number
    | { raw: string; status?: number }
    | { content: string; tokens: number }
    | { silence: true }
  )[];
  close: () => Promise<void>;
};

export async function startModel(): Promise<TestModel> {
  const asked: TestModel['asked'] = [];
  const answers: TestModel['answers'] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString()) as TestModel['asked'][number]['body']; // what chat() sends
      asked.push({ body, key: request.headers.authorization });
      const answer = answers.shift() ?? 500;
      if (typeof answer === 'object' && 'silence' in answer) return undefined;
      if (typeof answer === 'number') return response.writeHead(answer).end('no');
      response.setHeader('content-type', 'application/json');
      if (typeof answer === 'object' && 'raw' in answer) {
        return response.writeHead(answer.status ?? 200).end(answer.raw);
      }
      if (typeof answer === 'object' && 'tokens' in answer) {
        const { content, tokens: total } = answer;
        return response.end(
          JSON.stringify({ choices: [{ message: { content } }], usage: { total_tokens: total } }),
        );
      }
      const message =
        typeof answer === 'string'
          ? { role: 'assistant', content: answer }
          : {
              role: 'assistant',
              content: null,
              tool_calls: answer.map((call, index) => ({
                id: `call-${asked.length}-${index}`,
                type: 'function',
                function: { name: call.name, arguments: JSON.stringify(call.arguments) },
              })),
            };
      return response.end(JSON.stringify({ choices: [{ message }], usage: { total_tokens: 100 } }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // it listens on TCP
  return {
    endpoint: { url: `http://127.0.0.1:${port}/v1`, key: new Secret('model-key-1234'), model: 'test-model' },
    asked,
    answers,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
