import { getSystemErrorName } from 'node:util';
import { toError } from '../../errors.ts';
import {
  loadNative,
  nativeProblem,
  rawSocketHelper,
  type Native,
  type NativeCapture,
} from '../../native/native.ts';
import { captureFilter, nothing, snapLength, type Endpoint } from './capture-filter.ts';
import { summaryOf, type CaptureSummary } from './capture-summary.ts';
import { keepPackets, readRecords, type AttemptTraffic } from './packets.ts';
import { pcapFile } from './pcap.ts';

/** Packets of one attempt while it runs: kept by the kernel, so that they cost the attempt no time. */
export type Capture = {
  /** Lets the packets from and to these pass, and no others, from now on. */
  watch: (endpoints: readonly Endpoint[]) => void;
  /**
   * Ends it at once: the attempt's packets, cut to their headers, as a pcap file; null when the kernel does not hand them out.
   * Never rejects.
   */
  take: (traffic: AttemptTraffic) => Promise<{ pcap: Buffer; summary: CaptureSummary } | null>;
  /** Ends it without a look at what came. More than once is fine. */
  drop: () => void;
};

const remedy = 'needs the capability NET_RAW (--cap-add NET_RAW, or capabilities.add: [NET_RAW])';

/** Begins to capture what goes to the endpoints and comes from them, or says why this host can't. Never rejects. */
export async function openCapture(
  endpoints: readonly Endpoint[],
): Promise<Capture | { unavailable: string }> {
  const native = loadNative();
  if (native === null) return { unavailable: nativeProblem() ?? 'there is no native addon' };
  const opened = await inTurn(() =>
    native.openCapture(captureFilter(endpoints), rawSocketHelper() ?? ''),
  ).catch(toError);
  if (opened instanceof Error) return { unavailable: `this host opens no capture: ${opened.message}` };
  if (typeof opened === 'number') {
    const name = getSystemErrorName(opened);
    const why = name === 'EPERM' ? `${remedy}: ${name}` : `this host opens no capture: ${name}`;
    return { unavailable: why };
  }
  return captureOf(native, opened);
}

let last: Promise<unknown> = Promise.resolve();

/** One after the other: each keeps a thread for tens of milliseconds that look-ups of names and the disk need, too. */
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
    native.filterCapture(opened, nothing);
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
    drop: () => void end(),
  };
}
