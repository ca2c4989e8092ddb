import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Browser, BrowserContext } from 'playwright';
import { dayMs, hourMs } from '../src/durations.ts';
import { Secret } from '../src/secrets/secret.ts';
import { makeRollupPartition } from '../src/service/analytics/rollup-statements.ts';
import { migrate } from '../src/service/db/migrate.ts';
import type { Db } from '../src/service/db/database.ts';
import { openDatabase } from '../src/service/db/open-database.ts';
import { bucketSql } from '../src/service/engine/histogram.ts';
import { hasChromium, startChromium } from '../test/helpers/scripts/chromium.ts';
import { postgresBinaries, startPostgres } from '../test/helpers/service/postgres.ts';
import { fillAccount } from './lib/overview-account.ts';
import { report, startChild } from './lib/processes.ts';

/**
 * The pages in a Chromium, with an empty cache each time: milliseconds until the last row or chart is painted, kilobytes of
 * scripts and styles, the service's processor time, and the cost of an open tab. The database is PostgreSQL.
 */
const limits = {
  'home, 1,000 checks: last row painted, ms': 600,
  'home, 1,000 checks: scripts and styles, kB': 120,
  'home, 10,000 checks: last row painted, ms': 1000,
  'home, 10,000 checks: processor of the service, ms': 40,
  'check, 30 days: charts painted, ms': 800,
  'open tab, 1,000 checks: the tab, % of a core': 1,
  'open tab, 1,000 checks: the service, % of a core': 1,
} as const;
const figures: Partial<Record<keyof typeof limits, number>> = {};

const rounds = 7;
const shownRows = 100;
const liveMs = 30_000;
/** 1,000 checks, each every 10 minutes. */
const runEveryMs = 600;
const median = (values: number[]) => values.sort((a, b) => a - b)[values.length >> 1] ?? 0;

/** Results of 30 days for one check, as rollups. */
async function fillMonth(db: Db, checkId: string, now: number): Promise<void> {
  const hour = Math.floor(now / hourMs) * hourMs;
  for (let back = 30; back >= 0; back--) await makeRollupPartition(db, new Date(hour - back * dayMs));
  await db.query(
    `insert into check_rollups (check_id, metric, hour, run_location, status, group_key, count, sum, squares, least, greatest,
       bucket_keys, bucket_counts)
     select $1, metric, hour, 'eu-west-1', 'passed', '', 6, 600, 1e5, 50, 200,
       case metric when 'retries' then '{-32768}'::smallint[] else array(
         select distinct ${bucketSql('v')} from (
           select 50 + 400 * random() + 0 * extract(epoch from hour) as v from generate_series(1, 6)) x order by 1) end,
       case metric when 'retries' then '{6}'::integer[] else '{1,1,1,1,1,1}'::integer[] end
     from generate_series($2::timestamptz, $3::timestamptz, '1 hour') as hour
     cross join unnest(array['retries', 'responseTime', 'dns', 'tcp', 'wait', 'firstByte', 'download']) as metric
     on conflict do nothing`,
    [checkId, new Date(hour - 30 * dayMs), new Date(hour - 2 * hourMs)],
  );
}

type Visit = { paintedMs: number; cpuMs: number; kb: number };
type Site = { base: string; browser: Browser };

async function signedIn({ base, browser }: Site, key: string): Promise<BrowserContext> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const answer = await context.request.post(`${base}/v1/sign-in`, { data: { apiKey: key } });
  if (!answer.ok()) throw new Error(await answer.text());
  return context;
}

async function serviceCpu({ base }: Site): Promise<number> {
  return ((await (await fetch(`${base}/bench/cpu`)).json()) as { ms: number }).ms; // pages-service.ts
}

/** A script for a page: `window.painted` is the time when what `ready` waits for is on the screen. */
const noteWhen = (ready: string) => `
  window.painted = new Promise((resolve, reject) => {
    setTimeout(() => reject(new Error('not complete: ' + document.body.innerText)), 20_000);
    const look = () => {
      if (!(${ready})) return requestAnimationFrame(look);
      // The frame after the next one begins when this one is painted.
      requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now())));
    };
    requestAnimationFrame(look);
  });
`;

