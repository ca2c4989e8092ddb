/** Bounds of one child and all that it starts. */
export type ChildLimits = {
  /** Memory of all its processes; pages that they share count once. */
  memoryBytes: number;
  /** Processor time of all its processes, in seconds. */
  cpuSeconds: number;
  /** Bytes on standard output and standard error together. The channel takes twice as many and 32 MiB. */
  outputBytes: number;
  /** Bytes below the writable folders, what was there before included. */
  diskBytes: number;
  /** Processes and threads. Node needs 11 of them, a browser more than 100. */
  processes: number;
};

/** What a program's confinement depends on. */
export type Reach = {
  /** The whole environment. TMPDIR and HOME must name writable folders, if it uses any. */
  env: { readonly [name: string]: string };
  /** What it may read besides the system; and what it may write (and read). */
  readable: readonly string[];
  writable: readonly string[];
  /** Folders of which it may read the names of files below, at any depth, and nothing else. Absent = none. */
  listable?: readonly string[];
  mayStartPrograms: boolean;
  limits: ChildLimits;
  /** Processes, without their threads, of which a browser has far more; more break `processes`. Absent = no other bound. */
  processesAtOnce?: number;
  /** Files and folders below the writable folders; more break `diskBytes`. Absent = 200,000. */
  maxFiles?: number;
  /** What it finds at /tmp, where this host allows that; writable. */
  temporary?: string;
};

export type ProgramOptions = Reach & {
  /** The program's path and its arguments. */
  command: readonly string[];
  cwd: string;
  /** A line of its standard output or error, at most 8 KiB of it. */
  onLine: (line: string, stream: 'stdout' | 'stderr') => void;
};

/** What comes over a child's file descriptor 3. */
export type ChildChannel = {
  /** A message of the child: JSON that nobody has checked yet, at most 4 MiB. */
  onMessage: (message: unknown) => void;
  /** Something on the channel that is no message: no JSON, or too long. Only customer code can have written it. */
  onGarbage?: () => void;
};

/** `readable` besides Node and `file`'s own folder; `mayStartPrograms` false puts Node's permission model on top. */
export type ChildOptions = Omit<ProgramOptions, 'command' | 'maxFiles' | 'processesAtOnce' | 'temporary'> &
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
  /** Which bound it broke, if one. */
  exceeded: keyof ChildLimits | null;
};

/** A program of a customer, and the supervisor that starts it, watches it and ends with it. */
export type Program = {
  /** Of the supervisor: the parent of all that belongs to the program. */
  readonly pid: number;
  /** Settles when the program and all that it has started are gone. */
  readonly ended: Promise<ChildEnd>;
  /** Kills all of it; resolves with `ended`. */
  kill: () => Promise<ChildEnd>;
  /**
   * Asks it to end: SIGINT to its group, as Ctrl-C does; SIGTERM to all of it after four fifths of the time; then it is
   * killed. Resolves with `ended`.
   */
  end: (graceMs: number) => Promise<ChildEnd>;
};

/** A program with a channel: a child process of customer code. */
export type Child = Program & {
  /** Sends one message as JSON. A child that reads nothing is killed when 32 MiB wait for it. */
  send: (message: unknown) => void;
};
