import { createServer, connect as connectTcp, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { listening } from '../../helpers/network/http.ts';
import { show, startSslLab, verdictOf, type SslLab } from '../../helpers/network/ssl-lab.ts';

/** Servers that stop, drip, or send without end at any place of a handshake. Results are clear, and memory is bounded. */

let lab: SslLab;
/** What a real server sends in its part of a handshake of TLS 1.2, up to ServerHelloDone. */
let flight: Buffer;
beforeAll(async () => {
  lab = await startSslLab();
  flight = await recordedFlight();
});
afterAll(() => lab.close());

/** Records the first flight of a real server: a proxy in front of it keeps what it sends. */
async function recordedFlight(): Promise<Buffer> {
  const real = createTlsServer({ ...show(await lab.leaf(), lab.middle), maxVersion: 'TLSv1.2' });
  real.on('tlsClientError', () => undefined);
  const realPort = lab.keep(await listening(real));
  const parts: Buffer[] = [];
  let isFirst = true;
  const proxy = createServer((socket) => {
    const upstream = connectTcp(realPort, '127.0.0.1');
    socket.on('error', () => undefined).pipe(upstream);
    upstream.on('error', () => undefined);
    upstream.on('data', (part: Buffer) => {
      if (isFirst) parts.push(part);
      isFirst = false;
      socket.write(part);
    });
    upstream.on('close', () => socket.destroy());
  });
  await lab.check(lab.keep(await listening(proxy)));
  return Buffer.concat(parts);
}

/** A server that answers every connection's first bytes with `answer`. */
async function answering(answer: (socket: Socket, connection: number) => void): Promise<number> {
  let connections = 0;
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    const connection = (connections += 1);
    socket.once('data', () => answer(socket, connection));
  });
  return lab.keep(await listening(server));
}

/** Writes the same bytes again until the peer closes. Its result counts them. */
function endless(piece: Buffer): { answer: (socket: Socket) => void; sent: () => number } {
  let sent = 0;
  return {
    sent: () => sent,
    answer: (socket) => {
      const more = () => {
        while (!socket.destroyed && sent < 300 * 1024 * 1024) {
          sent += piece.length;
          if (!socket.write(piece)) {
            socket.once('drain', more);
            return;
          }
        }
        socket.destroy();
      };
      more();
    },
  };
}

/** How much more memory the process has at the end than at the beginning, in MB. */
async function growthOf(work: () => Promise<void>): Promise<number> {
  const before = process.memoryUsage.rss();
  await work();
  return (process.memoryUsage.rss() - before) / 1024 / 1024;
}

describe('a handshake that stops after byte n', () => {
  test('closed: each is a failure of the handshake', async () => {
    let at = 0;
    const port = await answering((socket) => socket.end(flight.subarray(0, at)));
    for (at = 0; at < flight.length; at += at < 120 ? 1 : 17) {
      const outcome = await lab.check(port);
      expect(verdictOf(outcome), `after ${at} bytes`).toMatch(
        /^failed (ECONNRESET|CONNECTION_CLOSED|TLS_ERROR) handshake$/,
      );
    }
  });

  test('silent: each runs into the time limit', async () => {
    const places = [0, 1, 4, 5, 6, 9, 43, 60, 80, 100, 101, 500];
    const outcomes = places.map(async (at) => {
      const port = await answering((socket) => socket.write(flight.subarray(0, at)));
      return verdictOf(await lab.check(port, { handshakeTimeoutMs: 1500 }));
    });
    expect(await Promise.all(outcomes)).toEqual(places.map(() => 'failed SOCKET_TIMEOUT timeout'));
  });

  test('one byte each 20 ms: the time limit holds however the bytes drip', async () => {
    const port = await answering((socket) => {
      let at = 0;
      const timer = setInterval(() => socket.write(flight.subarray(at, (at += 1))), 20);
      socket.on('close', () => clearInterval(timer));
    });
    const began = performance.now();
    const outcome = await lab.check(port, { handshakeTimeoutMs: 1000 });
    expect(verdictOf(outcome)).toBe('failed SOCKET_TIMEOUT timeout');
    expect(performance.now() - began).toBeLessThan(4000);
  });

  test('one byte changed: no crash, and never a pass', async () => {
    let at = 0;
    const port = await answering((socket) => {
      const changed = Buffer.from(flight);
      changed[at] = (changed[at] ?? 0) ^ 0xff;
      socket.end(changed);
    });
    for (at = 0; at < flight.length; at += 13) {
      expect(verdictOf(await lab.check(port)), `byte ${at}`).toMatch(/^failed \S+ (handshake|null)$/);
    }
  });
});

