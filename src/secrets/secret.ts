import { inspect } from 'node:util';

/** The text that replaces a secret. */
export const mask = '*********';

/** A value that must not leave by accident: its string, JSON and inspected forms are the mask. */
export class Secret {
  readonly #value: string;
  constructor(value: string) {
    this.#value = value;
  }
  /** The value itself; call it only where the value is needed. */
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
