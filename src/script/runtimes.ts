/** A runtime that is installed here: a fixed set of packages and the Node that they run on. */
export type Runtime = {
  name: string;
  /** The folder that holds its package.json and node_modules. */
  folder: string;
  /** Its own Node binary. */
  node: string;
  nodeVersion: string;
  playwrightVersion: string;
  multiStepSupport: boolean;
};

/** Finds the runtimes that are installed below `root`, newest first. Never throws: what is broken is left out and told to `warn`. */
export function installedRuntimes(_root: string, _warn: (line: string) => void): Runtime[] {
  return [];
}
