import { loadNative } from '../../native/native.ts';

/**
 * main loads this module before anything else. A process that holds keys and secrets must not be readable by other
 * processes of the same user, such as the scripts that it starts.
 */

// Without our own listener, SIGUSR1 makes Node open its debugger port to any process that sends it.
process.on('SIGUSR1', () => undefined);

/**
 * Whether the memory and environment of this process are protected from other processes of this user; null = the addon
 * is missing.
 */
export const nonDumpable: boolean | null = guardMemory();

function guardMemory(): boolean | null {
  const native = loadNative();
  return native === null ? null : native.setNonDumpable() === 0;
}
