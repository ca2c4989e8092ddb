/** What the agent and the child that runs setup and teardown scripts say to each other, one JSON line each. */

/** Bytes of a body, and of the rest of a request or response, that pass between a script and the agent (facts, 2.3). */
export const bytesBetween = 256 * 1024;
/** Characters of one line of a script's log, and lines of one run. */
export const logLineLength = 4096;
export const logLines = 200;
/** Bytes of one secret that a script tells of (facts, 7), and how many it may. */
export const secretBytes = 128 * 1024;
export const secretCount = 100;

export type Phase = 'setup' | 'teardown';

export type RequestMessage = {
  method: string;
  url: string;
  body: string;
  headers: { [name: string]: string };
  queryParameters: { [name: string]: string };
};

export type ResponseMessage = {
  statusCode: number;
  statusText: string;
  body: string;
  headers: { [name: string]: string | string[] };
  timings: { [phase: string]: number };
  timingPhases: { [phase: string]: number };
};

/** Once, before the first script: what all scripts of the run share. */
export type OpenMessage = {
  kind: 'open';
  runtime: string;
  env: { [name: string]: string };
  files: { path: string; content: string }[];
};

export type RunMessage = {
  kind: 'run';
  id: number;
  phase: Phase;
  content: string;
  request: RequestMessage;
  /** Teardown only. */
  response?: ResponseMessage;
  globals: { [name: string]: string };
};

/** What the script made of its request; a body of null = as it was. */
export type ChangedRequest = Omit<RequestMessage, 'body'> & { body: string | null };

export type FromChild =
  | { kind: 'ready' }
  | { kind: 'log'; level: 'debug' | 'info' | 'warn' | 'error'; msg: string }
  | { kind: 'secret'; name: string; value: string }
  | {
      kind: 'done';
      id: number;
      /** Setup only. */
      request: ChangedRequest | null;
      /** Teardown only; null = as it was. */
      body: string | null;
      env: { set: { [name: string]: string }; unset: string[] };
    }
  /** `at`: file and line in the customer's own code. */
  | {
      kind: 'failed';
      id: number;
      code: 'SCRIPT_THREW' | 'SCRIPT_INVALID';
      message: string;
      at: string | null;
    };
