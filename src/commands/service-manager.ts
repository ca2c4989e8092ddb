import { getSystemErrorName } from 'node:util';
import type { Environment } from '../config/read.ts';
import type { Log } from '../log.ts';
import { loadNative, nativeProblem } from '../native/native.ts';

/** Messages to the service manager that started this program (systemd, `Type=notify`). */
export type ServiceManager = {
  /** The program works from now on. Also begins the watchdog's signs of life. */
  ready: () => void;
  /** The program is about to exit. */
  stopping: () => void;
  /** Ends the signs of life, and with them the timer. */
  close: () => void;
};

const none: ServiceManager = { ready: () => undefined, stopping: () => undefined, close: () => undefined };

/**
 * The manager that the environment names: `NOTIFY_SOCKET`, and `WATCHDOG_USEC` with `WATCHDOG_PID` if it expects signs of
 * life. Without a manager, all functions do nothing. A sign is sent twice per interval while `isAlive` says yes, so a
 * blocked event loop sends none either.
 */
export function createServiceManager(options: {
  env: Environment;
  log: Log;
  isAlive: () => boolean;
  pid?: number;
}): ServiceManager {
  const { env, log, isAlive, pid = process.pid } = options;
  const socket = env['NOTIFY_SOCKET'];
  if (socket === undefined || !/^[/@]./.test(socket)) return none;
  const native = loadNative();
  if (native === null) {
    log.warn({ reason: nativeProblem() }, 'the service manager cannot be notified');
    return none;
  }
  const send = (message: string) => {
    const code = native.notifyManager(socket, message);
    if (code !== 0) log.warn({ code: getSystemErrorName(code) }, 'the service manager was not notified');
  };
  let timer: NodeJS.Timeout | undefined;
  return {
    ready: () => {
      send('READY=1');
      const every = watchdogMs(env, pid);
      if (every === null) return;
      timer = setInterval(() => {
        if (isAlive()) send('WATCHDOG=1');
      }, every / 2);
    },
    stopping: () => send('STOPPING=1'),
    close: () => clearInterval(timer),
  };
}

/** The watchdog's interval; null if it watches no process, or another one. */
function watchdogMs(env: Environment, pid: number): number | null {
  const microseconds = Number(env['WATCHDOG_USEC']);
  const watched = env['WATCHDOG_PID'];
  if (!Number.isInteger(microseconds) || microseconds <= 0) return null;
  if (watched !== undefined && watched !== String(pid)) return null;
  return microseconds / 1000;
}
