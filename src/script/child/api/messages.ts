/** The messages between the agent and the child that runs setup and teardown scripts, one JSON line each. */

/** Bytes of a body, and of the rest of a request or response, that are exchanged with a script (facts, 2.3). */
export const bytesBetween = 256 * 1024;
/** Characters per log line of a script, and lines per run. */
export const logLineLength = 4096;
export const logLines = 200;
/** Bytes of one secret that a script reports (facts, 7), and the maximum number of them. */
export const secretBytes = 128 * 1024;
export const secretCount = 100;

/** The limit that a secret exceeded. */
export type SecretLimit = 'count' | 'length';

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

/** Sent once, before the first script: the common input of all scripts of the run. */
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

/** The request as the script left it; a body of null = unchanged. */
export type ChangedRequest = Omit<RequestMessage, 'body'> & { body: string | null };

export type FromChild =
  | { kind: 'ready' }
  | { kind: 'log'; level: 'debug' | 'info' | 'warn' | 'error'; msg: string }
  | { kind: 'secret'; name: string; value: string }
  /** A secret beyond a limit: from now on, no text of the run may leave the agent. */
  | { kind: 'lost-secret'; limit: SecretLimit }
  | {
      kind: 'done';
      id: number;
      /** Only after setup. */
      request: ChangedRequest | null;
      /** Only after teardown; null = unchanged. */
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
