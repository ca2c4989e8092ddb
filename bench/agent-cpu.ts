/**
 * CPU per probe on the agent's whole path (from job to sent result), compared with Debian's prometheus-blackbox-exporter on the
 * same targets, 32 in flight. Limits, relative to the exporter: URL, TCP, ICMP, SSL and GRPC 0.6, HTTPS 0.9. SSL is
 * compared with the exporter's tcp module over TLS, which reports the expiry of the presented certificates. The rows
 * /probe send the same requests to the agent's own /probe; their limit is 0.6, too.
 *
 * Below the table is the processor time of one TLS handshake of Node.js with nothing around it, which no row by TLS can
 * be less than. TRACEROUTE has no counterpart in the exporter: `npm run bench -- traceroute` compares it with
 * traceroute(8).
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { get, Agent } from 'node:http';
import { join, resolve } from 'node:path';
import {
  cpuMs,
  machine,
  makeCertificates,
  report,
  rssMb,
  startChild,
  stopChild,
  temporaryFolder,
} from './lib/processes.ts';
import { jobOf, startProtocolPeer } from './lib/protocol-peer.ts';
import { requestSchemas } from '../src/protocol/requests.ts';
import Value from 'typebox/value';

const probes = Number(process.argv[2] ?? 6000);
const inFlight = 32;
const root = resolve(import.meta.dirname, '../../..');
const blackbox = '/usr/bin/prometheus-blackbox-exporter';
const folder = temporaryFolder();

if (!existsSync(blackbox) && process.getuid?.() === 0) {
  console.log('installing prometheus-blackbox-exporter');
  spawnSync('sh', [
    '-c',
    'apt-get -q update && apt-get -q -y install --no-install-recommends prometheus-blackbox-exporter',
  ]);
}

const certificates = makeCertificates(folder);
const targets = await startChild<{ http: number; https: number; tcp: number; grpc: number }>(
  join(import.meta.dirname, 'lib', 'targets-process.js'),
  [certificates.cert, certificates.key],
);
const { http, https, tcp, grpc } = targets.hello;
const url = (address: string) => ({
  checkType: 'URL',
  request: {
    method: 'GET',
    url: address,
    followRedirects: true,
    skipSSL: false,
    ipFamily: 'IPv4',
    assertions: [],
  },
});
const cases = [
  {
    name: 'http',
    limit: 0.6,
    module: 'http_2xx',
    target: `http://127.0.0.1:${http}/`,
    job: url(`http://127.0.0.1:${http}/`),
  },
  {
    name: 'https',
    limit: 0.9,
    module: 'http_2xx',
    target: `https://localhost:${https}/`,
    job: url(`https://localhost:${https}/`),
  },
  {
    name: 'tcp',
    limit: 0.6,
    module: 'tcp_connect',
    target: `127.0.0.1:${tcp}`,
    job: {
      checkType: 'TCP',
      request: { hostname: '127.0.0.1', port: tcp, data: null, ipFamily: 'IPv4', assertions: [] },
    },
  },
  {
    name: 'ssl',
    limit: 0.6,
    module: 'tcp_tls',
    target: `localhost:${https}`,
    job: {
      checkType: 'SSL',
      clientCertificates: [],
      request: Value.Default(requestSchemas.SSL, {
        sslConfig: { hostname: 'localhost', port: https, alertDaysBeforeExpiry: 1 },
        assertions: [],
      }),
    },
  },
  {
    name: 'grpc',
    limit: 0.6,
    module: 'grpc',
    target: `127.0.0.1:${grpc}`,
    job: {
      checkType: 'GRPC',
      clientCertificates: [],
      request: Value.Default(requestSchemas.GRPC, {
        url: '127.0.0.1',
        port: grpc,
        grpcConfig: { mode: 'HEALTH', tls: false },
      }),
    },
  },
  {
    name: 'icmp',
    limit: 0.6,
    module: 'icmp',
    target: '127.0.0.1',
    job: {
      checkType: 'ICMP',
      request: { hostname: '127.0.0.1', ipFamily: 'IPv4', pingCount: 1, assertions: [] },
      degradedPacketLossThreshold: 10,
      maxPacketLossThreshold: 20,
    },
  },
];

const healthPort = 19_081;
/** The modules that /probe of the agent is measured with. */
const probeLimit = 0.6;
const probed = new Set(['http', 'tcp', 'icmp']);

