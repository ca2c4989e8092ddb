import type { TraceAnswer } from '../evidence/trace-answers.ts';
import type { IpFamily, Network } from '../interface/network.ts';
import { EchoError, type EchoReply } from '../interface/ping-socket.ts';
import { ProbeRefused, type Prober } from './round.ts';

/** As many bytes as ping(8) sends. */
const payloadBytes = 56;

/** Echo requests in flight: a router recognises its own by their number. */
const echoesAtOnce = 6;

/** A prober that sends echo requests through the ping socket of all checks: for hosts where only the helper may open one. */
export async function echoProber(
  { address, family }: { address: string; family: IpFamily },
  network: Pick<Network, 'icmp'>,
): Promise<Prober> {
  const socket = await network.icmp(family);
  return {
    way: socket.way,
    round: async ({ from, to, waitMs, maxSilent }, signal, onHop) => {
      let silent = 0;
      for (let first = from; first <= to; first += echoesAtOnce) {
        const hops = { from: first, to: Math.min(to, first + echoesAtOnce - 1) };
        const options = { payloadBytes, timeoutMs: waitMs, signal };
        const replies = await socket.echoHops(address, hops, options).catch((error: unknown) => {
          throw error instanceof EchoError ? new ProbeRefused(error.code) : error;
        });
        for (const [index, reply] of replies.entries()) {
          const answer = reply === null ? null : answerOf(reply, address);
          onHop(first + index, answer);
          silent = answer === null ? silent + 1 : 0;
          if (maxSilent > 0 && silent >= maxSilent) return;
          if (answer !== null && !isTooFar(family, answer)) return;
        }
      }
    },
    // The socket belongs to all checks of the agent.
    close: () => undefined,
  };
}

function answerOf({ rttMs, error, type, code }: EchoReply, address: string): TraceAnswer {
  return error === null
    ? { icmp: null, from: address, rttMs }
    : { icmp: { type, code }, from: error.from ?? '', rttMs };
}

/** Whether a router dropped the probe because of its number of hops. */
const isTooFar = (family: IpFamily, { icmp }: TraceAnswer): boolean => icmp?.type === (family === 4 ? 11 : 3);
