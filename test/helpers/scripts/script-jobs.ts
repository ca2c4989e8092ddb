import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext } from '../../../src/executors/interface/executor.ts';
import { createNetwork } from '../../../src/executors/system-network.ts';
import type { JobOf } from '../../../src/protocol/job.ts';
import { createScripts } from '../../../src/script/create-scripts.ts';
import type { Scripts } from '../../../src/script/interface/scripts.ts';
import { jobFields } from '../job-fields.ts';
import { runtime } from './playwright.ts';

/** Jobs and contexts for the tests of the script executors, on the newest runtime of this checkout. */

export function scriptJob<T extends 'BROWSER' | 'MULTI_STEP'>(
  checkType: T,
  content: string,
  job: Partial<Omit<JobOf<'BROWSER'>, 'checkType'>> = {},
): Omit<JobOf<'BROWSER'>, 'checkType'> & { checkType: T } {
  return {
    ...jobFields,
    lane: 'browser',
    sslCheckDomain: null,
    script: {
      runtimeId: runtime?.name ?? '2026.04',
      content,
      path: null,
      files: [],
      playwrightConfig: null,
    },
    ...job,
    checkType,
  };
}

export type ScriptBench = {
  scripts: Scripts;
  artifacts: { name: string; type: string; path: string }[];
  secrets: string[];
  log: string[];
  context: (signal?: AbortSignal) => ExecutionContext;
  close: () => Promise<void>;
};

/** Scripts as an agent has them, in a folder of their own. */
export function startScripts(): ScriptBench {
  const folder = mkdtempSync(join(tmpdir(), 'scripts-test-'));
  const network = createNetwork({ useOsDnsResolver: true });
  const scripts = createScripts({
    runtimesFolder: join(import.meta.dirname, '..', '..', '..', 'runtimes'),
    dataFolder: folder,
    slots: 1,
    network: () => 'unlimited',
    warn: () => undefined,
  });
  const artifacts: ScriptBench['artifacts'] = [];
  const secrets: string[] = [];
  const log: string[] = [];
  return {
    scripts,
    artifacts,
    secrets,
    log,
    context: (signal = new AbortController().signal) => {
      const workDir = mkdtempSync(join(folder, 'work-'));
      return {
        signal,
        log: (_level, line) => void log.push(line),
        network,
        scripts,
        workDir: () => Promise.resolve(workDir),
        artifacts: { add: (file) => void artifacts.push(file) },
        addSecret: (_name, value) => void secrets.push(value),
        withhold: () => undefined,
        now: Date.now,
      };
    },
    close: async () => {
      await scripts.close();
      network.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
