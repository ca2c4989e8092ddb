import type { PageModule } from './base/page.ts';
import { match } from './base/router.ts';
import type { Role } from './base/user.ts';

/** The addresses of all pages: one row per page, which loads its code when it is opened. */

type Row = {
  readonly path: string;
  readonly title: string;
  /** Shown without signing in. */
  readonly isPublic?: true;
  /** The role of the key without which the page has nothing to do; absent = every role. */
  readonly needs?: Role;
  readonly load: () => Promise<PageModule>;
};

export const pageTable: readonly Row[] = [
  { path: '/', title: 'Checks', load: () => import('./home/page.tsx') },
  { path: '/groups', title: 'Groups', load: () => import('./groups/list-page.tsx') },
  // Before /groups/:id, which would match it too.
  {
    path: '/groups/new',
    title: 'New group',
    needs: 'READ_WRITE',
    load: () => import('./groups/form-page.tsx'),
  },
  { path: '/groups/:id', title: 'Group', load: () => import('./groups/page.tsx') },
  {
    path: '/groups/:id/edit',
    title: 'Edit group',
    needs: 'READ_WRITE',
    load: () => import('./groups/form-page.tsx'),
  },
  { path: '/projects', title: 'Projects', load: () => import('./projects/list.tsx') },
  { path: '/projects/:id', title: 'Project', load: () => import('./projects/page.tsx') },
  { path: '/reports', title: 'Reports', load: () => import('./reports/page.tsx') },
  { path: '/incidents', title: 'Incidents', load: () => import('./incidents/page.tsx') },
  {
    path: '/incidents/new',
    title: 'New incident',
    needs: 'READ_WRITE',
    load: () => import('./incidents/new.tsx'),
  },
  { path: '/incidents/:id', title: 'Incident', load: () => import('./incidents/one.tsx') },
  { path: '/maintenance', title: 'Maintenance', load: () => import('./maintenance/page.tsx') },
  {
    path: '/maintenance/new',
    title: 'New window',
    needs: 'READ_WRITE',
    load: () => import('./maintenance/form.tsx'),
  },
  { path: '/maintenance/:id', title: 'Maintenance window', load: () => import('./maintenance/form.tsx') },
  { path: '/status-pages', title: 'Status pages', load: () => import('./status-pages/page.tsx') },
  {
    path: '/status-pages/new',
    title: 'New status page',
    needs: 'READ_WRITE',
    load: () => import('./status-pages/form.tsx'),
  },
  { path: '/status-pages/:id', title: 'Status page', load: () => import('./status-pages/form.tsx') },
  { path: '/services', title: 'Services', load: () => import('./status-pages/services.tsx') },
  {
    path: '/services/new',
    title: 'New service',
    needs: 'READ_WRITE',
    load: () => import('./status-pages/service.tsx'),
  },
  { path: '/services/:id', title: 'Service', load: () => import('./status-pages/service.tsx') },
  // Before /checks/:id, which would match it too.
  { path: '/checks/new', title: 'New check', needs: 'READ_WRITE', load: () => import('./edit/new.tsx') },
  { path: '/checks/:id', title: 'Check', load: () => import('./checks/page.tsx') },
  {
    path: '/checks/:id/edit',
    title: 'Edit check',
    needs: 'READ_WRITE',
    load: () => import('./edit/page.tsx'),
  },
  { path: '/checks/:id/runs/:resultId', title: 'Run', load: () => import('./runs/page.tsx') },
  { path: '/locations', title: 'Locations', load: () => import('./locations/list.tsx') },
  {
    path: '/locations/new',
    title: 'New location',
    needs: 'ADMIN',
    load: () => import('./locations/new.tsx'),
  },
  { path: '/locations/:id', title: 'Location', load: () => import('./locations/location.tsx') },
  { path: '/settings', title: 'Settings', load: () => import('./settings/page.tsx') },
  { path: '/keys', title: 'Settings', load: () => import('./settings/redirect.tsx') },
  { path: '/variables', title: 'Settings', load: () => import('./settings/redirect.tsx') },
  { path: '/snippets', title: 'Settings', load: () => import('./settings/redirect.tsx') },
  { path: '/alerts', title: 'Alerts', load: () => import('./alerts/page.tsx') },
  { path: '/channels', title: 'Alerts', load: () => import('./alerts/redirect.tsx') },
  { path: '/docs', title: 'API reference', isPublic: true, load: () => import('./reference/page.tsx') },
  { path: '/notifications', title: 'Alerts', load: () => import('./alerts/redirect.tsx') },
];

/** The row of an address, and the parts of the address; null = there is no such page. */
export function pageAt(path: string): { row: Row; params: { [name: string]: string } } | null {
  for (const row of pageTable) {
    const params = match(row.path, path);
    if (params !== null) return { row, params };
  }
  return null;
}

export const isPage = (path: string): boolean => pageAt(path) !== null || path === '/sign-in';
