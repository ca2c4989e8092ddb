/** One metric of an agent, as its page shows it and as docs/metrics.md, the alert rules and the dashboard describe it. */
export type MetricDefinition = {
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** The part of docs/metrics.md that it belongs to. */
  readonly about: (typeof metricSubjects)[number];
  readonly help: string;
  readonly unit: 'seconds' | 'bytes' | 'count' | 'boolean' | 'info';
  /** Each label with all values that it can have; null: any text, of which one agent has one at a time. */
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

/** All names of an agent's own metrics begin with it. */
export const metricPrefix = 'location_agent_';

/** The labels of a metric without labels. */
export const none = {} as const;
