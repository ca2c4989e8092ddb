import { getSystemErrorName } from 'node:util';
import { replyFields, replyNumbers, type Native } from '../../native/native.ts';
import type { IpFamily } from '../interface/network.ts';
import { createPingSocket, type EchoEvents, type EchoPort } from './ping-socket-requests.ts';
import type { PingSocket, PingSocketOptions } from '../interface/ping-socket.ts';

/** `helper`: the program that opens a raw socket. */
type Opening = PingSocketOptions & { helper?: string | null };

/** A PingSocket over the addon, or the errno name if opening failed. */
export function openNativePingSocket(
  native: Native,
  family: IpFamily,
  way: PingSocket['way'],
  opening: Opening = {},
): PingSocket | string {
  let refused: string | undefined;
  const socket = createPingSocket(way, (events) => {
    const opened = openPort(native, family, { ...opening, raw: way === 'raw' }, events);
    if (typeof opened !== 'string') return opened;
    refused = opened;
    return { send: () => opened, forget: () => undefined, close: () => undefined };
  });
  return refused ?? socket;
}

function openPort(
  native: Native,
  family: IpFamily,
  { raw, helper, source, whole }: Opening & { raw: boolean },
  events: EchoEvents,
): EchoPort | string {
  const replies = new Float64Array(replyNumbers);
  const numberAt = (index: number): number => replies[index] ?? 0;
  const port = native.openEcho(
    family,
    raw,
    replies,
    (count) => {
      for (let at = 0; at < count * replyFields; at += replyFields) {
        const ttl = numberAt(at + 2);
        events.answered(numberAt(at), {
          rttMs: numberAt(at + 1),
          size: numberAt(at + 3),
          ttl: ttl < 0 ? null : ttl,
          type: numberAt(at + 4),
          code: numberAt(at + 5),
          error: null,
        });
      }
    },
    (count, senders) => {
      for (const [index, from] of senders.split(' ', count).entries()) {
        const at = index * replyFields;
        events.answered(numberAt(at), {
          rttMs: numberAt(at + 1),
          size: 0,
          ttl: null,
          type: numberAt(at + 4),
          code: numberAt(at + 5),
          error: { code: errnoName(numberAt(at + 2)), from: from === '' ? null : from },
        });
      }
    },
    helper ?? '',
    source ?? '',
    whole ?? false,
  );
  if (typeof port === 'number') return errnoName(-port);
  return {
    send: (sequence, address, payloadBytes, ttl) => {
      const result = native.sendEcho(port, sequence, address, payloadBytes, ttl ?? 0);
      return result === 0 ? null : errnoName(-result);
    },
    readErrors: () => native.readErrors(port),
    forget: (sequence) => native.forgetEcho(port, sequence),
    close: () => native.closeEcho(port),
  };
}

function errnoName(errno: number): string {
  return getSystemErrorName(-errno);
}
