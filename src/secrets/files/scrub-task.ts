import type { NamedSecret } from '../scrubber/scrubber.ts';

/** Requests to the scrubbing thread, and its replies. Everything here can be cloned between threads. */

export type ScrubFileTask = {
  readonly kind: 'file';
  readonly source: string;
  readonly target: string;
  readonly secrets: readonly NamedSecret[];
};

/** Like ScrubFileTask; `folder` is an empty folder for unpacked content, which the caller removes. */
export type ScrubArtifactTask = {
  readonly kind: 'artifact';
  readonly source: string;
  readonly target: string;
  readonly folder: string;
  readonly name: string;
  readonly type: string;
  readonly contentType: string;
  readonly secrets: readonly NamedSecret[];
  readonly maxBytes: number;
};

export type ScrubTask = ScrubFileTask | ScrubArtifactTask;

/** Bytes read and written, and masks written. */
export type ScrubbedFile = {
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly maskedCount: number;
};

export type ScrubbedArtifact = ScrubbedFile & {
  /** SHA-256 of the target, in hexadecimal. */
  readonly sha256: string;
  /** The parts that were dropped because they could not be scrubbed, as a sentence for the reader. */
  readonly note?: string;
};

/** An error is sent as its fields, because cloning would lose them. */
export type ScrubAnswer =
  { scrubbed: ScrubbedFile | ScrubbedArtifact } | { error: { message: string; code?: string | undefined } };
