import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { executeApi } from '../../../src/executors/api.ts';
import type { Outcome } from '../../../src/executors/interface/executor.ts';
import type { JobOf } from '../../../src/protocol/job.ts';
import type { ScriptFile } from '../../../src/protocol/script.ts';
import { createScripts } from '../../../src/script/create-scripts.ts';
import type { Scripts } from '../../../src/script/interface/scripts.ts';
import { builtProgram } from '../build.ts';
import { apiJob, listening, testContext } from '../network/http.ts';
import { runtimesFolder, runtimesHere } from './runtimes.ts';

/** API checks with setup and teardown scripts, against a real server, in real processes of the newest runtime here. */

export const runtimeId = runtimesHere[0]?.name ?? 'none';

export type SeenRequest = { method: string; url: string; headers: IncomingHttpHeaders; body: string };

export type ScriptTexts = {
  groupSetup?: string;
  setup?: string;
  teardown?: string;
  groupTeardown?: string;
  files?: ScriptFile[];
};

export type ScriptedOptions = {
  request?: Partial<JobOf<'API'>['request']>;
  job?: Partial<JobOf<'API'>>;
  signal?: AbortSignal;
  /** Called with each line of the run's log. */
  onLine?: (line: string) => void;
};

export type Scripted = {
  scripts: Scripts;
  url: string;
  seen: SeenRequest[];
  run: (
    texts: ScriptTexts,
    options?: ScriptedOptions,
  ) => Promise<Outcome & { lines: string[]; secrets: string[]; withheld: string[] }>;
  close: () => Promise<void>;
};

/** The target answers with JSON; `/text/N` with N letters, `/latin` in Latin-1, `/status/N` with that status. */
export async function startScripted(): Promise<Scripted> {
  await builtProgram();
  const scripts = createScripts({
    runtimesFolder,
    dataFolder: '/nonexistent',
    slots: 1,
    network: () => 'unlimited',
    warn: () => undefined,
  });
  const seen: SeenRequest[] = [];
  const target = await listening(
    createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { method = '', url = '', headers } = request;
        seen.push({ method, url, headers, body: Buffer.concat(chunks).toString() });
        const letters = /^\/text\/(\d+)/.exec(url)?.[1];
        if (letters !== undefined) {
          response.setHeader('content-type', 'text/plain');
          return response.end('x'.repeat(Number(letters) - 1) + 'E');
        }
        if (url === '/latin') {
          response.setHeader('content-type', 'text/plain; charset=iso-8859-1');
          return response.end(Buffer.from('caf\xe9', 'latin1'));
        }
        response.writeHead(Number(/^\/status\/(\d+)/.exec(url)?.[1] ?? 200), {
          'content-type': 'application/json',
          'x-two': ['a', 'b'],
        });
        return response.end('{"ok":true,"list":[1,2,3]}');
      });
    }),
  );
  const url = `http://127.0.0.1:${target.port}`;
  return {
    scripts,
    url,
    seen,
    run: async ({ groupSetup, setup, teardown, groupTeardown, files = [] }, options = {}) => {
      const secrets: string[] = [];
      const withheld: string[] = [];
      const lines: string[] = [];
      const job = apiJob(
        { url: `${url}/`, ...options.request },
        {
          scripts: {
            runtimeId,
            files,
            setup: [phase('group', groupSetup), phase('check', setup)].flat(),
            teardown: [phase('check', teardown), phase('group', groupTeardown)].flat(),
          },
          ...options.job,
        },
      );
      const outcome = await executeApi(job, {
        ...testContext(options.signal === undefined ? {} : { signal: options.signal }),
        scripts,
        log: (level, msg) => {
          lines.push(`${level} ${msg}`);
          options.onLine?.(`${level} ${msg}`);
        },
        addSecret: (name, value) => void secrets.push(`${name}=${value}`),
        withhold: (why) => void withheld.push(why),
      });
      return { ...outcome, lines, secrets, withheld };
    },
    close: async () => {
      await scripts.close();
      await target.close();
    },
  };
}

function phase(origin: 'group' | 'check', content: string | undefined) {
  return content === undefined ? [] : [{ origin, content }];
}

/** Process ids of everything below this process that runs API check scripts. */
export function scriptProcesses(): number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    const stat = read(`/proc/${name}/stat`);
    parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]));
  }
  const isOurs = (pid: number): boolean => {
    for (let at: number | undefined = pid; at !== undefined && at > 1; at = parents.get(at)) {
      if (at === process.pid) return true;
    }
    return false;
  };
  return [...parents.keys()].filter(
    (pid) => read(`/proc/${pid}/cmdline`).includes('script/child/api/main.') && isOurs(pid),
  );
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
