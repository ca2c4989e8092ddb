/** The answer of GET /v1/checks/{id}/suite-tests. */
export type History = {
  readonly title: string;
  readonly flaky: boolean;
  /** Newest first. */
  readonly runs: readonly {
    readonly resultId: string;
    readonly startedAt: string;
    readonly status: string;
    readonly durationMs: number;
    readonly retries: number;
  }[];
};
export type Tests = { readonly tests: readonly History[]; readonly isPartial: boolean };