/** Opens a page with an empty cache. `ready`: an expression of JavaScript that is true when the page is complete. */
async function visit(site: Site, key: string, path: string, ready: string): Promise<Visit> {
  const context = await signedIn(site, key);
  const page = await context.newPage();
  await page.addInitScript(noteWhen(ready));
  let bytes = 0;
  const sizes: Promise<void>[] = [];
  page.on('requestfinished', (request) => {
    if (!['script', 'stylesheet'].includes(request.resourceType())) return;
    sizes.push(
      request.sizes().then(({ responseBodySize, responseHeadersSize }) => {
        bytes += responseBodySize + responseHeadersSize;
      }),
    );
  });
  const before = await serviceCpu(site);
  await page.goto(site.base + path);
  const paintedMs = (await page.evaluate('window.painted')) as number; // of noteWhen
  await delay(300);
  const cpuMs = (await serviceCpu(site)) - before;
  await Promise.all(sizes);
  await context.close();
  return { paintedMs, cpuMs, kb: bytes / 1000 };
}

async function visits(site: Site, key: string, path: string, ready: string): Promise<Visit> {
  for (let round = 0; round < 3; round++) await visit(site, key, path, ready);
  const all: Visit[] = [];
  for (let round = 0; round < rounds; round++) all.push(await visit(site, key, path, ready));
  const of = (name: keyof Visit) => median(all.map((one) => one[name]));
  return { paintedMs: of('paintedMs'), cpuMs: of('cpuMs'), kb: of('kb') };
}

/** Inserts results at the pace of 1,000 checks, and two changes of a state. */
async function runChecks(db: Db, accountId: string): Promise<void> {
  const end = Date.now() + liveMs;
  for (let at = 0; Date.now() < end; at++) {
    await db.query(
      `insert into check_results (id, started_at, stopped_at, account_id, check_id, sequence_id, check_type, run_location,
         result_type, status, has_failures, has_errors, is_degraded, over_max_response_time, is_cancelled, response_time,
         attempts, body)
       select gen_random_uuid(), now(), now(), $1, id, gen_random_uuid(), 'URL', 'eu-west-1', 'FINAL', 'passed', false, false,
         false, false, false, 100, 0, '{}' from checks where account_id = $1 order by random() limit 1`,
      [accountId],
    );
    if (at % 25 === 10) {
      await db.query(
        `update check_statuses set status = case status when 'failed' then 'passed' else 'failed' end, last_started_at = now()
         where check_id = (select check_id from check_statuses where account_id = $1 order by random() limit 1)`,
        [accountId],
      );
    }
    await delay(runEveryMs);
  }
}

const rowsShown = `document.querySelectorAll('.check-name').length >= ${shownRows}`;
const chartsShown = `document.querySelectorAll('.uplot canvas').length > 0 && document.querySelector('.loading') === null`;

/** What live updates of an open home page cost its tab and the service, more than without runs, in percent of a core. */
async function liveCost(site: Site, db: Db, account: { id: string; key: string }) {
  const began = await serviceCpu(site);
  await runChecks(db, account.id);
  const alone = (await serviceCpu(site)) - began;
  const context = await signedIn(site, account.key);
  const page = await context.newPage();
  // The tab's own process: others may begin or end meanwhile, and a spare one may warm up.
  const session = await context.newCDPSession(page);
  await session.send('Performance.enable');
  const busy = async () => {
    const { metrics } = await session.send('Performance.getMetrics');
    return 1000 * (metrics.find(({ name }) => name === 'ProcessTime')?.value ?? Number.NaN);
  };
  await page.addInitScript(noteWhen(rowsShown));
  await page.goto(site.base);
  await page.evaluate('window.painted');
  await delay(3_000);
  const idleBefore = await busy();
  await delay(liveMs);
  const [tabBefore, serviceBefore] = [await busy(), await serviceCpu(site)];
  const idle = tabBefore - idleBefore;
  await runChecks(db, account.id);
  const [tab, service] = [
    (await busy()) - tabBefore - idle,
    (await serviceCpu(site)) - serviceBefore - alone,
  ];
  await context.close();
  return { tab: (100 * Math.max(0, tab)) / liveMs, service: (100 * Math.max(0, service)) / liveMs };
}

