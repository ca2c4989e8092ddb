import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Answer } from 'dns-packet';
import { afterAll, afterEach, beforeAll, expect, vi } from 'vitest';
import { JobAborted } from '../../../src/errors.ts';
import { executeDns } from '../../../src/executors/dns.ts';
import type { ExecutionContext, Outcome } from '../../../src/executors/interface/executor.ts';
import type { Network } from '../../../src/executors/interface/network.ts';
import { createNetwork } from '../../../src/executors/system-network.ts';
import { withoutScripts } from '../../../src/executors/without-scripts.ts';
import type { JobOf } from '../../../src/protocol/job.ts';
import {
  makeCertificate,
  startDnsServer,
  type DnsServerOptions,
  type TestDnsServer,
} from '../../helpers/network/dns-server.ts';
import { jobFields } from '../../helpers/job-fields.ts';

/** Attempts of DNS checks against name servers of the test. */

export type Request = JobOf<'DNS'>['request'];
type Assertion = Request['assertions'][number];
type RunOptions = { signal?: AbortSignal; network?: Network };

export const certificate: { key: string; cert: string } = makeCertificate();

/** An A record. */
export const a = (data: string, name = 'www.example.com', ttl = 300): Answer => ({
  type: 'A',
  name,
  ttl,
  data,
});

function job(request: Partial<Request>): JobOf<'DNS'> {
  return {
    ...jobFields,
    lane: 'uptime',
    checkType: 'DNS',
    request: {
      query: 'www.example.com',
      recordType: 'A',
      nameServer: '127.0.0.1',
      port: null,
      protocol: 'UDP',
      skipSSL: true,
      assertions: [],
      ...request,
    },
  };
}

/** A signal that fires as the deadline of a job. */
export function deadlineIn(ms: number): AbortSignal {
  const controller = new AbortController();
  setTimeout(() => controller.abort(new JobAborted('deadline')), ms);
  return controller.signal;
}

/** Where the server listens for a protocol. */
export const portOf = (server: TestDnsServer, protocol: Request['protocol']) =>
  protocol === 'DOT' ? server.dotPort : protocol === 'DOH' ? server.dohPort : server.port;

/** Of a timing, all parts but the total, in milliseconds. */
export function sumOfParts(timings: Outcome['timings']): number {
  const { total: _total, ...parts } = timings ?? { total: Number.NaN };
  return Object.values(parts).reduce((sum, ms) => sum + ms, 0);
}

/** An assertion of a check. */
export const assertion = (
  source: Assertion['source'],
  comparison: Assertion['comparison'],
  target: string,
  property = '',
): Assertion => ({ source, property, comparison, target, regex: null });

/** `ok`, or the code of the reason. */
export const codeOf = ({ base }: Outcome) => (base.ok ? 'ok' : base.reason.code);

/** Registers the hooks that close the servers after each test, and check at the end that no attempt has left a socket. */
export function dnsAttempts() {
  const servers = new Set<TestDnsServer>();
  let folder: string;
  const openHandles = () => process.getActiveResourcesInfo().filter((kind) => /TCP|UDP|TLS|HTTP/.test(kind));

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'dns-test-'));
    writeFileSync(
      join(folder, 'hosts'),
      '127.0.0.1 ns.test localhost\n127.0.0.2 first.test\n127.0.0.1 first.test\n',
    );
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await vi.waitFor(() => expect(openHandles()).toEqual([]));
  });
  afterEach(async () => {
    for (const server of servers) await server.close();
    servers.clear();
  });

  function networkWith(...nameServers: string[]): Network {
    const conf = join(folder, 'resolv.conf');
    writeFileSync(conf, nameServers.map((server) => `nameserver ${server}\n`).join(''));
    const hostsFile = join(folder, 'hosts');
    return createNetwork({ useOsDnsResolver: false, hostsFile, resolvConfFile: conf });
  }
  return {
    servers,
    networkWith,
    serve: async (answer: DnsServerOptions['answer'], options: Partial<DnsServerOptions> = {}) => {
      const server = await startDnsServer({ answer, ...options });
      servers.add(server);
      return server;
    },
    run: (request: Partial<Request>, { signal, network }: RunOptions = {}): Promise<Outcome> => {
      const context: ExecutionContext = {
        signal: signal ?? new AbortController().signal,
        log: () => {},
        ...withoutScripts,
        network: network ?? networkWith(),
        now: () => 0,
      };
      return executeDns(job(request), context);
    },
  };
}
