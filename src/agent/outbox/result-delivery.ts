import { ServiceError, toError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { ResponseOf } from '../../protocol/routes.ts';
import { isRefusedContent, type ServiceClient } from '../link/client.ts';
import type { AgentMetrics } from '../metrics/counters.ts';
import type { Outbox } from './outbox.ts';

const callTimeoutMs = 60_000;

/**
 * Sends a batch; returns how many of its first results are done, and the error that stopped it, if any. A refused
 * request is halved until the one result that the service cannot read is found and set aside, so that it does not
 * block the others.
 */
export type ResultDelivery = (
  agentId: string,
  payloads: Buffer[],
) => Promise<{ count: number; error: unknown }>;

export function createResultDelivery(options: {
  outbox: Outbox;
  client: ServiceClient;
  log: Log;
  metrics: AgentMetrics;
  fault: (error: Error, message: string) => void;
  signal: AbortSignal;
}): ResultDelivery {
  const { outbox, client, log, metrics, signal } = options;

  /** Sends one request. Resolves when the service has processed all results in it. */
  const send = async (agentId: string, payloads: Buffer[]): Promise<void> => {
    const sentAt = performance.now();
    const answer = await client.call('results', requestBody(agentId, payloads), {
      timeoutMs: callTimeoutMs,
      signal: signal,
    });
    metrics.histograms.result_upload_seconds.observe((performance.now() - sentAt) / 1000);
    if (answer === null || answer.items.length !== payloads.length) {
      const text = `results: ${payloads.length} sent, ${answer?.items.length ?? 0} answered`;
      throw new ServiceError('SERVICE_UNREACHABLE', text, { retryable: true });
    }
    for (const item of answer.items) account(item);
  };

  const account = (item: ResponseOf<'results'>['items'][number]) => {
    if (item.outcome === 'rejected') {
      metrics.resultsRejected += 1;
      log.error(
        { jobId: item.jobId, attempt: item.attempt, reason: item.reason },
        'result rejected by the service',
      );
    } else {
      metrics.resultsSent += 1;
    }
  };

  return async (agentId, payloads) => {
    let count = 0;
    let size = payloads.length;
    while (count < payloads.length) {
      try {
        await send(agentId, payloads.slice(count, count + size));
        count += size;
        size = Math.min(size * 2, payloads.length - count);
      } catch (error) {
        if (!isRefusedContent(error)) return { count, error };
        if (size > 1) {
          size = Math.ceil(size / 2);
          continue;
        }
        const unreadable = payloads[count];
        if (unreadable !== undefined) await outbox.quarantine(unreadable);
        metrics.resultsQuarantined += 1;
        options.fault(toError(error), 'result refused by the service and set aside');
        count += 1;
        size = payloads.length - count;
      }
    }
    return { count, error: null };
  };
}

/** The request around already serialised results. */
function requestBody(agentId: string, payloads: Buffer[]): Buffer {
  const parts: Buffer[] = [Buffer.from(`{"agentId":${JSON.stringify(agentId)},"results":[`)];
  const comma = Buffer.from(',');
  for (const [index, payload] of payloads.entries()) {
    if (index > 0) parts.push(comma);
    parts.push(payload);
  }
  parts.push(Buffer.from(']}'));
  return Buffer.concat(parts);
}