const open = (url: string) => openDatabase({ databaseUrl: new Secret(url), dataDir: '' });

/** Starts a service on a new database with an account of so many checks. */
async function withSite(
  { url, browser, checks }: { url: string; browser: Browser; checks: number },
  measure: (site: Site, db: Db, key: string) => Promise<void>,
): Promise<void> {
  const db = await open(url);
  await migrate(db);
  const key = await fillAccount(db, Date.now(), checks);
  const file = join(import.meta.dirname, 'lib', 'pages-service.js');
  const { child, hello } = await startChild<{ port: number }>(file, [url]);
  try {
    await measure({ base: `http://127.0.0.1:${hello.port}`, browser }, db, key);
  } finally {
    child.stdin?.end();
    await once(child, 'exit');
    await db.close();
  }
}

async function ofThousand(url: string, browser: Browser): Promise<void> {
  await withSite({ url, browser, checks: 1_000 }, async (site, db, key) => {
    const [check] = await db.query<{ id: string; accountId: string }>(
      'select id, account_id as "accountId" from checks limit 1',
    );
    if (check === undefined) throw new Error('there is no check');
    await fillMonth(db, check.id, Date.now());
    const home = await visits(site, key, '/', rowsShown);
    figures['home, 1,000 checks: last row painted, ms'] = home.paintedMs;
    figures['home, 1,000 checks: scripts and styles, kB'] = home.kb;
    const month = await visits(site, key, `/checks/${check.id}?range=30d`, chartsShown);
    figures['check, 30 days: charts painted, ms'] = month.paintedMs;
    const live = await liveCost(site, db, { id: check.accountId, key });
    figures['open tab, 1,000 checks: the tab, % of a core'] = live.tab;
    figures['open tab, 1,000 checks: the service, % of a core'] = live.service;
  });
}

async function ofTenThousand(url: string, browser: Browser): Promise<void> {
  await withSite({ url, browser, checks: 10_000 }, async (site, _db, key) => {
    const home = await visits(site, key, '/', rowsShown);
    figures['home, 10,000 checks: last row painted, ms'] = home.paintedMs;
    figures['home, 10,000 checks: processor of the service, ms'] = home.cpuMs;
  });
}

async function main(): Promise<void> {
  const binaries = await postgresBinaries();
  if (binaries === null || !existsSync(binaries) || !hasChromium) {
    console.log('not measured, because PostgreSQL or Chromium is not installed');
    console.log(
      JSON.stringify({ name: 'pages', unit: 'ratio', ours: null, peer: null, limit: 1, ratio: null }),
    );
    return;
  }
  const postgres = await startPostgres(binaries);
  const browser = await startChromium();
  try {
    await ofThousand(postgres.url('postgres'), browser);
    const admin = await open(postgres.url('postgres'));
    await admin.exec('create database large');
    await admin.close();
    await ofTenThousand(postgres.url('large'), browser);
  } finally {
    await browser.close();
    await postgres.stop();
  }
  const ratios = Object.entries(limits).map(([name, limit]) => {
    const ours = figures[name as keyof typeof limits] ?? Number.NaN; // the keys of limits
    console.log(
      `${name.padEnd(50)} ${ours.toFixed(1).padStart(7)} limit ${limit}, ratio ${(ours / limit).toFixed(2)}`,
    );
    return ours / limit;
  });
  const ratio = Number(Math.max(...ratios).toFixed(2));
  report({ name: 'pages', unit: 'ratio', ours: ratio, peer: null, limit: 1, ratio, figures });
  process.exitCode = ratio <= 1 ? 0 : 1;
}

await main();
