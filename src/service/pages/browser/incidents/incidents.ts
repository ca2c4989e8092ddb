import { get, getAll } from '../base/service.ts';

/** Incidents of both kinds as the pages show them: of services, and of a whole status page. */

export type Kind = 'services' | 'page';
export type Update = { id: string; status: string; description: string; created_at: string };
export type Incident = {
  readonly kind: Kind;
  readonly id: string;
  readonly name: string;
  readonly severity: string;
  readonly status: string;
  readonly from: string;
  /** Null = it is open. */
  readonly to: string | null;
  readonly services: readonly { readonly id: string; readonly name: string }[];
  /** The status page; null = every page with one of the services. */
  readonly pageId: string | null;
  readonly updates: readonly Update[];
};

type OfServices = {
  id: string;
  name: string;
  severity: string;
  services: { id: string; name: string }[];
  incidentUpdates: Update[];
  lastUpdateStatus: string;
  duration: number | null;
  created_at: string;
};
type OfPage = {
  id: string;
  name: string;
  severity: string;
  dashboardId: string;
  startedAt: string;
  stoppedAt: string | null;
  incidentUpdates: Update[];
};

export const severities: { readonly [K in Kind]: readonly string[] } = {
  services: ['CRITICAL', 'MAJOR', 'MEDIUM', 'MINOR'],
  page: ['MAJOR', 'MINOR', 'MAINTENANCE'],
};
export const statuses: { readonly [K in Kind]: readonly string[] } = {
  services: ['INVESTIGATING', 'IDENTIFIED', 'MONITORING', 'RESOLVED'],
  page: ['INVESTIGATING', 'IDENTIFIED', 'MONITORING', 'RESOLVED', 'MAINTENANCE'],
};
export const paths: { readonly [K in Kind]: { readonly list: string; readonly updates: string } } = {
  services: { list: '/v1/status-pages/incidents', updates: 'incident-updates' },
  page: { list: '/v1/incidents', updates: 'updates' },
};

/** "Investigating". */
export const wordOf = (code: string): string =>
  `${code.slice(0, 1)}${code.slice(1).toLowerCase().replaceAll('_', ' ')}`;

/** These codes with their words. */
export const choicesOf = (values: readonly string[]) =>
  values.map((value) => ({ value, title: wordOf(value) }));

export const colourOf = ({ severity, to }: Incident): string => {
  if (to !== null && Date.parse(to) <= Date.now()) return 'passed';
  return severity === 'CRITICAL' || severity === 'MAJOR' ? 'failed' : 'degraded';
};

export const isOpen = ({ to }: Incident): boolean => to === null || Date.parse(to) > Date.now();

const ofServices = (row: OfServices): Incident => {
  const from = row.incidentUpdates[0]?.created_at ?? row.created_at;
  return {
    kind: 'services',
    id: row.id,
    name: row.name,
    severity: row.severity,
    status: row.lastUpdateStatus,
    from,
    to: row.duration === null ? null : new Date(Date.parse(from) + row.duration).toISOString(),
    services: row.services,
    pageId: null,
    updates: row.incidentUpdates,
  };
};
const ofPage = (row: OfPage): Incident => ({
  kind: 'page',
  id: row.id,
  name: row.name,
  severity: row.severity,
  status: row.incidentUpdates.at(-1)?.status ?? '',
  from: row.startedAt,
  to: row.stoppedAt,
  services: [],
  pageId: row.dashboardId,
  updates: row.incidentUpdates,
});

/** The newest incidents of both kinds, 1,000 of each at most, newest first. */
export async function allIncidents(signal: AbortSignal): Promise<Incident[]> {
  const [services, pages] = await Promise.all([
    get<{ entries: OfServices[] }>('/v1/status-pages/incidents?paginated=false', signal),
    getAll<OfPage>('/v1/incidents?includeAllIncidentUpdates=true', signal),
  ]);
  return [...services.entries.map(ofServices), ...pages.map(ofPage)].sort((a, b) =>
    b.from.localeCompare(a.from),
  );
}

/** One incident, with all its updates. */
export async function readIncident(kind: Kind, id: string, signal: AbortSignal): Promise<Incident> {
  const path = `${paths[kind].list}/${encodeURIComponent(id)}`;
  return kind === 'services'
    ? ofServices(await get<OfServices>(path, signal))
    : ofPage(await get<OfPage>(`${path}?includeAllIncidentUpdates=true`, signal));
}