/** The file of modules, for both programs. */
const config = join(folder, 'blackbox.json'); // YAML is a superset of JSON
writeFileSync(
  config,
  JSON.stringify({
    modules: {
      http_2xx: {
        prober: 'http',
        http: { preferred_ip_protocol: 'ip4', tls_config: { ca_file: certificates.ca } },
      },
      tcp_connect: { prober: 'tcp', tcp: { preferred_ip_protocol: 'ip4' } },
      tcp_tls: {
        prober: 'tcp',
        tcp: { preferred_ip_protocol: 'ip4', tls: true, tls_config: { ca_file: certificates.ca } },
      },
      icmp: { prober: 'icmp', icmp: { preferred_ip_protocol: 'ip4' } },
      grpc: { prober: 'grpc', grpc: { preferred_ip_protocol: 'ip4' } },
    },
  }),
);

/** Sends probes to a /probe, 32 at a time. Returns the number of failed ones. */
async function probeAll(
  { port, module, target }: { port: number; module: string; target: string },
  count: number,
): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: inFlight });
  const path = `/probe?module=${module}&target=${encodeURIComponent(target)}`;
  const probe = () =>
    new Promise<boolean>((done) => {
      get({ host: '127.0.0.1', port, path, agent }, (response) => {
        let text = '';
        response.on('data', (chunk: Buffer) => (text += chunk.toString()));
        response.on('end', () => done(/^probe_success 1$/m.test(text)));
      }).on('error', () => done(false));
    });
  let left = count;
  let bad = 0;
  const lane = async () => {
    while (left-- > 0) if (!(await probe())) bad++;
  };
  await Promise.all(Array.from({ length: inFlight }, lane));
  agent.destroy();
  return bad;
}

/** CPU milliseconds per probe that a program answers. */
async function measureProbes(
  pid: number,
  one: { port: number; module: string; target: string },
  name: string,
): Promise<number> {
  await probeAll(one, 1000);
  const before = cpuMs(pid);
  const bad = await probeAll(one, probes);
  if (bad > 0) console.log(`${name}: ${bad} of ${probes} failed`);
  return (cpuMs(pid) - before) / probes;
}

/** CPU milliseconds per probe of the agent, by case. */
async function measureAgent(): Promise<{ perProbe: Map<string, number>; idleMb: number; busyMb: number }> {
  const peer = await startProtocolPeer();
  const agent = spawn(process.execPath, [join(root, 'dist', 'main.js'), 'start'], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      PATH: process.env['PATH'],
      API_KEY: 'pl_00000000000000000000000000000000',
      SERVICE_URL: peer.url,
      UPTIME_CONCURRENCY: String(inFlight),
      AGENT_HEALTH_PORT: String(healthPort),
      AGENT_HEALTH_HOST: '127.0.0.1',
      PROBE_CONFIG: config,
      PROBE_TARGETS: '*',
      AGENT_DATA_DIR: join(folder, 'agent'),
      NODE_EXTRA_CA_CERTS: certificates.ca,
      LOG_LEVEL: 'WARN',
    },
  });
  const pid = agent.pid ?? 0;
  await new Promise((done) => setTimeout(done, 1500));
  const idleMb = rssMb(pid);
  const perProbe = new Map<string, number>();
  for (const { name, job } of cases) {
    await peer.feed(1000, (id) => jobOf(id, job)); // warm-up: one-time compilation is not part of a probe
    const before = cpuMs(pid);
    const statuses = await peer.feed(probes, (id) => jobOf(id, job));
    perProbe.set(name, (cpuMs(pid) - before) / probes);
    if (statuses['passed'] !== probes) console.log(`agent, ${name}: ${JSON.stringify(statuses)}`);
  }
  for (const { name, module, target } of cases.filter((one) => probed.has(one.name))) {
    const port = healthPort;
    perProbe.set(
      `/probe ${name}`,
      await measureProbes(pid, { port, module, target }, `agent, /probe ${name}`),
    );
  }
  const busyMb = rssMb(pid);
  await stopChild(agent);
  peer.close();
  return { perProbe, idleMb, busyMb };
}

