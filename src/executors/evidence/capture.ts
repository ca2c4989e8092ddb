import { getSystemErrorName } from 'node:util';
import { toError } from '../../errors.ts';
import {
  loadNative,
  nativeProblem,
  rawSocketHelper,
  type Native,
  type NativeCapture,
} from '../../native/native.ts';
import { captureFilter, rejectAll, snapLength, type Endpoint } from './capture-filter.ts';
import { summaryOf, type CaptureSummary } from './capture-summary.ts';
import { keepPackets, readRecords, type AttemptTraffic } from './packets.ts';
import { pcapFile } from './pcap.ts';

/** A packet capture of one attempt. The kernel keeps the packets, so that the capture costs the attempt no time. */
export type Capture = {
  /** From now on, accepts only the packets from and to these endpoints. */
  watch: (endpoints: readonly Endpoint[]) => void;
  /**
   * Ends it at once: the attempt's packets, cut to their headers, as a pcap file; null if the kernel does not return
   * them. Never rejects.
   */
  take: (traffic: AttemptTraffic) => Promise<{ pcap: Buffer; summary: CaptureSummary } | null>;
  /** Ends it and discards the packets. Repeated calls are harmless. */
  discard: () => void;
};

const remedy = 'needs the capability NET_RAW (--cap-add NET_RAW, or capabilities.add: [NET_RAW])';

/** Starts to capture packets to and from the endpoints, or returns why this host cannot. Never rejects. */
export async function openCapture(
  endpoints: readonly Endpoint[],
): Promise<Capture | { unavailable: string }> {
  const native = loadNative();
  if (native === null) return { unavailable: nativeProblem() ?? 'the native addon is missing' };
  const opened = await inTurn(() =>
    native.openCapture(captureFilter(endpoints), rawSocketHelper() ?? ''),
  ).catch(toError);
  if (opened instanceof Error) return { unavailable: `a packet capture cannot be opened: ${opened.message}` };
  if (typeof opened === 'number') {
    const name = getSystemErrorName(opened);
    const why = name === 'EPERM' ? `${remedy}: ${name}` : `a packet capture cannot be opened: ${name}`;
    return { unavailable: why };
  }
  return captureOf(native, opened);
}

let last: Promise<unknown> = Promise.resolve();

/**
 * One after the other: each occupies a pool thread for tens of milliseconds that name lookups and the disk need too.
 */
function inTurn<T>(work: () => Promise<T>): Promise<T> {
  const done = last.then(work);
  last = done.catch(() => undefined);
  return done;
}

function captureOf(native: Native, opened: NativeCapture): Capture {
  let open = true;
  const end = async () => {
    if (!open) return null;
    open = false;
    native.filterCapture(opened, rejectAll);
    const taken = await inTurn(() => native.takeCapture(opened)).catch(() => null);
    return typeof taken === 'number' ? null : taken;
  };
  return {
    watch: (endpoints) => {
      if (open) native.filterCapture(opened, captureFilter(endpoints));
    },
    take: async (traffic) => {
      const taken = await end();
      if (taken === null) return null;
      const { packets: raw, lost } = readRecords(taken);
      const packets = keepPackets(raw, traffic);
      return { pcap: pcapFile(packets, snapLength), summary: summaryOf(packets, lost) };
    },
    discard: () => void end(),
  };
}
