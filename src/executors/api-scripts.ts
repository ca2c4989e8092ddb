import { AgentError, JobAborted } from '../errors.ts';
import type { JobOf } from '../protocol/job.ts';
import { reasonOf, type Reason } from '../protocol/reasons.ts';
import type { ApiRequest, KeyValue } from '../protocol/requests.ts';
import { refusedVariables, scriptEnvironment } from '../script/process/script-environment.ts';
import type { ApiScriptSession, ScriptRequest } from '../script/interface/scripts.ts';
import type { ExecutionContext } from './interface/executor.ts';
import type { ScriptedRequest } from './http/api-request.ts';
import { textOf } from './http/body.ts';
import type { Received } from './http/exchange.ts';
import { shownUrl, type HttpReport, type HttpRequest } from './http/request.ts';
import { shortened } from '../shortened.ts';
import { rounded } from '../rounding.ts';
import { secretsOfHeader } from '../sensitive-headers.ts';

/**
 * Setup and teardown around the request of one attempt of an API check: group setup, check setup, request, check
 * teardown, group teardown. Assertions follow. All scripts run in one process.
 */
export type ScriptedRun = {
  /** Runs the setup scripts. A failure ends the attempt without a request or assertions. */
  setup: () => Promise<{ scripted: ScriptedRequest; failure: null } | { failure: Reason }>;
  /**
   * Runs the teardown scripts after a complete response. `body` is the response's body as the scripts changed it;
   * null = unchanged. A failure fails the result regardless of shouldFail, and the assertions still run.
   */
  teardown: (
    request: HttpRequest,
    exchange: { report: HttpReport; response: Received; body: ResponseBody },
  ) => Promise<{ body: string | null; failure: Reason | null }>;
  /** Ends the process; call it in any case. */
  close: () => Promise<void>;
};

type ResponseBody = { bytes: Buffer; charset: string | null };

/**
 * Maximum size of the response's body for teardown scripts, in bytes. A longer body is cut for them, not for
 * assertions.
 */
const shownBodyBytes = 256 * 1024;

/** Starts the process for the scripts. Rejects with InvalidJobError, AgentError or `signal.reason`. */
export async function openScriptedRun(
  job: JobOf<'API'>,
  scripts: NonNullable<JobOf<'API'>['scripts']>,
  context: ExecutionContext,
): Promise<ScriptedRun> {
  if (context.scripts === null) throw new AgentError('INTERNAL', 'this agent has no script code');
  for (const name of refusedVariables(job)) {
    context.log(
      'warn',
      `the variable ${shortened(name, 256)} is not passed to scripts, because it would affect the process itself`,
    );
  }
  const env = scriptEnvironment(job);
  const { signal, log, addSecret, withhold } = context;
  let session: ApiScriptSession;
  try {
    session = await context.scripts.openApiScripts({ scripts, env, signal, log, addSecret, withhold });
  } catch (error: unknown) {
    if (!isDeadline(error)) throw error;
    throw new AgentError('INTERNAL', 'no process for its scripts became free before the deadline', {
      cause: error,
    });
  }
  /** New values of secret variables are secret too. */
  const keepSecret = (after: { [name: string]: string }) => {
    for (const { key, secret } of job.environmentVariables) {
      const value = after[key];
      if (secret && value !== undefined && value !== env[key]) addSecret(key, value);
    }
  };

  /** Values of sensitive headers are secret wherever a script prints them. */
  const keepHeaders = (headers: { readonly [name: string]: string | string[] | undefined }) => {
    for (const [name, given] of Object.entries(headers)) {
      for (const value of [given ?? []].flat()) {
        // A value with variables is as secret as they are.
        if (value.includes('{{')) continue;
        for (const secret of secretsOfHeader(name, value)) addSecret(`header ${name}`, secret);
      }
    }
  };

  return {
    setup: async () => {
      const given = requestFor(job.request);
      keepHeaders(given.headers);
      try {
        const after = await session.setup(given);
        keepSecret(after.env);
        keepHeaders(after.request.headers);
        if (after.failure !== null) return { failure: after.failure.reason };
        const request = changedRequest(job.request, given, after.request);
        if ('code' in request) return { failure: request };
        return { scripted: { request, variables: changedVariables(job, env, after.env) }, failure: null };
      } catch (error: unknown) {
        return { failure: deadlineReason(error, 'setup') };
      }
    },
    teardown: async (request, { report, response, body }) => {
      const isOver = body.bytes.length > shownBodyBytes;
      if (isOver) {
        log(
          'warn',
          `teardown: the scripts see the first ${shownBodyBytes} of ${body.bytes.length} bytes of the body`,
        );
      }
      const text = textOf(isOver ? body.bytes.subarray(0, shownBodyBytes) : body.bytes, body.charset);
      const given = { ...responseFor(report, response), body: text };
      const sent = sentRequest(request);
      keepHeaders(sent.headers);
      keepHeaders(given.headers);
      try {
        const after = await session.teardown(sent, given);
        keepSecret(after.env);
        const changed = after.response.body === text ? null : after.response.body;
        return { body: changed, failure: after.failure?.reason ?? null };
      } catch (error: unknown) {
        return { body: null, failure: deadlineReason(error, 'teardown') };
      }
    },
    close: () => session.close(),
  };
}

