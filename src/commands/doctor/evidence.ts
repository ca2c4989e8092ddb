import { openCapture } from '../../executors/evidence/capture.ts';
import { traceroute, type TraceTarget } from '../../executors/evidence/traceroute.ts';
import { note, ok, problem, type Finding, type Probe } from './finding.ts';

type Verdict = Omit<Finding, 'name'>;

/** The evidence that an agent can collect on network failures, tried on this machine itself. */
export const evidenceProbes: readonly Probe[] = [
  { name: 'traceroute', run: traces },
  { name: 'packet capture', run: captures },
];

// Nothing listens on port 1 (tcpmux). A refusal counts as an answer.
const itself: TraceTarget = { address: '127.0.0.1', family: 4, port: 1, way: 'tcp' };
const times = { roundMs: 500, spacingMs: 5, lastProbeMs: 500 };

async function traces(signal: AbortSignal): Promise<Verdict> {
  const found = await traceroute(itself, { signal, now: Date.now, times });
  if ('unavailable' in found) {
    return note(found.unavailable, 'network failures are reported without a traceroute');
  }
  if (!found.reached) {
    return problem(
      'probes to 127.0.0.1 are not answered',
      'check whether a firewall drops connections to this machine itself',
    );
  }
  if (found.way !== 'tcp') {
    return note('by UDP only', 'traceroute checks by TCP need Linux 5.8; those by UDP and ICMP run');
  }
  return ok('without privileges, by TCP and UDP');
}

/** Captures the packets that a trace sends. */
async function captures(signal: AbortSignal): Promise<Verdict> {
  const { address, port } = itself;
  const capture = await openCapture([{ address, port }]);
  if ('unavailable' in capture) {
    return note(capture.unavailable, 'network failures are reported without a packet capture');
  }
  try {
    await traceroute(itself, { signal, now: Date.now, times });
    const taken = await capture.take({ targets: [{ address, port }], nameServers: [], hostnames: [] });
    if (taken === null || taken.summary.packets === 0) {
      return note('the system allows it, but no packet came', 'a sandbox may hide packets from this process');
    }
    return ok('packet sockets (NET_RAW)');
  } finally {
    capture.discard();
  }
}
