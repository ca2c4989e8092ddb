/** States of services, best first. */
export const states = ['operational', 'maintenance', 'minor', 'medium', 'major', 'critical'] as const;
export type State = (typeof states)[number];

export const worst = (found: readonly State[]): State =>
  found.reduce<State>((a, b) => (states.indexOf(b) > states.indexOf(a) ? b : a), 'operational');

/** The state that an incident of this severity causes. */
export const stateOf = (severity: string): State =>
  states.find((state) => state === severity.toLowerCase()) ?? 'major';

const banners: { readonly [S in State]: string } = {
  operational: 'All systems operational',
  maintenance: 'Maintenance is under way',
  minor: 'Minor problems',
  medium: 'Some systems are degraded',
  major: 'Some systems are down',
  critical: 'Major outage',
};
/** The state of a page in words. */
export const bannerOf = (state: State): string => banners[state];

const words: { readonly [S in State]: string } = {
  operational: 'Operational',
  maintenance: 'Under maintenance',
  minor: 'Minor problems',
  medium: 'Degraded',
  major: 'Partial outage',
  critical: 'Major outage',
};
/** The state of a service in words. */
export const stateWord = (state: State): string => words[state];

/** The state by checks, in a word of its own: one service may be down while the page's other services are fine. */
export function stateOfChecks(counts: {
  readonly passed: number;
  readonly degraded: number;
  readonly failed: number;
}): { state: State; word: string | null } {
  const { passed, degraded, failed } = counts;
  if (failed > 0) return { state: 'major', word: passed + degraded === 0 ? 'Down' : null };
  return { state: degraded > 0 ? 'medium' : 'operational', word: null };
}