/** CPU milliseconds per probe of the exporter, by case; each probe is one request to it. */
async function measureBlackbox(): Promise<Map<string, number> | null> {
  if (!existsSync(blackbox)) return null;
  const port = 19_115;
  const exporter = spawn(
    blackbox,
    [`--config.file=${config}`, `--web.listen-address=127.0.0.1:${port}`, '--log.level=error'],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  const isReady = { port, module: 'tcp_connect', target: `127.0.0.1:${tcp}` };
  for (let tries = 0; tries < 50 && (await probeAll(isReady, 1)) > 0; tries++) {
    await new Promise((done) => setTimeout(done, 100));
  }
  const perProbe = new Map<string, number>();
  for (const { name, module, target } of cases) {
    perProbe.set(name, await measureProbes(exporter.pid ?? 0, { port, module, target }, `exporter, ${name}`));
  }
  await stopChild(exporter);
  return perProbe;
}

try {
  const ours = await measureAgent();
  const theirs = await measureBlackbox();
  console.log(`CPU per probe, ${probes} probes each, ${inFlight} in flight, ${machine}`);
  console.log(
    `agent memory: ${ours.idleMb.toFixed(0)} MB idle, ${ours.busyMb.toFixed(0)} MB after the load\n`,
  );
  console.log('                agent      exporter   ratio   limit');
  let worst:
    { name: string; ours: number; peer: number | null; limit: number; ratio: number | null } | undefined;
  const rows = [
    ...cases.map(({ name, limit }) => ({ name, limit, peerName: name })),
    ...[...probed].map((name) => ({ name: `/probe ${name}`, limit: probeLimit, peerName: name })),
  ];
  for (const { name, limit, peerName } of rows) {
    const mine = ours.perProbe.get(name) ?? Number.NaN;
    const peer = theirs?.get(peerName) ?? null;
    const ratio = peer === null ? null : mine / peer;
    console.log(
      `${name.padEnd(12)} ${mine.toFixed(3).padStart(7)} ms  ${(peer?.toFixed(3) ?? '-').padStart(7)} ms ${(ratio?.toFixed(2) ?? '-').padStart(7)} ${limit.toFixed(2).padStart(7)}`,
    );
    if (worst === undefined || (ratio ?? 0) / limit > (worst.ratio ?? 0) / worst.limit)
      worst = { name, ours: mine, peer, limit, ratio };
  }
  const bare = spawnSync(
    process.execPath,
    [join(import.meta.dirname, 'lib', 'bare-handshakes.js'), String(https), String(probes)],
    { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'], env: { NODE_EXTRA_CA_CERTS: certificates.ca } },
  );
  console.log(
    `\n${bare.stdout.trim()} ms: a TLS handshake of Node.js with nothing around it (part of https and ssl)`,
  );
  console.log('TRACEROUTE is measured by: npm run bench -- traceroute\n');
  // The JSON line has the case that is closest to its limit.
  report({
    name: `agent-cpu (${worst?.name})`,
    unit: 'ms CPU per probe',
    ours: worst?.ours ?? null,
    peer: worst?.peer ?? null,
    limit: worst?.limit ?? null,
    ratio: worst?.ratio ?? null,
  });
} finally {
  await stopChild(targets.child);
  rmSync(folder, { recursive: true, force: true });
}
