import { randomUUID } from 'node:crypto';
import { createServer, type TlsOptions } from 'node:tls';
import type { Outcome } from '../../../src/executors/interface/executor.ts';
import { executeSsl } from '../../../src/executors/ssl.ts';
import { contextOf } from '../../../src/executors/ssl/handshake.ts';
import type { JobOf } from '../../../src/protocol/job.ts';
import { requestSchemas } from '../../../src/protocol/requests.ts';
import Value from 'typebox/value';
import { jobFields } from '../job-fields.ts';
import { issue, type Issued, type Wanted } from './authority.ts';
import { listening, startTestNetwork, testContext, type Running, type TestNetwork } from './http.ts';

/** TLS servers of every kind, and SSL checks against them. */

type Job = JobOf<'SSL'>;
type Config = Partial<Job['request']['sslConfig']> & { hostname?: string };

/** A job whose request has all its defaults. */
export function sslJob(
  config: Config & { port: number },
  job: Partial<Job> = {},
  assertions: unknown[] = [],
): Job {
  const request = Value.Default(requestSchemas.SSL, {
    sslConfig: { hostname: 'good.test', ...config },
    assertions,
  }) as Job['request'];
  return { ...jobFields, lane: 'uptime', clientCertificates: [], ...job, checkType: 'SSL', request };
}

export type SslLab = {
  now: number;
  network: TestNetwork['network'];
  root: Issued;
  middle: Issued;
  /** A certificate that `middle` signed. */
  leaf: (wanted?: Wanted) => Promise<Issued>;
  /** A TLS server; closed with the lab. */
  serve: (options: TlsOptions) => Promise<number>;
  /** A TLS server that staples `answer`. */
  stapling: (leaf: Issued, answer: Buffer) => Promise<number>;
  /** Any server of the test, closed with the lab. */
  keep: (running: Running) => number;
  /** The outcome of a check of good.test at a port. */
  check: (
    port: number,
    config?: Config,
    more?: { job?: Partial<Job>; assertions?: unknown[]; signal?: AbortSignal; now?: number },
  ) => Promise<Outcome>;
  close: () => Promise<void>;
};

/** The options of a server that shows a certificate and its chain. */
export const show = ({ pem, key }: Issued, ...chain: Issued[]): TlsOptions => ({
  cert: pem + chain.map((each) => each.pem).join(''),
  key,
});

/** Starts the lab: its root is trusted by SSL checks of this process. */
export async function startSslLab(): Promise<SslLab> {
  const now = Date.now();
  const names = await startTestNetwork({ 'good.test': ['127.0.0.1'], 'other.test': ['127.0.0.1'] });
  const root = await issue({ name: `Root ${randomUUID()}`, authority: true, to: 3650 }, now);
  const middle = await issue({ name: 'Middle', authority: true, issuer: root, to: 1000 }, now);
  // What NODE_EXTRA_CA_CERTS does for a process at its start.
  const { context } = contextOf(null) as { context: { addCACert: (pem: string) => void } };
  context.addCACert(root.pem);
  const running: Running[] = [];
  return {
    now,
    network: names.network,
    root,
    middle,
    leaf: (wanted = {}) => issue({ issuer: middle, ...wanted }, now),
    serve: async (options) => {
      // The server itself accepts everything that its library can do.
      const server = createServer(
        { ciphers: 'ALL:eNULL:@SECLEVEL=0', minVersion: 'TLSv1', ...options },
        (socket) => socket.on('error', () => undefined).end(),
      );
      server.on('tlsClientError', () => undefined);
      const started = await listening(server);
      running.push(started);
      return started.port;
    },
    stapling: async (leaf, answer) => {
      const server = createServer(show(leaf, middle), (socket) => socket.on('error', () => undefined).end());
      server.on('OCSPRequest', (_certificate, _issuer, callback: (error: null, answer: Buffer) => void) =>
        callback(null, answer),
      );
      server.on('tlsClientError', () => undefined);
      const started = await listening(server);
      running.push(started);
      return started.port;
    },
    keep: (started) => {
      running.push(started);
      return started.port;
    },
    check: (port, config = {}, { job = {}, assertions = [], signal, now: at } = {}) =>
      executeSsl(sslJob({ port, ...config }, job, assertions), {
        ...testContext({ network: names.network, ...(signal === undefined ? {} : { signal }) }),
        // Certificates that OpenSSL makes are valid from the moment of their creation.
        now: () => at ?? Math.max(now, Date.now()),
      }),
    close: async () => {
      await Promise.all(running.map((each) => each.close()));
      await names.close();
    },
  };
}

/** A verdict in short: `passed`, `degraded CODE` or `failed CODE category`. */
export function verdictOf({ base, details }: Outcome): string {
  if (!base.ok) return `failed ${base.reason.code} ${String(details['failureCategory'])}`;
  return base.degraded === undefined ? 'passed' : `degraded ${base.degraded.code}`;
}
