import type { AlertSubject } from './state-statements.ts';
import type { Db } from '../db/database.ts';
import { maintenanceAt, type MaintenanceEffects } from '../maintenance/effects.ts';

/** Whether alerts are silenced: the check or its group is muted or deactivated, or a maintenance window is active. */
export type Silence = {
  /** Checks all these moments, in milliseconds since the epoch; one that is silenced is enough. */
  silences(tx: Db, subject: AlertSubject, moments: readonly number[]): Promise<boolean>;
  /**
   * Whether the check's incident may be opened now. Incidents are opened during silence too, unless a window
   * suppresses them.
   */
  mayOpenIncident(tx: Db, subject: AlertSubject): Promise<boolean>;
};

/** Caches what it reads, for one transaction. */
export function createSilence(now: number): Silence {
  const known = new Map<string, MaintenanceEffects>();
  async function effects(tx: Db, accountId: string, at: number): Promise<MaintenanceEffects> {
    const key = `${accountId} ${at}`;
    const found = known.get(key) ?? (await maintenanceAt(tx, { accountId, at: new Date(at) }));
    known.set(key, found);
    return found;
  }
  const isOff = ({ muted, activated }: AlertSubject) => muted || !activated;

  return {
    silences: async (tx, subject, moments) => {
      if (isOff(subject)) return true;
      for (const at of moments) {
        if ((await effects(tx, subject.accountId, at)).silences(subject.tags)) return true;
      }
      return false;
    },
    mayOpenIncident: async (tx, subject) => {
      if (isOff(subject) || subject.trigger === null) return false;
      return !(await effects(tx, subject.accountId, now)).suppressesIncidents(subject.trigger.serviceId);
    },
  };
}
