import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/** Runs `work` while `folder` exists as a lock. Waits for a live holder and takes over the lock of a dead one. */
export async function withLock(folder, work) {
  for (let tries = 0; ; tries++) {
    try {
      mkdirSync(folder);
      break;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
      let holder = 0;
      try {
        holder = Number(readFileSync(join(folder, 'pid'), 'utf8'));
      } catch {
        // The holder is between mkdir and writing its pid, or died there. After 10 tries it counts as dead.
      }
      if (holder > 0 ? !isAlive(holder) : tries > 10) rmSync(folder, { recursive: true, force: true });
      else await sleep(250);
    }
  }
  writeFileSync(join(folder, 'pid'), String(process.pid));
  const release = () => rmSync(folder, { recursive: true, force: true });
  process.once('exit', release);
  try {
    return await work();
  } finally {
    process.off('exit', release);
    release();
  }
}
