/** An event of `GET /v1/events`. */
export type LiveEvent = {
  readonly type: string;
  readonly checkId?: string;
  readonly [field: string]: unknown;
};
