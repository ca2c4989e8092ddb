import { randomBytes } from 'node:crypto';
import { lstat, mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AgentError, toError } from '../../errors.ts';
import { isRefusedByDisk } from '../process/full-disk.ts';
import type { Browsers } from './browsers.ts';
import { childFile } from '../process/child-file.ts';
import { startChild } from '../process/child-process.ts';
import type { Child, ChildEnd, ChildLimits } from '../process/program.ts';
import { removeTree } from '../process/remove-tree.ts';
import { foldersOf, type Runtime } from '../process/runtimes.ts';

/** Folders and files of one run. All are in the process's own folder, the only one that it may write to. */
export type RunFolder = {
  root: string;
  /** The user's files. */
  script: string;
  output: string;
  home: string;
  temporary: string;
  cache: string;
};

/** A message from a process: unchecked JSON, so every field is checked before use. */
export type ProcessMessage = { type?: unknown; [field: string]: unknown };

/** A test runner that has loaded and waits for its one run. */
export type WarmProcess = {
  child: Child;
  folder: RunFolder;
  /** Settles when it can take a run; rejects if it exits before. */
  ready: Promise<void>;
  /** How it ended, if it is already gone. */
  end: ChildEnd | null;
  /** The newest output lines of the runner itself, for the message of an agent error. */
  lastLines: string[];
  onMessage: (message: ProcessMessage) => void;
  onLine: (line: string, stream: 'stdout' | 'stderr') => void;
  /** Called with a line about each destination in the network that it was refused. */
  onRefused: (line: string) => void;
  /** Kills it and removes its folder. */
  discard: () => Promise<void>;
};

export type ProcessOptions = {
  runtime: Runtime;
  browsers: Browsers;
  /** The parent folder of process folders. */
  dataFolder: string;
  limits: ChildLimits;
  /** PEM file of additional authorities, for Node. */
  extraCaFile: string | null;
};

const keptLines = 40;

/** The environment that a process needs before it has a run's environment. */
export function baseEnvironment(
  folder: RunFolder,
  { browsers, extraCaFile }: Pick<ProcessOptions, 'browsers' | 'extraCaFile'>,
): { [name: string]: string } {
  return {
    PATH: '/usr/local/bin:/usr/bin:/bin',
    LANG: 'C.UTF-8',
    TZ: 'UTC',
    ...hostEnvironment(folder, { browsers, extraCaFile }),
  };
}

/** Variables that the host sets in every run, whatever the check has. */
export function hostEnvironment(
  folder: RunFolder,
  { browsers, extraCaFile }: Pick<ProcessOptions, 'browsers' | 'extraCaFile'>,
): { [name: string]: string } {
  return {
    HOME: folder.home,
    TMPDIR: folder.temporary,
    PLAYWRIGHT_BROWSERS_PATH: browsers.folder,
    // Runs must not share compiled scripts.
    PWTEST_CACHE_DIR: folder.cache,
    ...(extraCaFile === null ? {} : { NODE_EXTRA_CA_CERTS: extraCaFile }),
  };
}

