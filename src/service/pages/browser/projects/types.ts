/** Projects and deployments as the public API has them. */

export type Resource = {
  readonly type: string;
  readonly logicalId: string;
  readonly physicalId: string;
  readonly protected: boolean;
  readonly detached: boolean;
};
export type Project = {
  readonly logicalId: string;
  readonly name: string;
  readonly repoUrl: string | null;
  readonly resourceCount: number;
  readonly resources?: readonly Resource[];
  readonly created_at: string;
  readonly updated_at: string | null;
};
export type Deployment = {
  readonly id: string;
  readonly status: string;
  readonly progress: number;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly result: {
    readonly diff: readonly { readonly type: string; readonly logicalId: string; readonly action: string }[];
  } | null;
  readonly createdAt: string;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
};

const pages: { readonly [type: string]: (id: string) => string } = {
  check: (id) => `/checks/${id}`,
  'check-trigger': (id) => `/checks/${id}?tab=settings`,
  'check-group': (id) => `/groups/${id}`,
  'check-group-trigger': (id) => `/groups/${id}`,
  'private-location': (id) => `/locations/${id}`,
  'status-page': (id) => `/status-pages/${id}`,
  'status-page-service': (id) => `/services/${id}`,
  'maintenance-window': (id) => `/maintenance/${id}`,
  variable: () => '/settings?tab=variables',
  snippet: () => '/settings?tab=snippets',
  'alert-channel': () => '/alerts?tab=channels',
};

/** The page of a resource, if it has one. */
export const pageOfResource = ({ type, physicalId }: Resource): string | undefined =>
  pages[type]?.(encodeURIComponent(physicalId));

/** The address of a repository, if it can be opened: it comes from a file, and may be any text. */
export const webAddress = (url: string | null): string | undefined =>
  url !== null && /^https?:\/\//i.test(url) ? url : undefined;

export const pathOfProject = (logicalId: string): string => `/projects/${encodeURIComponent(logicalId)}`;
