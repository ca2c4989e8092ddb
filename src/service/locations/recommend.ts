/** What a location needs so that its runs do not wait, from measured figures. A pure function. */

export type QueueLoad = {
  queue: 'uptime' | 'main';
  queued: number;
  oldestSeconds: number;
  /** Slots of all connected agents for this queue. */
  slots: number;
  /** Jobs that agents took in the last `takenSeconds`. */
  taken: number;
};

export type Recommendation = { moreSlots: number; moreAgents: number; message: string };

/** A job may wait this long while its agent polls. */
const usualWaitSeconds = 10;

/**
 * Compares how many jobs arrive with how many are taken. All that wait arrived since the oldest one, so the first is
 * the length of the queue by the oldest wait. Null = nothing is needed.
 */
export function recommend(
  loads: readonly QueueLoad[],
  { agents, takenSeconds }: { agents: number; takenSeconds: number },
): Recommendation | null {
  const waiting = loads.filter(({ queued, oldestSeconds }) => queued > 0 && oldestSeconds > usualWaitSeconds);
  const [worst] = waiting.toSorted((a, b) => b.oldestSeconds - a.oldestSeconds);
  if (worst === undefined) return null;
  const because = `the oldest job waits ${Math.round(worst.oldestSeconds)} s`;
  if (agents === 0)
    return { moreSlots: 0, moreAgents: 1, message: `Start an agent, because none is connected: ${because}` };
  if (worst.slots === 0) {
    const lanes = worst.queue === 'uptime' ? 'uptime' : 'browser or suite';
    return { moreSlots: 1, moreAgents: 1, message: `No agent has a slot for ${lanes} jobs: ${because}` };
  }
  const arriving = worst.queued / worst.oldestSeconds;
  const rate = worst.taken / takenSeconds;
  // Without a job taken, all slots are busy with long runs: each job that waits needs one.
  const wanted = rate === 0 ? worst.slots + worst.queued : worst.slots * (arriving / rate);
  const moreSlots = Math.max(1, Math.ceil(wanted - worst.slots));
  const moreAgents = Math.ceil(moreSlots / (worst.slots / agents));
  const words = (count: number, noun: string) => `${count} more ${noun}${count === 1 ? '' : 's'}`;
  return {
    moreSlots,
    moreAgents,
    message: `${words(moreAgents, 'agent')} or ${words(moreSlots, 'slot')}: ${because}`,
  };
}
