/** A fuzz target: the module of a file below test/fuzz/targets. */
export type Target = {
  name: string;
  /** Feeds one input to the parser. Throws for anything that the parser must not do; a refusal is not an error. */
  run: (data: Buffer) => void | Promise<void>;
  /** Inputs to start from. */
  seeds?: () => readonly (Buffer | string)[] | Promise<readonly (Buffer | string)[]>;
  /** Words of the format. */
  dictionary?: readonly (string | Buffer)[];
  /** Most bytes of an input; absent = 8 KiB. */
  maxBytes?: number;
  /** Milliseconds that one input may take; absent = 2000. Only `npm run fuzz` measures it. */
  maxMs?: number;
  /** Closes what the target opened. */
  close?: () => void | Promise<void>;
};

export const defaultMaxBytes = 8 * 1024;
export const defaultMaxMs = 2000;
