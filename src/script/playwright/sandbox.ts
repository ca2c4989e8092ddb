import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { childFile } from '../process/child-file.ts';
import { startChild } from '../process/child-process.ts';
import type { Runtime } from '../process/runtimes.ts';
import { toError } from '../../errors.ts';

const probeMs = 10_000;

/**
 * Whether Chromium's own sandbox can work for processes that the host starts: not as root, and only if they may create
 * user namespaces. Tested in a child under the same limits as a run. Never rejects.
 */
export async function canSandbox(
  runtime: Pick<Runtime, 'node'>,
  dataFolder: string,
): Promise<{ works: true } | { works: false; why: string }> {
  if (process.getuid?.() === 0) return { works: false, why: 'the agent runs as root' };
  let folder: string | undefined;
  try {
    await mkdir(dataFolder, { recursive: true });
    folder = await mkdtemp(join(dataFolder, 'probe-'));
    let answer = false;
    const child = await startChild({
      node: runtime.node,
      file: childFile('playwright/probe'),
      cwd: folder,
      env: { PATH: '/usr/local/bin:/usr/bin:/bin' },
      readable: [],
      writable: [folder],
      mayStartPrograms: true,
      browserSandbox: true,
      limits: {
        memoryBytes: 512 * 1024 ** 2,
        cpuSeconds: 10,
        outputBytes: 65_536,
        diskBytes: 1024 ** 2,
        processes: 256,
      },
      onLine: () => undefined,
      onMessage: (message) => {
        answer = (message as { namespaces?: unknown } | null)?.namespaces === true;
      },
    });
    const timer = setTimeout(() => void child.kill(), probeMs);
    await child.ended;
    clearTimeout(timer);
    return answer ? { works: true } : { works: false, why: 'user namespaces are not available here' };
  } catch (error: unknown) {
    return { works: false, why: toError(error).message };
  } finally {
    if (folder !== undefined) await rm(folder, { recursive: true, force: true }).catch(() => undefined);
  }
}
