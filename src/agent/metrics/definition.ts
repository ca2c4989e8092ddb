/** One metric of an agent, used for its page, docs/metrics.md, the alert rules and the dashboard. */
export type MetricDefinition = {
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** Its section in docs/metrics.md. */
  readonly about: (typeof metricSubjects)[number];
  readonly help: string;
  readonly unit: 'seconds' | 'bytes' | 'count' | 'boolean' | 'info';
  /** Each label with all its possible values; null: any text, but only one at a time per agent. */
  readonly labels: { readonly [label: string]: readonly string[] | null };
};

export const metricSubjects = [
  'Runs',
  'Waiting',
  'Slots',
  'Service',
  'Results and outbox',
  'Artifacts',
  'The agent itself',
] as const;

/** The prefix of all names of an agent's own metrics. */
export const metricPrefix = 'location_agent_';

/** The labels type of a metric without labels. */
export const none = {} as const;