function isDeadline(error: unknown): boolean {
  return error instanceof JobAborted && error.code === 'deadline';
}

function deadlineReason(error: unknown, phase: 'setup' | 'teardown'): Reason {
  if (!isDeadline(error)) throw error;
  return reasonOf('SCRIPT_TIMEOUT', `the deadline of the run passed in its ${phase} scripts`);
}

function requestFor(check: ApiRequest): ScriptRequest {
  return {
    method: check.method,
    url: check.url,
    body: check.body,
    headers: objectOf(check.headers),
    queryParameters: objectOf(check.queryParameters),
  };
}

function objectOf(pairs: readonly KeyValue[]): { [name: string]: string } {
  return Object.fromEntries(pairs.map(({ key, value }) => [key, value]));
}

const methods = ['GET', 'POST', 'PUT', 'HEAD', 'DELETE', 'PATCH', 'OPTIONS'] as const;

/**
 * The check's request with the changes that the scripts made. Unchanged parts keep their form, because an object can
 * hold each name only once.
 */
function changedRequest(check: ApiRequest, given: ScriptRequest, after: ScriptRequest): ApiRequest | Reason {
  const method = methods.find((known) => known === after.method);
  if (method === undefined) {
    return reasonOf(
      'SCRIPT_INVALID',
      `request.method is ${JSON.stringify(shortened(after.method, 50))} after the setup scripts; use one of ${methods.join(', ')}`,
    );
  }
  const pairs = (name: 'headers' | 'queryParameters'): KeyValue[] =>
    JSON.stringify(given[name]) === JSON.stringify(after[name])
      ? check[name]
      : Object.entries(after[name]).map(([key, value]) => ({ key, value, locked: false }));
  return {
    ...check,
    method,
    url: after.url,
    body: after.body,
    // A check without a body has no body type, but a script may have added a body.
    bodyType: check.bodyType === 'NONE' && after.body !== given.body ? 'RAW' : check.bodyType,
    headers: pairs('headers'),
    queryParameters: pairs('queryParameters'),
  };
}

/** The job's variables with those that the scripts set and deleted, for templates. */
function changedVariables(
  job: JobOf<'API'>,
  before: { [name: string]: string },
  after: { [name: string]: string },
): ScriptedRequest['variables'] {
  const variables = new Map(job.environmentVariables.map(({ key, value }) => [key, value]));
  for (const name of Object.keys(before)) if (after[name] === undefined) variables.delete(name);
  for (const [name, value] of Object.entries(after)) if (value !== before[name]) variables.set(name, value);
  return [...variables].map(([key, value]) => ({ key, value }));
}

/** The request as it was made. */
function sentRequest(request: HttpRequest): ScriptRequest {
  const headers: { [name: string]: string } = {};
  for (let i = 0; i < request.headers.length; i += 2)
    headers[request.headers[i] ?? ''] = request.headers[i + 1] ?? '';
  return {
    method: request.method,
    url: shownUrl(request.url),
    body: request.body?.toString() ?? '',
    headers,
    queryParameters: Object.fromEntries(request.url.searchParams),
  };
}

/** The response without its body, with the timings in their public form. */
function responseFor({ timings }: HttpReport, { status, statusText, headers }: Received) {
  const phases = {
    wait: rounded(timings.remainder ?? 0, 3),
    dns: rounded(timings.dns ?? 0, 3),
    tcp: rounded((timings.connect ?? 0) + (timings.tunnel ?? 0), 3),
    firstByte: rounded((timings.tls ?? 0) + (timings.firstByte ?? 0), 3),
    download: rounded(timings.download ?? 0, 3),
  };
  let at = 0;
  const after = (phase: number) => (at = rounded(at + phase, 3));
  return {
    statusCode: status,
    statusText,
    headers: headers as { [name: string]: string | string[] }, // no header is undefined
    timings: {
      socket: after(phases.wait),
      lookup: after(phases.dns),
      connect: after(phases.tcp),
      response: after(phases.firstByte),
      end: after(phases.download),
    },
    timingPhases: { ...phases, total: rounded(timings.total, 3) },
  };
}