/** A handshake message in records of at most 16 kB. */
function inRecords(message: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < message.length; at += 16_384) {
    const part = message.subarray(at, at + 16_384);
    parts.push(Buffer.from([22, 3, 3, part.length >> 8, part.length & 0xff]), part);
  }
  return Buffer.concat(parts);
}

describe('too much', () => {
  test('a chain of 1 MB is refused', async () => {
    const leaf = await lab.leaf();
    const port = await lab.serve(show(leaf, ...Array.from({ length: 2500 }, () => lab.middle)));
    const outcome = await lab.check(port);
    expect(verdictOf(outcome)).toBe('failed TLS_ERROR handshake');
    expect(outcome.details['requestError']).toMatch(/excessive message size/);
  });

  test.each([
    ['empty handshake records', Buffer.from([22, 3, 3, 0, 0])],
    ['warnings', Buffer.from([21, 3, 3, 0, 2, 1, 90])],
    ['HelloRequests', Buffer.from([22, 3, 3, 0, 4, 0, 0, 0, 0])],
    ['records of another type', Buffer.concat([Buffer.from([23, 3, 3, 64, 0]), Buffer.alloc(16_384)])],
    ['bytes', Buffer.alloc(65_536, 0x20)],
    [
      'an endless message',
      inRecords(Buffer.concat([Buffer.from([11, 255, 255, 255]), Buffer.alloc(65_000)])),
    ],
  ])('endless %s: memory is bounded', async (_what, piece) => {
    const { answer, sent } = endless(piece);
    const start = flight.subarray(0, 5 + flight.readUInt16BE(3)); // the ServerHello
    const port = await answering((socket) => {
      socket.write(start);
      answer(socket);
    });
    const grown = await growthOf(async () => {
      const outcome = await lab.check(port, { handshakeTimeoutMs: 3000 });
      expect(verdictOf(outcome)).toMatch(
        /^failed (TLS_ERROR|SOCKET_TIMEOUT|ECONNRESET) (handshake|timeout)$/,
      );
    });
    expect(grown).toBeLessThan(150);
    expect(sent()).toBeLessThan(300 * 1024 * 1024);
  });
});

describe('the scan', () => {
  /** A server whose first connection is complete; later ones are for `answer`. */
  const scanned = async (answer: (socket: Socket) => void) => {
    const real = createTlsServer(show(await lab.leaf(), lab.middle), (socket) =>
      socket.on('error', () => undefined).end(),
    );
    real.on('tlsClientError', () => undefined);
    let connections = 0;
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      if ((connections += 1) === 1) real.emit('connection', socket);
      else socket.once('data', () => answer(socket));
    });
    const outcome = await lab.check(lab.keep(await listening(server)), { scan: true });
    const { accepted } = outcome.details['response'] as {
      accepted: { versions: string[]; weakCiphers: string[]; handshakes: number; incomplete: string | null };
    };
    return { outcome, accepted };
  };

  test('an endless answer is no acceptance', async () => {
    // A record that says it is long, with a message of another kind in it.
    const { answer } = endless(Buffer.concat([Buffer.from([22, 3, 3, 64, 0]), Buffer.alloc(16_384, 1)]));
    const { outcome, accepted } = await scanned(answer);
    expect(verdictOf(outcome)).toBe('passed');
    expect(accepted).toMatchObject({ versions: ['TLS1.3'], weakCiphers: [], handshakes: 4 });
  });

  test('a server that falls silent costs ten seconds, and the check passes', async () => {
    const began = performance.now();
    const { outcome, accepted } = await scanned(() => undefined);
    expect(verdictOf(outcome)).toBe('passed');
    expect(accepted.incomplete).toMatch(/the time for the scan ran out at connection 1/);
    expect(performance.now() - began).toBeGreaterThan(9500);
  });

  test('a server that closes its port says so', async () => {
    const { outcome, accepted } = await scanned((socket) => socket.destroy());
    expect(verdictOf(outcome)).toBe('passed');
    expect(accepted.versions).toEqual(['TLS1.3']);
  });
});
