import { AgentError, JobAborted, toError } from '../errors.ts';
import { scriptTimeoutMs } from '../protocol/check-types.ts';
import type { JobOf } from '../protocol/job.ts';
import { reasonOf, type Reason } from '../protocol/reasons.ts';
import type { PlaywrightRun } from '../script/interface/playwright-run.ts';
import { refusedVariables, scriptEnvironment } from '../script/process/script-environment.ts';
import type { ExecutionContext, Outcome } from './interface/executor.ts';
import { openConnection, type ConnectionFacts } from './http/connection.ts';
import { reasonOfError } from './http/failures.ts';
import { startPhases } from './http/phases.ts';

const certificateMs = 10_000;

/**
 * One run of the script of a browser or multi-step check: tests, steps, pages and calls as an outcome, files as
 * artifacts. A script that passes still fails if the certificate of `sslCheckDomain` is invalid or expired.
 */
export async function runCheckScript(
  job: JobOf<'BROWSER' | 'MULTI_STEP'>,
  context: ExecutionContext,
): Promise<Outcome> {
  const { scripts, signal } = context;
  if (scripts === null) throw new AgentError('INTERNAL', 'this agent has no script code');
  const workDir = await context.workDir();
  const refused = refusedVariables(job);
  if (refused.length > 0) {
    context.log('warn', `these variables are not passed to scripts: ${refused.slice(0, 20).join(', ')}`);
  }
  const began = performance.now();
  let run: PlaywrightRun;
  let certificate: { host: string; failure: Reason | null; facts: unknown } | null = null;
  try {
    run = await scripts.runPlaywright({
      workDir,
      env: scriptEnvironment(job, { workDir }),
      signal,
      log: context.log,
      addSecret: context.addSecret,
      withhold: context.withhold,
      checkType: job.checkType,
      script: job.script,
      keepAll: job.testSession === true,
      timeoutMs: scriptTimeoutMs,
    });
    for (const file of run.files) context.artifacts.add(file);
    const domain = job.sslCheckDomain;
    if (run.failure === null && domain !== null && domain !== '') {
      certificate = await certificateOf(domain, context);
    }
  } catch (error: unknown) {
    if (!(error instanceof JobAborted) || error.code !== 'deadline') throw error;
    return {
      base: {
        ok: false,
        reason: reasonOf('TIMEOUT', 'the deadline passed before the script finished'),
      },
      responseTime: performance.now() - began,
      timings: null,
      assertions: [],
      details: {},
    };
  }
  const failure = run.failure ?? certificate?.failure ?? null;
  const details: Record<string, unknown> = {
    ...run.details,
    ...(certificate === null ? {} : { sslCheck: { host: certificate.host, certificate: certificate.facts } }),
  };
  return {
    base: failure === null ? passed(run) : { ok: false, reason: failure },
    responseTime: run.durationMs,
    timings: null,
    assertions: [],
    details,
  };
}

function passed({ degraded }: PlaywrightRun): Outcome['base'] {
  // The reason is that of a limit, because degraded is a statement about response times, not about failures.
  return degraded === null
    ? { ok: true }
    : { ok: true, degraded: reasonOf('MARKED_DEGRADED', degraded.message) };
}

/** Checks a host's certificate as a client would: its chain, its host name, its dates. */
async function certificateOf(
  domain: string,
  context: ExecutionContext,
): Promise<{ host: string; failure: Reason | null; facts: unknown }> {
  const [, host = domain, port = '443'] =
    /^(?:https?:\/\/)?([^/:\s]+|\[[^\]\s]+\])(?::(\d{1,5}))?(?:\/.*)?$/.exec(domain.trim()) ?? [];
  const facts: ConnectionFacts = {
    address: null,
    attempts: [],
    ipFallback: false,
    certificate: null,
    clientCertificate: null,
  };
  const limit = AbortSignal.timeout(certificateMs);
  const signal = AbortSignal.any([context.signal, limit]);
  const name = host.replace(/^\[|\]$/g, '');
  try {
    const socket = await openConnection(
      {
        host: name,
        port: Number(port),
        secure: true,
        serverName: name,
        family: 4,
        skipSsl: false,
        http2: false,
        proxy: null,
        clientCertificates: [],
      },
      { network: context.network, signal, now: context.now, facts, record: startPhases() },
    );
    socket.destroy();
    return { host, failure: null, facts: facts.certificate };
  } catch (error: unknown) {
    context.signal.throwIfAborted();
    const reason = limit.aborted
      ? reasonOf('TIMEOUT', `no certificate was received within ${certificateMs / 1000} s`)
      : reasonOfError(toError(error), { peer: `${name}:${port}`, secure: true, headers: false });
    return {
      host,
      failure: { ...reason, message: `sslCheckDomain: ${reason.message}` },
      facts: facts.certificate,
    };
  }
}
