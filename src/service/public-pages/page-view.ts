import type { Queryable } from '../db/database.ts';
import { byIncident, findIncidentUpdates, type IncidentKind } from '../incidents/update-statements.ts';
import { incidentsOfDashboard, type IncidentRow } from '../incidents/statements.ts';
import {
  incidentsOfPage,
  servicesOfIncidents,
  type IncidentService,
  type StatusPageIncidentRow,
} from '../incidents/page-statements.ts';
import { cardsOfPages, type StatusPageRow } from '../status-pages/statements.ts';
import { visibleMaintenances, type Maintenance } from '../maintenance/maintenances.ts';
import { isOver } from '../maintenance/status.ts';
import { dayMs } from '../../durations.ts';
import { daysOfServices, servicesOfPage } from './check-statements.ts';
import { daysOf, shownDays, uptimeOf, type DayState } from './service-days.ts';
import { stateOf, stateOfChecks, stateWord, worst, type State } from './states.ts';

/** The content of a status page at one moment: services with their state, incidents, maintenance. */

const maxIncidents = 500;
/** Past incidents that are shown with their updates. */
const maxPast = 50;
/** Maintenance that must be completed manually may last longer than planned. */
const lateMs = 7 * dayMs;
const aheadMs = 30 * dayMs;
export const pastMaintenanceDays = 30;
const maxPastMaintenances = 20;
const maxMaintenances = 1000;
/** Services beyond this number have no bars of days. */
const maxWithDays = 60;

export type IncidentView = {
  kind: IncidentKind;
  id: string;
  name: string;
  severity: string;
  state: State;
  /** Status of its last update. */
  status: string;
  startedAt: Date;
  endedAt: Date | null;
  /** The affected services that the page shows. */
  services: string[];
  /** Newest first. */
  updates: { id: string; status: string; description: string; createdAt: Date; updatedAt: Date | null }[];
};

export type MaintenanceView = Pick<Maintenance, 'id' | 'status' | 'startsAt' | 'endsAt' | 'updates'> & {
  name: string;
  description: string | null;
  timezone: string;
  services: string[];
};

export type ServiceView = {
  name: string;
  state: State;
  word: string;
  /** The worst state of each day (UTC), today last; null = not shown. */
  days: DayState[] | null;
  /** Percent; null = nothing is known yet. */
  uptime: number | null;
};

export type PageView = {
  page: StatusPageRow;
  state: State;
  cards: { name: string; services: ServiceView[] }[];
  open: IncidentView[];
  past: IncidentView[];
  running: MaintenanceView[];
  scheduled: MaintenanceView[];
  /** Newest first. */
  pastMaintenances: MaintenanceView[];
  now: number;
};

/** `now`: milliseconds since the epoch. */
export async function readPage(
  db: Queryable,
  { page, now }: { page: StatusPageRow; now: number },
): Promise<PageView> {
  const cards = await cardsOfPages(db, [page.id]);
  const names = new Map(
    cards.flatMap(({ services }) => services.map(({ serviceId, name }) => [serviceId, name])),
  );
  const since = new Date((Math.floor(now / dayMs) - shownDays + 1) * dayMs);
  const rows = await incidentsOfPage(db, { pageId: page.id, since, limit: maxIncidents });
  const services = byIncident(
    await servicesOfIncidents(
      db,
      rows.map(({ id }) => id),
    ),
  );
  const dashboard = await incidentsOfDashboard(db, { dashboardId: page.id, since, limit: maxIncidents });
  const maintenances = await maintenancesOf(db, { page, names, now });
  const current = maintenances.filter(
    ({ status, endsAt }) => !isOver(status) && (status !== 'SCHEDULED' || endsAt > now),
  );
  const running = current.filter(({ status }) => status !== 'SCHEDULED');

  const stored = new Map((await servicesOfPage(db, page.id)).map((service) => [service.id, service]));
  const runs = await daysOfServices(db, {
    serviceIds: [...stored.keys()],
    since,
    today: new Date(Math.floor(now / dayMs) * dayMs),
  });
  const runsOf = new Map<string, typeof runs>();
  for (const day of runs) {
    const own = runsOf.get(day.serviceId);
    if (own === undefined) runsOf.set(day.serviceId, [day]);
    else own.push(day);
  }
  const serviceView = (serviceId: string, name: string): ServiceView => {
    const service = stored.get(serviceId);
    const own = rows.filter(({ id }) => concerns(services.get(id), serviceId));
    const isMaintained = running.some(({ serviceIds }) => serviceIds.includes(serviceId));
    // Checks are expected to fail during maintenance.
    const byChecks = service === undefined || isMaintained ? null : stateOfChecks(service);
    const state = worst([
      ...(isMaintained ? ['maintenance' as const] : []),
      ...own.filter(({ resolvedAt }) => resolvedAt === null).map(({ severity }) => stateOf(severity)),
      ...(byChecks === null ? [] : [byChecks.state]),
    ]);
    const known = {
      createdAt: service?.createdAt ?? new Date(now),
      troubles: own.map(({ severity, startedAt, resolvedAt }) => ({
        state: stateOf(severity),
        from: startedAt.getTime(),
        to: resolvedAt?.getTime() ?? now,
      })),
      runs: runsOf.get(serviceId) ?? [],
      now,
    };
    return {
      name,
      state,
      word: (byChecks?.state === state ? byChecks.word : null) ?? stateWord(state),
      days: names.size <= maxWithDays ? daysOf(known) : null,
      uptime: uptimeOf(known),
    };
  };
  const shown = cards.map((card) => ({
    name: card.name,
    services: card.services.map(({ serviceId, name }) => serviceView(serviceId, name)),
  }));

  const all = [
    ...rows.map((row) => ofServices(row, services.get(row.id) ?? [], names)),
    ...dashboard.map(ofDashboard),
  ].sort((a, b) => b.startedAt.getTime() - a.startedAt.getTime());
  const isOpen = ({ endedAt }: IncidentView) => endedAt === null || endedAt.getTime() > now;
  const open = all.filter(isOpen);
  const past = all.filter((incident) => !isOpen(incident)).slice(0, maxPast);
  await addUpdates(db, [...open, ...past]);
  return {
    page,
    cards: shown,
    state: worst([
      ...shown.flatMap((card) => card.services.map(({ state }) => state)),
      ...open.filter(({ startedAt }) => startedAt.getTime() <= now).map(({ state }) => state),
      ...running.map(() => 'maintenance' as const),
    ]),
    open,
    past,
    running,
    scheduled: current.filter(({ status }) => status === 'SCHEDULED'),
    pastMaintenances: maintenances
      .filter(({ status, startsAt }) => isOver(status) && startsAt <= now)
      .slice(-maxPastMaintenances)
      .reverse(),
    now,
  };
}

