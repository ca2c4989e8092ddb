import type { Socket } from 'node:net';
import type { SecureContext, TLSSocket } from 'node:tls';
import type { ClientCertificate } from '../../protocol/job.ts';
import { clientCertificateFor, clientSecureContext } from './client-certificates.ts';
import { HttpFailure, platformCode } from './failures.ts';
import { dropPhase, enterPhase, type PhaseRecord } from './phases.ts';
import { openTunnel, type Proxy } from './proxy.ts';
import { defaultSecureContext, handshake } from './tls.ts';
import { authorizationCode, certificateFacts, type CertificateFacts } from './tls-facts.ts';
import { ResolveError, type IpFamily, type Network, type Resolved } from '../interface/network.ts';
import { unbracketed } from '../interface/name.ts';
import { connectTcp, type ConnectAttempt } from '../tcp/connect.ts';
import { toError } from '../../errors.ts';

/** The target of one hop and its connection settings. `host` without brackets. */
export type Destination = {
  host: string;
  port: number;
  secure: boolean;
  /** Name for SNI and certificate verification: the host, or the check's own Host header. */
  serverName: string;
  family: IpFamily;
  skipSsl: boolean;
  /** Offer HTTP/2. */
  http2: boolean;
  proxy: Proxy | null;
  clientCertificates: readonly ClientCertificate[];
  /** Takes the place of the agent's own settings of TLS. */
  tls?: OwnTls;
};

/** Settings of TLS for one connection. `onSecure` is called after a handshake whose certificate is accepted. */
export type OwnTls = { context: () => SecureContext; onSecure: (socket: TLSSocket) => void };

/** Facts about a connection, filled in while it is established, so that a failure keeps them too. */
export type ConnectionFacts = {
  address: string | null;
  attempts: ConnectAttempt[];
  ipFallback: boolean;
  /** Facts of the last TLS connection to a target. */
  certificate: CertificateFacts | null;
  clientCertificate: ClientCertificate | null;
};

const maxAddresses = 16;

/**
 * A connection that is ready for the request: name resolved, connected, through the proxy's tunnel, TLS done and the
 * certificate accepted. Fills `facts` and the phases of `record`. Rejects with the error that broke it, or
 * `signal.reason`.
 */
export async function openConnection(
  destination: Destination,
  io: {
    network: Network;
    signal: AbortSignal;
    now: () => number;
    facts: ConnectionFacts;
    record: PhaseRecord;
  },
): Promise<Socket> {
  const { proxy } = destination;
  const { facts, record, signal } = io;
  let socket: Socket;
  if (proxy === null) {
    socket = await dial({ host: destination.host, port: destination.port }, [destination.family], io);
  } else {
    const host = (await proxy.targetFor?.(destination.host, destination.secure)) ?? destination.host;
    socket = await dialProxy(proxy, io);
    if (proxy.secure || destination.secure) enterPhase(record, 'tunnel');
    if (proxy.secure) socket = await secureProxy(socket, proxy, signal);
    if (destination.secure) {
      await openTunnel(socket, { host, port: destination.port, proxy, signal });
    }
  }
  if (!destination.secure) return socket;

  // Creating a context is not part of the handshake.
  enterPhase(record, null);
  const context = destination.tls?.context() ?? secureContextFor(destination, socket, facts);
  enterPhase(record, 'tls');
  const done = await handshake(socket, {
    host: destination.serverName,
    context,
    http2: destination.http2,
    signal,
  });
  // Reading the certificate is not part of the handshake.
  enterPhase(record, null);
  if (done.leaf !== null) facts.certificate = certificateFacts(done.leaf, done.socket, io.now());
  if (!done.socket.authorized && !destination.skipSsl) {
    done.socket.destroy();
    throw certificateFailure(done.socket, destination.serverName);
  }
  destination.tls?.onSecure(done.socket);
  return done.socket;
}

/**
 * The context with the client certificate for the host, if there is one. Destroys the socket if the certificate is
 * invalid.
 */
