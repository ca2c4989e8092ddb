import type { Log } from '../log.ts';
import type { ArtifactDelivery } from './artifacts/delivery.ts';
import { pause } from './link/backoff.ts';
import type { Claiming } from './claiming/claiming.ts';
import type { FaultEvents } from './link/fault-events.ts';
import type { Guards } from './metrics/guards.ts';
import type { HealthServer } from './metrics/health.ts';
import type { Intake } from './claiming/intake.ts';
import type { Keeping } from './keeping/keeping.ts';
import type { Leases } from './run/leases.ts';
import type { Outbox } from './outbox/outbox.ts';
import type { Loading } from './claiming/loading.ts';
import type { ResultSender } from './outbox/result-sender.ts';
import type { ToolLoader } from './running-tools.ts';
import type { RuntimeWatch } from './runtime-watch.ts';
import type { ScriptHost } from './script-host.ts';
import type { ServiceClient } from './link/client.ts';
import type { WorkDirs } from './folders/work-dir.ts';
import { within } from '../time-limit.ts';

/** Stops an agent: in order, within its grace period, or immediately. */
export type AgentEnd = {
  /**
   * Stops claiming, lets running jobs finish within the grace period, hands back the others, sends the outbox and
   * stops. `cut` is the number of jobs that were aborted.
   */
  drain: () => Promise<{ cut: number }>;
  /** Shortens a drain: running jobs are aborted and handed back now. */
  cancel: () => void;
  /** Stops immediately. Results that were not sent stay in the outbox. */
  stop: () => Promise<void>;
};

/** Parts that have not stopped after this time are abandoned. */
const maxStopMs = 10_000;
/** Others need not repeat held runs whose results arrive within this time before the checks are handed over. */
const handOverMs = 5_000;
const lastSendMs = 3000;

export function createAgentEnd(parts: {
  graceSeconds: number;
  log: Log;
  /** Called when the agent starts to stop: the readiness probe fails from then on. */
  onEnding: () => void;
  /** Aborted when the agent stops, so that it no longer waits for hello. */
  stopped: AbortController;
  intake: Intake;
  claiming: Claiming;
  keeping: Keeping;
  runtimeWatch: RuntimeWatch;
  leases: Leases;
  host: Pick<ScriptHost, 'scripts'>;
  workDirs: WorkDirs;
  sender: ResultSender;
  artifacts: ArtifactDelivery;
  outbox: Outbox;
  events: FaultEvents | null;
  guards: Guards;
  tools: ToolLoader;
  loading: Pick<Loading<unknown>, 'stop'>;
  client: ServiceClient;
  health: HealthServer;
}): AgentEnd {
  const { graceSeconds, log, intake, claiming, runtimeWatch, leases, sender, artifacts, outbox, keeping } =
    parts;
  const allIdle = () => Promise.all([leases.whenIdle(), keeping.whenIdle()]);
  const cancelled = new AbortController();

  const stopIntake = () => {
    parts.onEnding();
    intake.close();
    parts.loading.stop();
    runtimeWatch.stop();
  };

  const stop = async () => {
    stopIntake();
    parts.stopped.abort(new Error('the agent is stopping'));
    claiming.cut();
    leases.cancel();
    keeping.cancel();
    await within(allIdle(), maxStopMs);
    leases.stop();
    await within(keeping.stop(), maxStopMs);
    await within(parts.host.scripts.close(), maxStopMs);
    await within(parts.workDirs.close(), maxStopMs);
    await sender.stop();
    await within(artifacts.stop(), maxStopMs);
    await outbox.close();
    parts.events?.stop();
    parts.guards.stop();
    parts.tools.close();
    parts.client.close();
    await parts.health.close();
    log.info('agent stopped');
  };

  /**
   * A suite may go on for half an hour, and nobody would run the held checks. So they go back as soon as their own runs have ended. The
   * service hears up to when their runs are reported.
   */
  const handOver = async () => {
    await keeping.whenIdle();
    await sender.flush(performance.now() + handOverMs, cancelled.signal);
    await keeping.leave();
  };

  const drain = async () => {
    const graceEnd = performance.now() + graceSeconds * 1000;
    log.info({ jobs: leases.size() + keeping.size(), graceSeconds }, 'draining');
    stopIntake();
    const loopsDone = claiming.finish();
    leases.drain();
    keeping.drain();
    void handOver();
    await Promise.race([allIdle(), pause(graceEnd - performance.now(), cancelled.signal)]);
    const cut = leases.cancel() + keeping.cancel();
    if (cut > 0) log.warn({ jobs: cut }, 'jobs aborted at the end of the grace period and handed back');
    await within(allIdle(), maxStopMs);
    // A claim that was still open may have brought jobs; they are handed back too.
    claiming.cut();
    await loopsDone;
    await within(leases.whenIdle(), maxStopMs);
    await sender.flush(Math.max(graceEnd, performance.now() + lastSendMs), cancelled.signal);
    await within(keeping.leave(), maxStopMs);
    if (!outbox.isEmpty()) log.warn({ ...outbox.status() }, 'results not delivered; they stay in the outbox');
    await artifacts.flush(graceEnd, cancelled.signal);
    const { count } = artifacts.status();
    if (count > 0) log.warn({ artifacts: count }, 'artifacts not delivered; they stay on disk');
    await stopOnce();
    return { cut };
  };

  let stopping: Promise<void> | null = null;
  const stopOnce = () => (stopping ??= stop());
  let draining: Promise<{ cut: number }> | null = null;
  return {
    drain: () => (draining ??= drain()),
    cancel: () => cancelled.abort(),
    stop: stopOnce,
  };
}
