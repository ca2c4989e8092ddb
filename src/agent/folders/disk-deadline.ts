/** A disk that does not answer within this time hangs, as a file server that is away does. Milliseconds. */
const patienceMs = 5000;

/** The disk has not answered in time. */
export class DiskHangs extends Error {
  constructor(milliseconds: number) {
    super(`the disk has not answered for ${milliseconds / 1000} s`);
    this.name = 'DiskHangs';
  }
}

/**
 * A deadline for operations on the disk. An operation that hangs cannot be stopped, and it holds a thread of Node's
 * pool. So nothing new is started until it has ended.
 */
export class DiskDeadline {
  readonly #patienceMs: () => number;
  #hanging = 0;

  /** `patience`: the time limit of each operation in milliseconds. */
  constructor(patience = () => patienceMs) {
    this.#patienceMs = patience;
  }

  /** True while an operation hangs. */
  get hangs(): boolean {
    return this.#hanging > 0;
  }

  /** Throws DiskHangs while an operation hangs. */
  check(): void {
    if (this.hangs) throw new DiskHangs(this.#patienceMs());
  }

  /**
   * The value of an operation; rejects with DiskHangs if it takes too long. `onLate` receives the value of an operation
   * that ends later, before anything new is started; an error then is of no interest.
   */
  within<T>(operation: Promise<T>, onLate: (value: T) => void = () => {}): Promise<T> {
    return new Promise((resolve, reject) => {
      const milliseconds = this.#patienceMs();
      let isLate = false;
      const timer = setTimeout(() => {
        isLate = true;
        this.#hanging += 1;
        reject(new DiskHangs(milliseconds));
      }, milliseconds);
      const settled = (end: () => void, late: () => void) => {
        clearTimeout(timer);
        if (!isLate) return end();
        late();
        this.#hanging -= 1;
      };
      operation.then(
        (value) =>
          settled(
            () => resolve(value),
            () => onLate(value),
          ),
        (error: unknown) =>
          settled(
            () => reject(error as Error),
            () => {},
          ),
      );
    });
  }
}
