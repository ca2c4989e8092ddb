import { loadNative } from '../../native/native.ts';

/*
 * Loaded by main before anything else: a process that holds keys and secrets must not be opened from outside by others of
 * the same user, such as the scripts that it starts.
 */

// Without a listener of our own, SIGUSR1 makes Node open its debugger's port to whoever sends it.
process.on('SIGUSR1', () => undefined);

/** Whether other processes of this user are kept from this one's memory and environment; null = the addon is missing. */
export const nonDumpable: boolean | null = guardMemory();

function guardMemory(): boolean | null {
  const native = loadNative();
  return native === null ? null : native.setNonDumpable() === 0;
}
