import { lookup } from 'node:dns/promises';
import { connect, isIP, type Socket } from 'node:net';
import { toError } from '../../errors.ts';
import { destination } from './proxy-choice.ts';

/** Connections through a SOCKS5 proxy (RFC 1928), with user and password (RFC 1929) where its URL has them. */

/** Whether a proxy's URL means SOCKS5. `socks5h` leaves the lookup of names to the proxy. */
export const isSocks = (proxy: URL): boolean => proxy.protocol === 'socks5:' || proxy.protocol === 'socks5h:';

/** What the proxy says when it cannot connect (RFC 1928, section 6). */
const replies: { readonly [code: number]: string } = {
  1: 'general failure',
  2: 'its rules do not allow this connection',
  3: 'network unreachable',
  4: 'host unreachable',
  5: 'connection refused',
  6: 'TTL expired',
  7: 'it does not support CONNECT',
  8: 'it does not support this kind of address',
};

/**
 * Connects to `host` and `port` through `proxy`. Rejects with what the proxy answered, or after `timeoutMs` for all steps
 * together.
 */
export async function connectThroughSocks(way: {
  proxy: URL;
  host: string;
  port: number;
  timeoutMs: number;
}): Promise<Socket> {
  const { proxy, timeoutMs } = way;
  const name =
    proxy.protocol === 'socks5h:' || isIP(way.host) !== 0 ? way.host : (await lookup(way.host)).address;
  const at = destination(proxy);
  const socket = connect({ host: at.hostname, port: proxy.port === '' ? 1080 : at.port });
  const timer = setTimeout(
    () => socket.destroy(new Error(`the proxy did not answer within ${timeoutMs} ms`)),
    timeoutMs,
  );
  try {
    const read = reader(socket);
    const hasUser = proxy.username !== '' || proxy.password !== '';
    // Methods: 0 = none, 2 = user and password.
    socket.write(Buffer.from(hasUser ? [5, 2, 0, 2] : [5, 1, 0]));
    const [version, method] = await read(2);
    if (version !== 5) throw new Error('the proxy does not speak SOCKS5');
    if (method === 2) {
      socket.write(credentials(proxy));
      const [, status] = await read(2);
      if (status !== 0) throw new Error('the proxy refused the user and password');
    } else if (method !== 0) {
      throw new Error(
        hasUser
          ? 'the proxy accepts no user and password'
          : 'the proxy requires a user and password: add them to its URL',
      );
    }
    socket.write(Buffer.concat([Buffer.from([5, 1, 0]), addressOf(name), portOf(way.port)]));
    const [, reply = 1, , kind] = await read(4);
    if (reply !== 0) {
      throw new Error(`the proxy could not connect: ${replies[reply] ?? `reply ${reply}`}`);
    }
    // The address from which the proxy connects; nobody needs it.
    const length = kind === 1 ? 4 : kind === 4 ? 16 : ((await read(1))[0] ?? 0);
    await read(length + 2);
    return read.release();
  } catch (error) {
    socket.destroy();
    throw toError(error);
  } finally {
    clearTimeout(timer);
  }
}

function credentials(proxy: URL): Buffer {
  const user = Buffer.from(decodeURIComponent(proxy.username));
  const password = Buffer.from(decodeURIComponent(proxy.password));
  if (user.length > 255 || password.length > 255) {
    throw new Error('user and password of a SOCKS5 proxy have at most 255 bytes each');
  }
  return Buffer.concat([Buffer.from([1, user.length]), user, Buffer.from([password.length]), password]);
}

function addressOf(host: string): Buffer {
  const family = isIP(host);
  if (family === 4) return Buffer.from([1, ...host.split('.').map(Number)]);
  if (family === 6) return Buffer.concat([Buffer.from([4]), bytesOfIPv6(host)]);
  const name = Buffer.from(host);
  if (name.length > 255) throw new Error('the name of the service is longer than 255 bytes');
  return Buffer.concat([Buffer.from([3, name.length]), name]);
}

function bytesOfIPv6(address: string): Buffer {
  // The URL parser writes an embedded IPv4 address as two groups.
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const groups = (part: string) => part.split(':').filter((group) => group !== '');
  const [before, after] = [groups(head), groups(tail ?? '')];
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0');
  const bytes = Buffer.alloc(16);
  [...before, ...zeros, ...after].forEach((group, index) =>
    bytes.writeUInt16BE(Number.parseInt(group, 16), index * 2),
  );
  return bytes;
}

function portOf(port: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(port);
  return bytes;
}

type Read = ((length: number) => Promise<Buffer>) & {
  /** Ends the reading: later bytes are for the socket's next owner. */
  release: () => Socket;
};

/** Reads exact lengths from a socket. Rejects when it ends or fails. */
function reader(socket: Socket): Read {
  let ended: Error | null = null;
  let wake: () => void = () => undefined;
  const fail = (error: Error) => {
    ended ??= error;
    wake();
  };
  const close = () => fail(new Error('the proxy closed the connection'));
  const readable = () => wake();
  socket.on('error', fail);
  socket.on('close', close);
  socket.on('readable', readable);
  const read = async (length: number): Promise<Buffer> => {
    for (;;) {
      const bytes: unknown = length === 0 ? Buffer.alloc(0) : socket.read(length);
      // At the end of a stream fewer bytes may come.
      if (Buffer.isBuffer(bytes) && bytes.length === length) return bytes;
      if (ended !== null) throw ended;
      await new Promise<void>((resolve) => (wake = resolve));
    }
  };
  return Object.assign(read, {
    release: () => {
      socket.off('error', fail);
      socket.off('close', close);
      socket.off('readable', readable);
      return socket;
    },
  });
}
