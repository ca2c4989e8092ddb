import type { PairsField } from '../parts/form/lists.tsx';

/** A check group, as `/v2/check-groups` takes and returns it; only the fields that these pages know. */

type Pair = Parameters<typeof PairsField>[0]['value'][number];
export type Variable = Pair & { readonly locked: boolean; readonly secret: boolean };

export type AlertSettings = {
  readonly escalationType: 'RUN_BASED' | 'TIME_BASED';
  readonly runBasedEscalation: { readonly failedRunThreshold: number };
  readonly timeBasedEscalation: { readonly minutesFailingThreshold: number };
  readonly reminders: { readonly amount: number; readonly interval: number };
};

export type GroupBody = {
  readonly name: string;
  readonly activated: boolean;
  readonly muted: boolean;
  readonly tags: readonly string[];
  readonly locations: readonly string[];
  readonly privateLocations: readonly string[];
  readonly concurrency: number | null;
  readonly environmentVariables: readonly Variable[];
  /** Null: what each check says. */
  readonly useGlobalAlertSettings: boolean | null;
  readonly alertSettings: AlertSettings;
  readonly apiCheckDefaults: { readonly url: string; readonly headers: readonly Pair[] };
};

export type Group = GroupBody & { readonly id: number };
