import type { ScriptNetwork } from './script-network.ts';

/** Limits of one child and every process that it starts. */
export type ChildLimits = {
  /** Memory of all its processes; shared pages count once. */
  memoryBytes: number;
  /** Processor time of all its processes, in seconds. */
  cpuSeconds: number;
  /** Bytes on standard output and standard error together. The channel takes twice as much plus 32 MiB. */
  outputBytes: number;
  /** Bytes below the writable folders, including earlier content. */
  diskBytes: number;
  /** Processes and threads. Node needs 11 of them, a browser more than 100. */
  processes: number;
};

/** Input of a program's confinement. */
export type Reach = {
  /** The complete environment. TMPDIR and HOME must name writable folders, if the program uses any. */
  env: { readonly [name: string]: string };
  /** Paths that it may read in addition to the system, and paths that it may write (and read). */
  readable: readonly string[];
  writable: readonly string[];
  /** Folders in which it may list the names of files at any depth, but nothing else. Absent = none. */
  listable?: readonly string[];
  mayStartPrograms: boolean;
  limits: ChildLimits;
  /**
   * Number of processes, not counting threads, of which a browser has far more; exceeding it counts as `processes`.
   * Absent = no separate limit.
   */
  processesAtOnce?: number;
  /** Number of files and folders below the writable folders; exceeding it counts as `diskBytes`. Absent = 200,000. */
  maxFiles?: number;
  /** The folder that it sees at /tmp, if this host supports that; writable. */
  temporary?: string;
  /** Writable folders in the machine's /tmp, which the program needs only if it has no /tmp of its own. */
  shared?: readonly string[];
  /** The run's own folder, if it contains several of the writable ones: files can be linked between them. */
  own?: string;
  /** A browser may be among its programs, and uses its own sandbox, which needs namespaces. */
  browserSandbox?: boolean;
  /** How far it reaches in the network; absent = as all scripts of this process (`limitScriptNetwork`). */
  network?: ScriptNetwork;
};

export type ProgramOptions = Reach & {
  /** The program's path and its arguments. */
  command: readonly string[];
  cwd: string;
  /** Called with a line of its standard output or error, at most 8 KiB of it. */
  onLine: (line: string, stream: 'stdout' | 'stderr') => void;
  /** Called with a line about each destination in the network that it was refused; absent = `onLine`. */
  onRefused?: (line: string) => void;
};

/** Receives what arrives on a child's file descriptor 3. */
export type ChildChannel = {
  /** A message of the child: unchecked JSON, at most 4 MiB. */
  onMessage: (message: unknown) => void;
  /** Data on the channel that is not a message: no JSON, or too long. Only customer code can have written it. */
  onGarbage?: () => void;
};

/** `readable` adds to Node and `file`'s own folder; `mayStartPrograms` false adds Node's permission model. */
export type ChildOptions = Omit<
  ProgramOptions,
  'command' | 'maxFiles' | 'processesAtOnce' | 'temporary' | 'own' | 'shared'
> &
  ChildChannel & {
    /** The runtime's Node binary. */
    node: string;
    /** Flags of Node itself, before the file. */
    nodeFlags?: readonly string[];
    /** A compiled file of src/script/child. */
    file: string;
    args?: readonly string[];
  };

export type ChildEnd = {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** The limit that it exceeded, if any. */
  exceeded: keyof ChildLimits | null;
};

/** A customer's program, and the supervisor that starts it, watches it and exits with it. */
export type Program = {
  /** Process id of the supervisor: the parent of all processes of the program. */
  readonly pid: number;
  /** Settles when the program and every process that it started are gone. */
  readonly ended: Promise<ChildEnd>;
  /** Kills all of its processes; resolves with `ended`. */
  kill: () => Promise<ChildEnd>;
  /**
   * Asks it to exit: SIGINT to its group, as Ctrl-C does; SIGTERM to all its processes after four fifths of the time;
   * then it is killed. Resolves with `ended`.
   */
  end: (graceMs: number) => Promise<ChildEnd>;
};

/** A program with a channel: a child process of customer code. */
export type Child = Program & {
  /** Sends one message as JSON. A child that does not read is killed when 32 MiB are waiting. */
  send: (message: unknown) => void;
};
