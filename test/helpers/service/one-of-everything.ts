import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { createArtifactFiles } from '../../../src/service/artifacts/files.ts';
import { createBackground, type Background } from '../../../src/service/engine/background.ts';
import type { Db } from '../../../src/service/db/database.ts';
import { uuidv7 } from '../../../src/service/engine/ids.ts';
import { createAuthority } from '../../../src/targets/certificates.ts';
import { silent } from './agent-service.ts';
import { anyDatabase } from './database.ts';
import { startTestService, type Fields, type TestService } from './service.ts';
import { storeRuns } from './stored-results.ts';

/**
 * One of every resource of an account, and what names it in a path of the OpenAPI document: what tests of all routes
 * begin with. A path with a parameter that is not known here makes `pathOf` throw, so that a new resource is added here.
 */
export type Everything = {
  /** Ids by `path of the collection` or `path of the collection/parameter`. */
  ids: { readonly [name: string]: string };
  /** Bodies that were accepted, by path of the document, of `POST`. */
  bodies: ReadonlyMap<string, Fields>;
  /** A path of the document with the ids of this account in place of its parameters. */
  pathOf: (path: string) => string;
};

const queues = [
  'incident-messages',
  'maintenance-events',
  'notifications',
  'rollups',
  'root-cause-analyses',
  'subscriber-mails',
];

/** Queues that take everything and do nothing. */
export async function idleBackground(db: Db): Promise<Background> {
  const background = createBackground({ db, log: silent });
  for (const name of queues) {
    const options = { name, retryLimit: 0, retryDelaySeconds: 1, expireSeconds: 60, concurrency: 1 };
    background.handle({ ...options, isKeyed: name === 'rollups' }, async () => undefined);
  }
  await background.prepare();
  return background;
}

type Started = { service: TestService; everything: Everything; close: () => Promise<void> };

