import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The output of `launcher --probe`: an errno for each layer, 0 = the layer works on this host. */
export type LauncherProbe = {
  uid: number;
  /** 0 = the kernel does not support it. */
  landlockVersion: number;
  /** Namespaces need a user namespace, because the agent has no CAP_SYS_ADMIN. */
  userNamespace: boolean;
  /** The supervisor copies the program's sockets; otherwise it makes them itself. */
  copiesSockets: boolean;
  errors: {
    noNewPrivs: number;
    capabilities: number;
    seccomp: number;
    landlock: number;
    namespaces: number;
    mounts: number;
    /** A user for one run; 0 also where the agent is not root. */
    user: number;
    network: number;
  };
};

/** The launcher (src/native/launcher), built to build/native below the package's root; null if it was not built. */
export function launcherFile(): string | null {
  // This file is in src/native or dist/native; in benchmark builds it is deeper.
  for (let folder = import.meta.dirname, up = 0; up < 6; folder = dirname(folder), up++) {
    const file = join(folder, 'build', 'native', 'launcher');
    if (existsSync(file)) return file;
  }
  return null;
}

/** Makes the launcher test each of its layers on this host. Rejects if it cannot run at all. */
export function probeLauncher(file: string): Promise<LauncherProbe> {
  return new Promise((resolve, reject) => {
    execFile(file, ['--probe'], { env: {}, timeout: 5000 }, (error, stdout) => {
      if (error !== null) return reject(error);
      try {
        resolve(JSON.parse(stdout) as LauncherProbe); // from our own program, built from the sources next to this file
      } catch (malformed: unknown) {
        reject(malformed instanceof Error ? malformed : new Error(String(malformed)));
      }
    });
  });
}
