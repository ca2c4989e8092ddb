import { execFileSync, spawnSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** Damage by `zzuf`, a program of Debian's: bits of a stream that are flipped, the same ones for the same seed. */

export const hasZzuf = spawnSync('zzuf', ['--version']).status === 0;

/** From one bit in 20,000, so that some handshakes survive, to one in 50. */
const share = '0.00005:0.02';

/** Bytes with a share of their bits flipped. */
export const damaged = (bytes: Buffer | string, seed: number, ratio = share): Buffer =>
  execFileSync('zzuf', ['-s', String(seed), '-r', ratio], { input: bytes });

const maskBytes = 65_536;

/** What zzuf flips with a seed: the bits of each place of a stream, which do not depend on what is there. */
export const maskOf = (seed: number): Buffer => damaged(Buffer.alloc(maskBytes), seed);

/** Flips the bits of `mask` in bytes that begin at a place of the stream. */
export function flipped(bytes: Buffer, mask: Buffer, at = 0): Buffer {
  return Buffer.from(bytes.map((byte, index) => byte ^ (mask[(at + index) % mask.length] ?? 0)));
}

/** Stands before a server and damages what it answers. */
export type DamagingWay = {
  port: number;
  /**
   * From now on, what comes from the server is damaged by this mask; null = nothing is. Connections that began with another one
   * are ended: what a server handed out once must not be lost in them after the damage is over.
   */
  setMask: (mask: Buffer | null) => void;
  close: () => Promise<void>;
};

/** A way to a server on loopback. A connection has one mask from its beginning to its end. */
export async function startDamagingWay(serverPort: number): Promise<DamagingWay> {
  let mask: Buffer | null = null;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const own = mask;
    let at = 0;
    const upstream = connect({ host: '127.0.0.1', port: serverPort });
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
    }
    client.on('error', () => upstream.destroy()).on('close', () => upstream.destroy());
    upstream.on('error', () => client.destroy()).on('close', () => client.end());
    client.pipe(upstream);
    upstream.on('data', (bytes: Buffer) => {
      client.write(own === null ? bytes : flipped(bytes, own, at));
      at += bytes.length;
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port, // it listens on TCP
    setMask: (next) => {
      mask = next;
      for (const socket of sockets) socket.destroy();
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

/** The same for datagrams; each answer is damaged from its beginning. */
export async function startDamagingDatagrams(serverPort: number): Promise<DamagingWay> {
  let mask: Buffer | null = null;
  const server = createSocket('udp4');
  const upstreams = new Set<ReturnType<typeof createSocket>>();
  server.on('message', (query, from) => {
    const own = mask;
    const upstream = createSocket('udp4');
    upstreams.add(upstream);
    upstream.on('message', (answer) => {
      server.send(own === null ? answer : flipped(answer, own), from.port, from.address);
      upstreams.delete(upstream);
      upstream.close();
    });
    upstream.send(query, serverPort, '127.0.0.1');
  });
  server.bind(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: server.address().port,
    setMask: (next) => void (mask = next),
    close: async () => {
      for (const upstream of upstreams) upstream.close();
      server.close();
    },
  };
}