/** A service whose first account has one of everything, on a new database or on `place.db`, which stays open. */
export async function startServiceWithEverything(
  place: { db?: Db; now?: () => number } = {},
): Promise<Started> {
  const folder = mkdtempSync(join(tmpdir(), 'everything-'));
  const db = place.db ?? (await anyDatabase.open());
  const bundles = createArtifactFiles(folder, { reserveBytes: 0 });
  const now = place.now === undefined ? {} : { now: place.now };
  const service = await startTestService(db, { bundles, background: await idleBackground(db), ...now });
  return {
    service,
    everything: await makeOneOfEverything(service),
    close: async () => {
      await service.close();
      if (place.db === undefined) await anyDatabase.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The first path segments decide what the parameters of a path are: longest first. */
const parameters: readonly [prefix: string, parameter: string, id: string][] = [
  ['/v1/maintenance-windows/', 'occurrenceId', 'occurrence'],
  ['/v1/maintenance-windows/', 'updateId', 'maintenanceUpdate'],
  ['/v1/maintenance-windows/', 'id', 'maintenanceWindow'],
  ['/v1/status-pages/services/', 'id', 'service'],
  ['/v1/status-pages/incidents/', 'updateId', 'statusPageIncidentUpdate'],
  ['/v1/status-pages/incidents/', 'id', 'statusPageIncident'],
  ['/v1/status-pages/', 'subscriptionId', 'statusPageSubscription'],
  ['/v1/status-pages/', 'id', 'statusPage'],
  ['/v1/incidents/', 'updateId', 'incidentUpdate'],
  ['/v1/incidents/', 'id', 'incident'],
  ['/v1/alert-channels/', 'subscriptionId', 'subscription'],
  ['/v1/alert-channels/', 'id', 'alertChannel'],
  ['/v1/alert-notifications/', 'id', 'alertNotification'],
  ['/v1/check-alerts/', 'checkId', 'check/url'],
  ['/v1/analytics/heartbeat-', 'id', 'check/heartbeat'],
  ['/v1/analytics/agentic-', 'id', 'check/agentic'],
  ['/v1/analytics/api-', 'id', 'check/api'],
  ['/v1/analytics/browser-', 'id', 'check/browser'],
  ['/v1/analytics/icmp-', 'id', 'check/icmp'],
  ['/v1/analytics/ssl/', 'id', 'check/ssl'],
  ['/v1/analytics/grpc-', 'id', 'check/grpc'],
  ['/v1/analytics/traceroute/', 'id', 'check/traceroute'],
  ['/v1/analytics/multistep-', 'id', 'check/multistep'],
  ['/v1/analytics/tcp-', 'id', 'check/tcp'],
  ['/v1/analytics/playwright-', 'id', 'check/playwright'],
  ['/v1/analytics/dns-', 'id', 'check/dns'],
  ['/v1/analytics/url-', 'id', 'check/url'],
  ['/v1/check-results/', 'checkResultId', 'result'],
  ['/v1/check-results/', 'name', 'asset'],
  ['/v1/check-sessions/', 'checkSessionId', 'checkSession'],
  ['/v2/check-sessions/', 'checkSessionId', 'checkSession'],
  ['/v1/test-sessions/', 'testSessionId', 'testSession'],
  ['/v1/checks/heartbeats/', 'id', 'heartbeatEvent'],
  ['/v1/checks/heartbeats/', 'checkId', 'check/heartbeat'],
  ...[
    'agentic',
    'api',
    'browser',
    'dns',
    'grpc',
    'traceroute',
    'heartbeat',
    'icmp',
    'multistep',
    'playwright',
    'ssl',
    'tcp',
    'url',
  ].map((type): [string, string, string] => [`/v1/checks/${type}/`, 'id', `check/${type}`]),
  ['/v1/checks/', 'id', 'check/url'],
  ['/v1/triggers/', 'groupId', 'group'],
  ['/v1/badges/groups/', 'id', 'group'],
  ['/v1/badges/checks/', 'id', 'check/url'],
  ['/v1/badges/status-pages/', 'url', 'statusPageUrl'],
  ['/v1/check-groups/', 'checkId', 'check/api'],
  ['/v1/check-groups/', 'groupId', 'group'],
  ['/v1/check-groups/', 'id', 'group'],
  ['/v2/check-groups/', 'id', 'group'],
  ['/v1/client-certificates/', 'id', 'clientCertificate'],
  ['/v1/api-keys/', 'id', 'apiKey'],
  ['/v1/error-groups/checks/', 'checkId', 'check/url'],
  ['/v1/error-groups/', 'id', 'errorGroup'],
  ['/v1/root-cause-analyses/error-groups/', 'errorGroupId', 'errorGroup'],
  ['/v1/root-cause-analyses/', 'id', 'analysis'],
  ['/v1/playwright-bundles/', 'key', 'bundle'],
  ['/v1/private-locations/', 'keyId', 'privateLocationKey'],
  ['/v1/private-locations/', 'id', 'privateLocation'],
  ['/v1/locations/', 'keyId', 'locationKey'],
  ['/v1/locations/', 'code', 'location'],
  ['/v1/runtimes/', 'id', 'runtime'],
  ['/v1/snippets/', 'id', 'snippet'],
  ['/v1/variables/', 'key', 'variable'],
  ['/v1/projects/', 'logicalId', 'project'],
  ['/v1/projects/', 'id', 'deployment'],
  ['/ping/', 'token', 'pingToken'],
  ['/checks/', 'token', 'checkTrigger'],
  ['/check-groups/', 'token', 'groupTrigger'],
  ['/checks/', 'id', 'check/url'],
  ['/check-groups/', 'id', 'group'],
  ['/', 'checkId', 'check/url'],
];

/** Fills the service's first account. It needs `bundles` for the suite, and queues that take things (`idleBackground`). */
export async function makeOneOfEverything(service: TestService): Promise<Everything> {
  const { db, account } = service;
  const ids: { [name: string]: string } = {
    location: 'eu-west-1',
    runtime: '2026.04',
    asset: 'trace.zip',
    statusPageUrl: 'shop',
  };
  const bodies = new Map<string, Fields>();

  const pathOf = (path: string) =>
    path.replace(/\{([^}]+)\}/g, (_whole, parameter: string) => {
      const row = parameters.find(([prefix, name]) => path.startsWith(prefix) && name === parameter);
      const id = row === undefined ? undefined : ids[row[2]];
      if (id === undefined) throw new Error(`one-of-everything.ts has no {${parameter}} of ${path}`);
      return encodeURIComponent(id);
    });

  async function make(path: string, body: Fields = {}, method = 'POST'): Promise<Fields> {
    const answer = await service.call(method, pathOf(path), { body });
    if (answer.status >= 300) {
      throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    }
    if (method === 'POST') bodies.set(path, body);
    return answer.body;
  }
  const idOf = (made: Fields, field = 'id') => String(made[field]);
  const first = (list: unknown) => (list as Fields[])[0] ?? {}; // lists of the API hold objects

  ids['privateLocation'] = idOf(await make('/v1/private-locations', { name: 'Office', slugName: 'office' }));
  ids['privateLocationKey'] = idOf(await make('/v1/private-locations/{id}/keys'));
  ids['locationKey'] = idOf(await make('/v1/locations/{code}/keys'));
  ids['apiKey'] = idOf(await make('/v1/api-keys', { name: 'CI' }));
  ids['snippet'] = idOf(await make('/v1/snippets', { name: 'login', script: 'console.log(1)' }));
  await make('/v1/variables', { key: 'TOKEN', value: 'first-token', secret: true });
  ids['variable'] = 'TOKEN';
  const authority = await createAuthority({ commonName: 'Test' });
  const { cert, key } = await authority.issue({
    commonName: 'client',
    notBefore: new Date(service.now() - 86_400_000),
    notAfter: new Date(service.now() + 86_400_000),
  });
  ids['clientCertificate'] = idOf(
    await make('/v1/client-certificates', { host: '*.shop.example', cert, key }),
  );
  ids['alertChannel'] = idOf(
    await make('/v1/alert-channels', { type: 'EMAIL', config: { address: 'ops@shop.example' } }),
  );
  ids['group'] = idOf(await make('/v2/check-groups', { name: 'Shop', tags: ['shop'] }));
  bodies.set('/v1/check-groups', { name: 'Shop' });
  const bundle = await service.call('POST', '/v1/playwright-bundles', {
    body: gzipSync('a suite'),
    headers: { 'content-type': 'application/octet-stream' },
  });
  ids['bundle'] = idOf(bundle.body, 'key');
  const at = { name: 'A check', locations: ['eu-west-1'], tags: ['shop'] };
  const script = { ...at, script: 'import "x"' };
  const checks: { [type: string]: Fields } = {
    api: {
      ...at,
      groupId: Number(ids['group']),
      request: { url: 'https://shop.example/api', headers: [{ key: 'a', value: 'b' }] },
      privateLocations: ['office'],
    },
    browser: script,
    multistep: script,
    playwright: { ...at, codeBundlePath: ids['bundle'] },
    url: {
      ...at,
      request: {
        url: 'https://shop.example/',
        assertions: [{ source: 'STATUS_CODE', comparison: 'EQUALS', target: '200' }],
      },
      environmentVariables: [{ key: 'A', value: 'b' }],
      alertChannelSubscriptions: [{ alertChannelId: Number(ids['alertChannel']), activated: true }],
      retryStrategy: { type: 'FIXED' },
    },
    dns: { ...at, request: { query: 'shop.example' }, heartbeat: {}, script: '' },
    tcp: { ...at, request: { hostname: 'db.example', port: 5432 } },
    icmp: { ...at, request: { hostname: 'gateway.example' } },
    ssl: { ...at, request: { sslConfig: { hostname: 'shop.example' } } },
    traceroute: { ...at, request: { url: 'shop.example' } },
    grpc: { ...at, request: { url: 'shop.example', port: 443, grpcConfig: { mode: 'HEALTH' } } },
    heartbeat: { name: 'Backup', heartbeat: { period: 1, periodUnit: 'hours' } },
    agentic: { name: 'Buy', locations: ['eu-west-1'], prompt: 'Buy a book.' },
  };
  for (const [type, body] of Object.entries(checks)) {
    const made = await make(`/v1/checks/${type}`, body);
    if (type !== 'heartbeat') bodies.set(`/v1/checks/${type}/try`, body);
    ids[`check/${type}`] = idOf(made);
    if (type === 'heartbeat') ids['pingToken'] = idOf(made['heartbeat'] as Fields, 'pingToken');
  }
  const checkId = ids['check/url'] ?? '';

  ids['subscription'] = idOf(
    await make('/v1/alert-channels/{id}/subscriptions', { checkId, activated: true }, 'PUT'),
  );
  ids['heartbeatEvent'] = idOf(await make('/v1/checks/heartbeats/{checkId}/events'));
  ids['checkTrigger'] = idOf(await make('/v1/triggers/checks/{checkId}'), 'token');
  ids['groupTrigger'] = idOf(await make('/v1/triggers/check-groups/{groupId}'), 'token');
  const target = { target: { checkId: [checkId] } };
  const sessions = await make('/v2/check-sessions/trigger', target);
  bodies.set('/v1/check-sessions/trigger', target);
  ids['checkSession'] = idOf(first(sessions['sessions']), 'checkSessionId');
  bodies.set('/v1/check-sessions/{checkSessionId}/cancel', { sequenceId: [uuidv7()] });
  ids['testSession'] = idOf(
    await make('/v1/test-sessions/trigger', { name: 'Before', ...target }),
    'testSessionId',
  );
  const [result] = await storeRuns(db, { accountId: account.id, checkId }, [
    { at: service.now() - 60_000, status: 'failed' },
  ]);
  ids['result'] = result ?? '';

  ids['maintenanceWindow'] = idOf(
    await make('/v1/maintenance-windows', {
      name: 'Patches',
      startsAt: new Date(service.now() + 3_600_000).toISOString(),
      endsAt: new Date(service.now() + 7_200_000).toISOString(),
      tags: ['shop'],
    }),
  );
  const occurrences = await service.call('GET', pathOf('/v1/maintenance-windows/{id}/occurrences'));
  ids['occurrence'] = idOf(first(occurrences.body));
  const updated = await make('/v1/maintenance-windows/{id}/occurrences/{occurrenceId}/updates', {
    status: 'SCHEDULED',
    description: 'Soon.',
  });
  ids['maintenanceUpdate'] = idOf(Array.isArray(updated['updates']) ? first(updated['updates']) : updated);

  ids['service'] = idOf(await make('/v1/status-pages/services', { name: 'Checkout' }));
  ids['statusPage'] = idOf(
    await make('/v1/status-pages', {
      name: 'Shop',
      url: 'shop',
      cards: [{ name: 'All', services: [{ serviceId: ids['service'] }] }],
    }),
  );
  ids['statusPageSubscription'] = idOf(
    await make('/v1/status-pages/{id}/subscriptions', { email: 'reader@shop.example' }),
  );
  const update = { status: 'INVESTIGATING', description: 'We look into it.' };
  ids['statusPageIncident'] = idOf(
    await make('/v1/status-pages/incidents', {
      name: 'Slow',
      severity: 'MINOR',
      services: [{ id: ids['service'] }],
      incidentUpdates: [update],
    }),
  );
  ids['statusPageIncidentUpdate'] = idOf(
    await make('/v1/status-pages/incidents/{id}/incident-updates', update),
  );
  ids['incident'] = idOf(
    await make('/v1/incidents', {
      name: 'Slow',
      severity: 'MINOR',
      dashboardId: ids['statusPage'],
      incidentUpdates: [update],
    }),
  );
  ids['incidentUpdate'] = idOf(await make('/v1/incidents/{id}/updates', update));
  bodies.set('/v1/analytics/checks', { checkIds: [checkId] });

  await make('/v1/projects/test', { project: { logicalId: 'shop', name: 'Shop' }, resources: [] });
  const deployment = await make('/v1/projects/deploy', {
    project: { logicalId: 'shop', name: 'Shop' },
    resources: [{ type: 'snippet', logicalId: 'logout', payload: { name: 'logout', script: '1' } }],
  });
  ids['project'] = 'shop';
  ids['deployment'] = idOf(deployment);
  await service.call('GET', pathOf('/v1/projects/{logicalId}/deployments/{id}/completion'));

  Object.assign(ids, await insertWhatRunsMake(db, { accountId: account.id, checkId, now: service.now() }));
  await db.query(
    `insert into alert_notifications (id, account_id, channel_id, channel_type, alert_id, alert_type, check_id, alert_config, created_at)
     values ($1, $2, $3, 'EMAIL', $4, 'ALERT_FAILURE', $5, '{}', $6)`,
    [
      (ids['alertNotification'] = uuidv7()),
      account.id,
      Number(ids['alertChannel']),
      ids['alert'],
      checkId,
      new Date(service.now()),
    ],
  );
  bodies.set('/v1/root-cause-analyses/error-groups/{errorGroupId}', { userContext: 'Since noon.' });
  return { ids, bodies, pathOf };
}

/** What no route creates: a status, an alert, an error group, an analysis of it. */
async function insertWhatRunsMake(
  db: Db,
  { accountId, checkId, now }: { accountId: string; checkId: string; now: number },
): Promise<{ [name: string]: string }> {
  const [alert, errorGroup, analysis] = [uuidv7(now), uuidv7(now), uuidv7(now)];
  const at = new Date(now);
  await db.query(
    `insert into alerts (id, account_id, check_id, check_name, check_type, tags, alert_type, started_at, created_at)
     values ($1, $2, $3, 'A check', 'URL', '{}', 'ALERT_FAILURE', $4, $4)`,
    [alert, accountId, checkId, at],
  );
  await db.query(
    `insert into error_groups (id, account_id, check_id, error_hash, raw_error_message, cleaned_error_message, first_seen,
       last_seen, last_result_id) values ($1, $2, $3, $4, 'refused', 'refused', $5, $5, $1)`,
    [errorGroup, accountId, checkId, 'ab'.repeat(32), at],
  );
  await db.query(
    `insert into check_statuses (check_id, account_id, status, has_failures, has_errors, is_degraded, last_started_at)
     values ($1, $2, 'failed', true, false, false, $3)`,
    [checkId, accountId, at],
  );
  const found = { classification: 'a', userImpact: 'b', rootCause: 'c', codeFix: null };
  await db.query(
    `insert into root_cause_analyses (id, account_id, check_id, error_group_id, check_type, provider, model, user_context,
       status, duration_ms, analysis, created_at)
     values ($1, $2, $3, $4, 'URL', 'builtin', 'rules', '', 'COMPLETED', 5, $5::jsonb, $6)`,
    [
      analysis,
      accountId,
      checkId,
      errorGroup,
      JSON.stringify({ ...found, evidence: [], referenceLinks: [] }),
      at,
    ],
  );
  return { alert, errorGroup, analysis };
}
