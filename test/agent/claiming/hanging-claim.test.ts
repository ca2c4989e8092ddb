import type http from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { startTestPoller } from './test-poller.ts';

/** How long an agent waits for the answer to a claim that hangs on its way. */

type Claim = { at: number; waitSeconds: number };
type Answer = (response: http.ServerResponse) => void;

/** Polls a service that gives the claims these answers in turn. Resolves with the claims, once there is one more. */
async function claimsOf(...answers: Answer[]): Promise<Claim[]> {
  const claims: Claim[] = [];
  let finish: () => void = () => undefined;
  const finished = new Promise<void>((resolve) => (finish = resolve));
  const poller = await startTestPoller((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      const { waitSeconds } = JSON.parse(body) as { waitSeconds: number }; // as the agent sends it
      claims.push({ at: performance.now(), waitSeconds });
      response.setHeader('content-type', 'application/json');
      const answer = answers[claims.length - 1];
      if (answer === undefined) finish();
      else answer(response);
    });
  });
  onTestFinished(poller.stop);
  await finished;
  return claims;
}

const job: Answer = (response) => response.end('{"jobs":[{}]}');
const hang: Answer = () => undefined;
const nothing: Answer = (response) => void setTimeout(() => response.writeHead(204).end(), 600);

test('a claim waits long while nothing arrives, and shortly while jobs arrive', async () => {
  const claims = await claimsOf(nothing, job, job, nothing);
  expect(claims.map(({ waitSeconds }) => waitSeconds)).toEqual([25, 25, 5, 5, 25]);
});

test('while jobs arrive, a claim that hangs is given up after 20 s', { timeout: 60_000 }, async () => {
  const [, second, third] = await claimsOf(job, hang);
  const waited = (third?.at ?? NaN) - (second?.at ?? NaN);
  expect(waited).toBeGreaterThan(19_000);
  expect(waited).toBeLessThan(30_000);
});
