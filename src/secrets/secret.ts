import { inspect } from 'node:util';

/** What stands wherever a secret stood. */
export const mask = '*********';

/** A value that must not leave by accident: its string, JSON and inspected forms are the mask. */
export class Secret {
  readonly #value: string;
  constructor(value: string) {
    this.#value = value;
  }
  /** The value itself; call it only where the value is used. */
  reveal(): string {
    return this.#value;
  }
  toString(): string {
    return mask;
  }
  toJSON(): string {
    return mask;
  }
  [inspect.custom](): string {
    return mask;
  }
}