/** Starts a test runner of the runtime. Rejects with AgentError SANDBOX_UNAVAILABLE, DISK_FULL or INTERNAL. */
export async function startProcess(options: ProcessOptions): Promise<WarmProcess> {
  const { runtime, browsers } = options;
  const folder = await makeFolder(options.dataFolder, runtime);
  let settle: { resolve: () => void; reject: (error: Error) => void } | undefined;
  const ready = new Promise<void>((resolve, reject) => (settle = { resolve, reject }));
  // The caller that takes the process handles the rejection; until then it must not count as unhandled.
  ready.catch(() => undefined);
  const lastLines: string[] = [];
  // Messages before the process object exists have no listener yet.
  let made: WarmProcess | undefined;
  let child: Child;
  try {
    child = await startChild({
      node: runtime.node,
      file: childFile('playwright/main'),
      args: [runtime.folder],
      cwd: folder.root,
      env: baseEnvironment(folder, options),
      readable: [
        ...foldersOf(runtime),
        browsers.folder,
        ...browsers.programFolders,
        ...(options.extraCaFile === null ? [] : [options.extraCaFile]),
      ],
      writable: folder.temporary.startsWith(`${folder.root}/`)
        ? [folder.root]
        : [folder.root, folder.temporary],
      mayStartPrograms: true,
      browserSandbox: true,
      limits: options.limits,
      onLine: (line, stream) => {
        lastLines.push(line);
        if (lastLines.length > keptLines) lastLines.shift();
        made?.onLine(line, stream);
      },
      onRefused: (line) => made?.onRefused(line),
      onMessage: (message) => {
        if (typeof message !== 'object' || message === null) return;
        const known = message as ProcessMessage; // fields are unknown until they are checked
        if (known.type === 'ready') settle?.resolve();
        else made?.onMessage(known);
      },
    });
  } catch (error: unknown) {
    await removeFolder(folder);
    throw error;
  }
  const warm: WarmProcess = {
    child,
    folder,
    ready,
    end: null,
    lastLines,
    onMessage: () => undefined,
    onLine: () => undefined,
    onRefused: () => undefined,
    discard: async () => {
      await child.kill();
      await removeFolder(folder);
    },
  };
  void child.ended.then((end) => {
    warm.end = end;
    settle?.reject(
      new AgentError('INTERNAL', `Playwright's runner exited before it was ready: ${lastLines.join(' ')}`),
    );
  });
  made = warm;
  return warm;
}

async function makeFolder(dataFolder: string, runtime: Runtime): Promise<RunFolder> {
  const name = `${process.pid}-${randomBytes(3).toString('hex')}`;
  const root = join(dataFolder, 'playwright', name);
  const folder: RunFolder = {
    root,
    script: join(root, 'script'),
    output: join(root, 'output'),
    home: join(root, 'home'),
    temporary: temporaryFolder(root, name),
    cache: join(root, 'cache'),
  };
  try {
    for (const each of Object.values(folder)) await mkdir(each, { recursive: true, mode: 0o700 });
    // Scripts find the runtime's packages by Node's ordinary upward search. Files above this folder must not influence
    // how scripts are loaded and cannot be read, so the search must stop here.
    await symlink(join(runtime.folder, 'node_modules'), join(root, 'node_modules'));
    await writeFile(join(root, 'package.json'), '{"private":true}\n');
    await writeFile(join(root, 'tsconfig.json'), '{}\n');
    return folder;
  } catch (error: unknown) {
    await removeFolder(folder);
    const { message } = toError(error);
    const full = isRefusedByDisk(error);
    throw new AgentError(full ? 'DISK_FULL' : 'INTERNAL', `the folder of a script run: ${message}`, {
      cause: error,
    });
  }
}

/** Chromium creates a socket 56 characters below it, and socket paths are limited to 107 bytes. */
function temporaryFolder(root: string, name: string): string {
  const below = join(root, 'tmp');
  return Buffer.byteLength(below) <= 50 ? below : join(tmpdir(), `${temporaryPrefix}${name}`);
}

const temporaryPrefix = 'location-agent-pw-';

/** Removes a process's folders; the next start removes folders that cannot be removed now. */
export async function removeFolder({ root, temporary }: RunFolder): Promise<void> {
  for (const each of [root, temporary]) {
    await removeTree(each).catch(() => undefined);
  }
}

/** No process with its run lives this long. */
const leftAfterMs = 30 * 60_000;

/**
 * Removes leftovers of killed agents below the folder and in the machine's temporary folder. It decides by age, because
 * agents in other containers may share both.
 */
export async function removeLeftFolders(dataFolder: string): Promise<void> {
  for (const [parent, pattern] of [
    [join(dataFolder, 'playwright'), /^\d+-[0-9a-f]{6}$/],
    [tmpdir(), /^location-agent-pw-\d+-[0-9a-f]{6}$/],
  ] as const) {
    for (const name of await readdir(parent).catch(() => [])) {
      const path = join(parent, name);
      const found = pattern.test(name) ? await lstat(path).catch(() => null) : null;
      if (found === null || Date.now() - found.mtimeMs < leftAfterMs) continue;
      await removeTree(path).catch(() => undefined);
    }
  }
}