const concerns = (services: readonly IncidentService[] | undefined, serviceId: string) =>
  services?.some(({ id }) => id === serviceId) === true;

/** Services that the page does not show must not be disclosed. */
const ofServices = (
  row: StatusPageIncidentRow,
  services: readonly IncidentService[],
  names: ReadonlyMap<string, string>,
): IncidentView => ({
  kind: 'status-page',
  id: row.id,
  name: row.name,
  severity: row.severity,
  state: stateOf(row.severity),
  status: row.lastUpdateStatus,
  startedAt: row.startedAt,
  endedAt: row.resolvedAt,
  services: services.filter(({ id }) => names.has(id)).map(({ name }) => name),
  updates: [],
});

const ofDashboard = (row: IncidentRow): IncidentView => ({
  kind: 'dashboard',
  id: row.id,
  name: row.name,
  severity: row.severity,
  state: stateOf(row.severity),
  status: '',
  startedAt: row.startedAt,
  endedAt: row.stoppedAt,
  services: [],
  updates: [],
});

async function addUpdates(db: Queryable, incidents: readonly IncidentView[]): Promise<void> {
  for (const kind of ['status-page', 'dashboard'] as const) {
    const own = incidents.filter((incident) => incident.kind === kind);
    const updates = byIncident(await findIncidentUpdates(db, kind, { incidentIds: own.map(({ id }) => id) }));
    for (const incident of own) {
      incident.updates = (updates.get(incident.id) ?? []).reverse();
      incident.status = incident.updates[0]?.status ?? incident.status;
    }
  }
}

async function maintenancesOf(
  db: Queryable,
  { page, names, now }: { page: StatusPageRow; names: ReadonlyMap<string, string>; now: number },
): Promise<(MaintenanceView & { serviceIds: string[] })[]> {
  const shownOn = { accountId: page.accountId, statusPageId: page.id, now, limit: maxMaintenances };
  const former = await visibleMaintenances(db, {
    ...shownOn,
    from: now - pastMaintenanceDays * dayMs,
    to: now - lateMs,
  });
  const found = await visibleMaintenances(db, { ...shownOn, from: now - lateMs, to: now + aheadMs });
  const known = new Set(found.map(({ id }) => id));
  return [...former.filter(({ id, status }) => isOver(status) && !known.has(id)), ...found].map(
    ({ id, status, startsAt, endsAt, updates, window }) => {
      const { affectAllServices, serviceIds: named } = window.statusPageVisibility;
      const serviceIds = [...names.keys()].filter(
        (serviceId) => affectAllServices || named.includes(serviceId),
      );
      return {
        id,
        status,
        startsAt,
        endsAt,
        updates: [...updates].reverse(),
        name: window.name,
        description: window.description,
        timezone: window.timezone,
        serviceIds,
        services: affectAllServices ? [] : serviceIds.map((serviceId) => names.get(serviceId) ?? ''),
      };
    },
  );
}
