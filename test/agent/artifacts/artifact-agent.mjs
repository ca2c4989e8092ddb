/**
 * A process that brings one artifact until it is killed. Arguments: the compiled program's folder, then as JSON what it
 * needs: serviceUrl, key, dataDir, job, workDir, file.
 */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [, , dist, given] = process.argv;
const { serviceUrl: url, key, dataDir, job, workDir, file } = JSON.parse(given);
const load = (name) => import(pathToFileURL(join(dist, name)).href);
const { createArtifactDelivery } = await load('agent/artifacts/delivery.js');
const { createMetrics } = await load('agent/metrics/counters.js');
const { createServiceClient } = await load('agent/link/client.js');
const { createSession } = await load('agent/link/session.js');
const { createTransport } = await load('agent/link/transport.js');
const { createTurnWatch } = await load('agent/metrics/turn-watch.js');
const { createLog } = await load('log.js');

const serviceUrl = new URL(url);
const log = createLog({ level: 'ERROR', scrub: (line) => line });
const instanceId = '00000000-0000-7000-8000-00000000dead';
const common = { log, instanceId, now: Date.now, random: () => 0 };
const transport = await createTransport({
  serviceUrl,
  proxy: { httpProxy: null, httpsProxy: null, noProxy: '' },
  extraCaFile: null,
  headers: { authorization: `Bearer ${key}` },
});
const client = createServiceClient({
  transport,
  serviceUrl,
  now: Date.now,
  onKeyRefused: () => process.exit(1),
});
const session = createSession({
  ...common,
  client,
  version: '1',
  watch: createTurnWatch(),
  abilities: () => ({ checkTypes: [], runtimes: [], engines: [], lanes: {} }),
  stopped: new AbortController().signal,
  onAccepted: () => undefined,
});
const delivery = createArtifactDelivery({
  ...common,
  dataDir,
  serviceUrl,
  transport,
  client,
  session,
  metrics: createMetrics(),
  fault: (error) => process.stderr.write(`${error.stack}\n`),
  onKeyRefused: () => process.exit(1),
});
await delivery.start();
const signal = new AbortController().signal;
const note = (_level, msg) => process.stderr.write(`${msg}\n`);
await delivery.keep({ job, attempt: 1, workDir }, [file], { secrets: [], signal, note });
process.stdout.write('kept\n');
// Lives until it is killed.
setInterval(() => undefined, 1000);
