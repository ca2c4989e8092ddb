/** What the process that loads files with code is given, and what it answers. */

/** Pattern of the files that are run. */
export const codeFile = /\.check\.[mc]?[jt]s$/;

/** Longest time that one file may take, and that reading where it hangs may take. */
export const fileLimitMs = 30_000;
export const lookLimitMs = 5_000;
export const heapLimitMb = 1024;

export type Order = { folder: string; files: string[]; limitMs: number; lookMs: number };

/** A resource, with references as files write them. `place`: `file:line` below the folder. */
export type CodeResource = { kind: string; logicalId: string; fields: unknown; place: string };

/** `loading` names the file that begins; `done` has JSON of CodeAnswer. */
export type Message = { loading: string } | { done: string };

export type CodeAnswer = { resources: CodeResource[]; problems: string[] };

/** Where a file hangs; the watchdog writes it, because the main thread is busy. */
export type Hang = { file: string; place: string | null };

/** Descriptor to which the watchdog writes. */
export const hangDescriptor = 4;
