import type { Histogram } from 'prom-client';
import { jobTypes, lanes } from '../../protocol/check-types.ts';
import type { SuiteStage } from '../../script/interface/suite-run.ts';
import { HistogramClass, JoinedHistogram } from './histogram-class.ts';
import { metricPrefix, none, type MetricDefinition } from './definition.ts';

/**
 * The agent's histograms, separate from the rest of the catalogue: they count from the start, and the rest loads the
 * schema library.
 */

// suiteStages is not imported: the uptime image contains no script code.
const stages = ['bundle', 'install', 'browsers', 'test', 'report'] as const satisfies readonly SuiteStage[];

/** Upper bounds of buckets, in seconds. */
const waitBounds = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 360];
const uploadBounds = [0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
const attemptBounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const runBounds = [0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600];
/** For suites and their stages: from a cached install to the longest run. */
const suiteBounds = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600];

type HistogramDefinition = MetricDefinition & {
  readonly type: 'histogram';
  readonly bounds: readonly number[];
};

export const histograms = {
  run_duration_seconds: {
    type: 'histogram',
    about: 'Runs',
    help: 'From the start of the first attempt of a run here to its final result, with retries and the waits between them.',
    unit: 'seconds',
    labels: { type: jobTypes },
    bounds: runBounds,
  },
  attempt_duration_seconds: {
    type: 'histogram',
    about: 'Runs',
    help: 'Duration of attempts.',
    unit: 'seconds',
    labels: { type: jobTypes },
    bounds: attemptBounds,
  },
  suite_stage_seconds: {
    type: 'histogram',
    about: 'Runs',
    help: 'Duration of the stages of suites.',
    unit: 'seconds',
    labels: { stage: stages },
    bounds: suiteBounds,
  },
  claim_delay_seconds: {
    type: 'histogram',
    about: 'Waiting',
    help: 'From the moment a run was due until this agent had claimed it.',
    unit: 'seconds',
    labels: { lane: lanes },
    bounds: waitBounds,
  },
  slot_wait_seconds: {
    type: 'histogram',
    about: 'Waiting',
    help: 'From the claim of a run to the start of its first attempt here: the wait for a slot.',
    unit: 'seconds',
    labels: { lane: lanes },
    bounds: waitBounds,
  },
  start_delay_seconds: {
    type: 'histogram',
    about: 'Waiting',
    help: 'From the moment a run was due to the start of its first attempt: the two above together.',
    unit: 'seconds',
    labels: { lane: lanes },
    bounds: waitBounds,
  },
  result_upload_seconds: {
    type: 'histogram',
    about: 'Results and outbox',
    help: 'Duration of calls that brought results to the service.',
    unit: 'seconds',
    labels: none,
    bounds: uploadBounds,
  },
  artifact_upload_seconds: {
    type: 'histogram',
    about: 'Artifacts',
    help: 'Duration of uploads that ended with the file stored.',
    unit: 'seconds',
    labels: none,
    bounds: uploadBounds,
  },
} as const satisfies { readonly [name: string]: HistogramDefinition };

export type HistogramName = keyof typeof histograms;

type LabelOf<N extends HistogramName> = keyof (typeof histograms)[N]['labels'] & string;

/** What an agent measures: one histogram per name, in seconds. */
export type AgentHistograms = {
  readonly [N in Exclude<HistogramName, 'attempt_duration_seconds'>]: Histogram<LabelOf<N>>;
} & {
  /** `second` counts the attempts of suites, which take much longer than others. */
  readonly attempt_duration_seconds: JoinedHistogram<'type'>;
};

/** Creates them empty, without a registry. */
export function createHistograms(): AgentHistograms {
  const of = <N extends HistogramName>(name: N) => ({
    name: metricPrefix + name,
    help: histograms[name].help,
    labelNames: Object.keys(histograms[name].labels) as LabelOf<N>[], // its own keys
    buckets: [...histograms[name].bounds],
    registers: [],
  });
  return {
    run_duration_seconds: new HistogramClass(of('run_duration_seconds')),
    attempt_duration_seconds: new JoinedHistogram(of('attempt_duration_seconds'), suiteBounds),
    suite_stage_seconds: new HistogramClass(of('suite_stage_seconds')),
    claim_delay_seconds: new HistogramClass(of('claim_delay_seconds')),
    slot_wait_seconds: new HistogramClass(of('slot_wait_seconds')),
    start_delay_seconds: new HistogramClass(of('start_delay_seconds')),
    result_upload_seconds: new HistogramClass(of('result_upload_seconds')),
    artifact_upload_seconds: new HistogramClass(of('artifact_upload_seconds')),
  };
}
