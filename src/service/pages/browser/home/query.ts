import { setQuery } from '../base/router.ts';
import { withQuery } from '../base/service.ts';
import { states, type State } from './types.ts';

/** The filter, the order and the folded groups of the list, as they stand in the address. */

export const sorts = ['state', 'name', 'availability', 'p95', 'lastRun', 'nextRun'] as const;
export type Sort = (typeof sorts)[number];
/** The order in which a column is the most useful. */
const firstOrder: { readonly [S in Sort]: 'asc' | 'desc' } = {
  state: 'asc',
  name: 'asc',
  availability: 'asc',
  p95: 'desc',
  lastRun: 'desc',
  nextRun: 'asc',
};

export type ListQuery = {
  readonly search: string;
  readonly state: readonly State[];
  readonly type: readonly string[];
  readonly tag: readonly string[];
  readonly groupId: readonly string[];
  readonly location: readonly string[];
  readonly sort: Sort;
  readonly order: 'asc' | 'desc';
  readonly isByGroup: boolean;
  readonly folded: readonly string[];
};

/** Reads the address. Values that the service would refuse are left out. */
export function readQuery(query: URLSearchParams): ListQuery {
  const texts = (name: string) => [...new Set(query.getAll(name).filter((one) => one !== ''))];
  const isGroup = (id: string) => /^([1-9]\d{0,14}|none)$/.test(id);
  const sort = sorts.find((one) => one === query.get('sort')) ?? 'state';
  const order = query.get('order');
  return {
    search: (query.get('search') ?? '').slice(0, 255),
    state: states.filter((state) => query.getAll('state').includes(state)),
    type: texts('type'),
    tag: texts('tag'),
    groupId: texts('group').filter(isGroup),
    location: texts('location'),
    sort,
    order: order === 'asc' || order === 'desc' ? order : firstOrder[sort],
    isByGroup: query.get('view') === 'groups',
    folded: texts('folded').filter(isGroup),
  };
}

/** Whether anything is left out of the list by a filter. */
export const isFiltered = ({ search, state, type, tag, groupId, location }: ListQuery): boolean =>
  search !== '' || [state, type, tag, groupId, location].some((values) => values.length > 0);

export const clearFilters = (): void =>
  setQuery({ search: null, state: null, type: null, tag: null, group: null, location: null });

/** Sorts by a column, or turns its order round. */
export function sortBy(sort: Sort, now: ListQuery): void {
  const order = now.sort === sort ? (now.order === 'asc' ? 'desc' : 'asc') : firstOrder[sort];
  setQuery({ sort: sort === 'state' ? null : sort, order: order === firstOrder[sort] ? null : order });
}

/** The path of a page of the list, without its number. `groupId`: only these groups. */
export function listPath(query: ListQuery, groupId: readonly string[] = query.groupId): string {
  const { search, state, type, tag, location, sort, order, isByGroup } = query;
  return withQuery('/v1/checks-overview', {
    search,
    state,
    type,
    tag,
    groupId,
    location,
    sort,
    order,
    group: isByGroup ? true : undefined,
  });
}