function secureContextFor(destination: Destination, socket: Socket, facts: ConnectionFacts): SecureContext {
  if (destination.clientCertificates.length === 0) return defaultSecureContext();
  const certificate = clientCertificateFor(destination.clientCertificates, destination);
  if (certificate === null) {
    facts.clientCertificate = null;
    return defaultSecureContext();
  }
  try {
    const context = clientSecureContext(certificate);
    facts.clientCertificate = certificate;
    return context;
  } catch (error: unknown) {
    socket.destroy();
    throw error;
  }
}

/** Resolves and connects. The families are tried in order; the next one only if a name has no address in this one. */
async function dial(
  target: { host: string; port: number },
  families: readonly IpFamily[],
  io: { network: Network; signal: AbortSignal; facts: ConnectionFacts; record: PhaseRecord },
): Promise<Socket> {
  const { facts, record, signal } = io;
  enterPhase(record, 'dns');
  const resolved = await resolve(target.host, families, io);
  if (resolved.source === 'literal') dropPhase(record, 'dns');
  if (resolved.ipFallback) facts.ipFallback = true;
  const addresses = resolved.addresses.slice(0, maxAddresses);
  facts.address = addresses[0]?.address ?? null;
  io.network.connecting?.(addresses, target.port);
  enterPhase(record, 'connect');
  const before = facts.attempts.length;
  const socket = await connectTcp({ addresses, port: target.port }, { signal, attempts: facts.attempts });
  // The attempt without an error is the connection; with only one address there is nothing to search.
  if (addresses.length > 1) {
    facts.address =
      facts.attempts.slice(before).find((attempt) => attempt.error === undefined)?.address ?? null;
  }
  return socket;
}

async function resolve(
  host: string,
  families: readonly IpFamily[],
  io: { network: Network; signal: AbortSignal },
): Promise<Resolved> {
  let failure: unknown;
  for (const family of families) {
    try {
      return await io.network.resolve(host, { family, signal: io.signal });
    } catch (error: unknown) {
      failure ??= error;
      const canTryOtherFamily =
        error instanceof ResolveError &&
        (error.code === 'ENOTFOUND' || error.code === 'ERR_INVALID_IP_ADDRESS');
      if (!canTryOtherFamily) throw error;
    }
  }
  throw failure;
}

/** The proxy belongs to the location, so the check's ipFamily does not apply to it: IPv4 first, then IPv6. */
async function dialProxy(
  proxy: Proxy,
  io: { network: Network; signal: AbortSignal; facts: ConnectionFacts; record: PhaseRecord },
): Promise<Socket> {
  try {
    return await dial({ host: proxy.host, port: proxy.port }, [4, 6], io);
  } catch (error: unknown) {
    if (io.signal.aborted) throw error;
    const message = toError(error).message;
    throw new HttpFailure(
      'PROXY_FAILED',
      `no connection to the proxy ${proxy.host}:${proxy.port}: ${message}`,
    );
  }
}

/** TLS to an https proxy. Its certificate must be valid even if the check's skipSSL accepts any target certificate. */
async function secureProxy(socket: Socket, proxy: Proxy, signal: AbortSignal): Promise<Socket> {
  const name = `${proxy.host}:${proxy.port}`;
  let done;
  try {
    done = await handshake(socket, {
      host: unbracketed(proxy.host),
      context: defaultSecureContext(),
      http2: false,
      signal,
    });
  } catch (error: unknown) {
    if (signal.aborted) throw error;
    const message = toError(error).message;
    throw new HttpFailure('PROXY_FAILED', `no TLS connection to the proxy ${name}: ${message}`);
  }
  if (done.socket.authorized) return done.socket;
  done.socket.destroy();
  throw new HttpFailure(
    'PROXY_FAILED',
    `the proxy ${name} has a certificate that is not trusted: ${authorizationCode(done.socket) ?? 'unknown'}`,
  );
}

function certificateFailure(socket: TLSSocket, name: string): HttpFailure {
  const code = authorizationCode(socket) ?? 'TLS_ERROR';
  const reason = platformCode(code) ?? 'CERT_UNTRUSTED';
  // The platform has no name for some reasons.
  const hint = code === 'UNSPECIFIED' ? ', most likely because of a weak signature (SHA-1, MD5) or key' : '';
  return new HttpFailure(reason, `the certificate of ${name} is not accepted: ${code}${hint}`);
}
