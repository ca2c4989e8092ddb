import { ServiceError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { ResponseOf } from '../../protocol/routes.ts';
import { isRefusedContent, isRefusedOnTheWay, type ServiceClient } from '../link/client.ts';
import type { Hello } from '../link/session.ts';
import type { AgentMetrics } from '../metrics/counters.ts';
import { createBatchSize } from './batch-size.ts';
import type { Outbox } from './outbox.ts';
import type { Batch } from './segments.ts';
import { reducedForms } from './reduced.ts';

/**
 * A call that stays unanswered is made again while the leases of its runs last, or other agents repeat these runs. A run ends up
 * to one renewal after its lease was renewed.
 */
const leasePart = 2 / 3;
const leastAnswerMs = 5_000;
const longestAnswerMs = 60_000;
/** A slow line gets more time for a large request: 16 kB a second are enough. */
const leastBytesPerMs = 16;
/** A single result of this size that got no answer in its time gets the longest time afterwards: it cannot be sent in parts. */
const largeBytes = 16_384;
/** Other results that are tried before a refused one is set aside. */
const maxProbes = 3;

type Item = ResponseOf<'results'>['items'][number];

/**
 * Sends a batch; returns how many of its first results are done, and the error that stopped it, if any. A refused
 * request is halved until the one result is found that the service cannot read, or that something on the way does not let
 * through. It is sent without its details, then without its texts, so that it does not block the others and its run ends.
 * If that is refused too, another result shows whether anything passes; only then the refused one is set aside.
 */
export type ResultDelivery = (
  hello: Pick<Hello, 'agentId' | 'leaseSeconds'>,
  batch: Pick<Batch, 'payloads' | 'following'>,
) => Promise<{ count: number; error: unknown }>;

export function createResultDelivery(options: {
  outbox: Outbox;
  client: ServiceClient;
  log: Log;
  metrics: AgentMetrics;
  fault: (error: Error, message: string) => void;
  signal: AbortSignal;
  /** Called with each result that the service has processed; optional. */
  settled?: (payload: Buffer) => void;
}): ResultDelivery {
  const { outbox, client, log, metrics, signal } = options;
  let leaseSeconds = 30;
  let isLineSlow = false;

  /**
   * Sends one request. Resolves when the service has processed all results in it. It may reject a result because of one value, so
   * such a result is sent again without its details: nobody else reports its run.
   */
  const send = async (agentId: string, payloads: Buffer[]): Promise<void> => {
    const items = await request(agentId, payloads);
    const rejected = payloads.flatMap((payload, index) => {
      const item = items[index];
      return item?.outcome === 'rejected' ? [{ payload, item }] : [];
    });
    const stored = rejected.length === 0 ? new Set<Item>() : await sendRejected(agentId, rejected);
    for (const item of items) if (!stored.has(item)) account(item);
  };

  /** Returns which of them were stored in a reduced form. */
  const sendRejected = async (
    agentId: string,
    rejected: readonly { payload: Buffer; item: Item }[],
  ): Promise<Set<Item>> => {
    const stored = new Set<Item>();
    let left = rejected.map(({ payload, item }) => {
      const refusal = refusalOf(item);
      return { payload, item, refusal, forms: reducedForms(payload, refusal) };
    });
    while ((left = left.filter(({ forms }) => forms.length > 0)).length > 0) {
      const sent = left.map((each) => ({ ...each, form: each.forms.shift() ?? each.payload }));
      const answers = await request(
        agentId,
        sent.map(({ form }) => form),
      );
      for (const [index, { payload, item, refusal }] of sent.entries()) {
        const answer = answers[index];
        if (answer === undefined || answer.outcome === 'rejected') continue;
        stored.add(item);
        account(answer);
        await reduced(payload, refusal);
      }
      left = left.filter(({ item }) => !stored.has(item));
    }
    return stored;
  };

  const reduced = async (payload: Buffer, refusal: ServiceError): Promise<void> => {
    metrics.resultsReduced += 1;
    await outbox.quarantine(payload);
    options.fault(refusal, 'result refused and sent without its details');
  };

  const request = async (agentId: string, payloads: Buffer[]): Promise<Item[]> => {
    const sentAt = performance.now();
    const body = requestBody(agentId, payloads);
    const isPatient = isLineSlow && payloads.length === 1;
    const timeoutMs = isPatient ? longestAnswerMs : answerMs(leaseSeconds, body.length);
    const answer = await client.call('results', body, { timeoutMs, signal });
    metrics.histograms.result_upload_seconds.observe((performance.now() - sentAt) / 1000);
    if (answer === null || answer.items.length !== payloads.length) {
      const text = `results: ${payloads.length} sent, ${answer?.items.length ?? 0} answered`;
      throw new ServiceError('SERVICE_UNREACHABLE', text, { retryable: true });
    }
    return answer.items;
  };

  const account = (item: Item) => {
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
  const sendAlone = async (
    agentId: string,
    { payload, refusal, passes }: { payload: Buffer; refusal: ServiceError; passes: () => Promise<boolean> },
  ): Promise<unknown> => {
    let last = refusal;
    for (const form of reducedForms(payload, refusal)) {
      try {
        const [item] = await request(agentId, [form]);
        if (item?.outcome === 'rejected') {
          last = refusalOf(item);
          continue;
        }
        if (item !== undefined) account(item);
        await reduced(payload, refusal);
        return null;
      } catch (error) {
        if (!isRefused(error)) return error;
        last = error;
      }
    }
    // If something on the way refuses everything, that is no fault of the result.
    const byService = last.code === 'SERVICE_REFUSED';
    if (!byService && !(await passes())) return last;
    await outbox.quarantine(payload);
    metrics.resultsQuarantined += 1;
    options.fault(last, `result refused ${byService ? 'by' : 'on the way to'} the service and set aside`);
    return null;
  };

  const passes = async (agentId: string, payload: Buffer): Promise<boolean> => {
    try {
      await request(agentId, [payload]);
      return true;
    } catch (error) {
      // The service itself has read it.
      return isRefusedContent(error);
    }
  };

  const size = createBatchSize();
  return async (hello, { payloads, following }) => {
    const { agentId } = hello;
    ({ leaseSeconds } = hello);
    let count = 0;
    /** Whether a result that comes later gets through. It is sent again in its turn; the service stores it once. */
    const othersPass = async (): Promise<boolean> => {
      const others = payloads.slice(count + 1, count + 1 + maxProbes);
      for (const other of others) if (await passes(agentId, other)) return true;
      const later = others.length < maxProbes ? await following().catch(() => null) : null;
      return later !== null && passes(agentId, later);
    };
    while (count < payloads.length) {
      const batch = payloads.slice(count, count + size.next(payloads, count));
      const bytes = batch.reduce((sum, { length }) => sum + length + 1, 0);
      try {
        await send(agentId, batch);
        for (const payload of batch) options.settled?.(payload);
        count += batch.length;
        isLineSlow = false;
        size.succeeded();
      } catch (error) {
        if (!isRefused(error)) {
          if (error instanceof ServiceError && error.status === undefined) {
            isLineSlow = batch.length === 1 && bytes >= largeBytes;
            size.failed({ bytes });
          }
          return { count, error };
        }
        const [first] = batch;
        if (batch.length > 1 || first === undefined) {
          size.refused({ bytes, items: batch.length, isTooLarge: error.status === 413 });
          continue;
        }
        const later = await sendAlone(agentId, { payload: first, refusal: error, passes: othersPass });
        if (later !== null) return { count, error: later };
        options.settled?.(first);
        count += 1;
        size.succeeded();
      }
    }
    return { count, error: null };
  };
}

/** How long a request of this size may take. */
function answerMs(leaseSeconds: number, bytes: number): number {
  const ownMs = Math.max(leastAnswerMs, leaseSeconds * 1000 * leasePart);
  return Math.round(Math.min(longestAnswerMs, ownMs + bytes / leastBytesPerMs));
}

function isRefused(error: unknown): error is ServiceError {
  return isRefusedContent(error) || isRefusedOnTheWay(error);
}

function refusalOf({ reason = 'rejected' }: Item): ServiceError {
  return new ServiceError('SERVICE_REFUSED', reason, { retryable: false });
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
