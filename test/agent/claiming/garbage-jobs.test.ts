import { expect, test } from 'vitest';
import { startTestPoller } from './test-poller.ts';

/** A service that answers a claim with garbage: the agent takes no more of it than it asked for. */

async function claimed(answer: string): Promise<{ batches: unknown[][]; log: string; failed: number }> {
  let finish: () => void = () => undefined;
  const finished = new Promise<void>((resolve) => (finish = resolve));
  let claims = 0;
  const poller = await startTestPoller((request, response) => {
    request.resume();
    claims += 1;
    if (claims > 1) finish();
    response.setHeader('content-type', 'application/json');
    if (claims === 1) response.end(answer);
    else setTimeout(() => response.writeHead(204).end(), 1000).unref();
  });
  await finished;
  await poller.stop();
  return { batches: poller.batches, log: poller.log(), failed: poller.metrics.claimsFailed };
}

test('a million jobs in answer to a claim of four', async () => {
  const { batches, log } = await claimed(`{"jobs":[${'1,'.repeat(999_999)}1]}`);
  expect(batches).toEqual([[1, 1, 1, 1]]);
  expect(log).toContain('more jobs than requested');
});

test('an answer that is nested too deeply does not come from the service', async () => {
  const depth = 100_000;
  const { batches, failed, log } = await claimed(`{"jobs":[${'['.repeat(depth)}${']'.repeat(depth)}]}`);
  expect([batches, failed]).toEqual([[], 1]);
  expect(log).toContain('does not come from the service');
});
