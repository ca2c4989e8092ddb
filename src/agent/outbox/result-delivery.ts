import { ServiceError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { ResponseOf } from '../../protocol/routes.ts';
import { isRefusedContent, isRefusedOnTheWay, type ServiceClient } from '../link/client.ts';
import type { AgentMetrics } from '../metrics/counters.ts';
import { createBatchSize } from './batch-size.ts';
import type { Outbox } from './outbox.ts';
import { reducedForms } from './reduced.ts';

const callTimeoutMs = 60_000;

/**
 * Sends a batch; returns how many of its first results are done, and the error that stopped it, if any. A refused
 * request is halved until the one result is found that the service cannot read, or that a proxy does not let through. It is
 * sent without its details, so that it does not block the others and its run ends.
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

  /**
   * A result that is refused although it is alone: sends it without its details, so that its run ends, and keeps the
   * complete one for a person. Returns the error if it has to be sent again later.
   */
  const sendAlone = async (agentId: string, payload: Buffer, refusal: ServiceError): Promise<unknown> => {
    let last = refusal;
    for (const form of reducedForms(payload, refusal.message)) {
      try {
        await send(agentId, [form]);
        metrics.resultsReduced += 1;
        await outbox.quarantine(payload);
        options.fault(refusal, 'result refused and sent without its details');
        return null;
      } catch (error) {
        if (!isRefused(error)) return error;
        last = error;
      }
    }
    // Something on the way refuses everything: that is no fault of the result.
    if (last.code !== 'SERVICE_REFUSED') return last;
    await outbox.quarantine(payload);
    metrics.resultsQuarantined += 1;
    options.fault(last, 'result refused by the service and set aside');
    return null;
  };

  const size = createBatchSize();
  return async (agentId, payloads) => {
    let count = 0;
    while (count < payloads.length) {
      const batch = payloads.slice(count, count + size.next(payloads, count));
      const bytes = batch.reduce((sum, { length }) => sum + length + 1, 0);
      try {
        await send(agentId, batch);
        count += batch.length;
        size.succeeded();
      } catch (error) {
        if (!isRefused(error)) {
          if (error instanceof ServiceError && error.status === undefined) size.failed({ bytes });
          return { count, error };
        }
        const [first] = batch;
        if (batch.length > 1 || first === undefined) {
          size.refused({ bytes, items: batch.length, isTooLarge: error.status === 413 });
          continue;
        }
        const later = await sendAlone(agentId, first, error);
        if (later !== null) return { count, error: later };
        count += 1;
        size.succeeded();
      }
    }
    return { count, error: null };
  };
}

function isRefused(error: unknown): error is ServiceError {
  return isRefusedContent(error) || isRefusedOnTheWay(error);
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
