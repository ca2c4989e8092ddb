import type { NamedSecret } from '../scrubber/scrubber.ts';

/** What the scrubbing thread is asked to do, and what it answers. Everything here can be cloned from thread to thread. */

export type ScrubFileTask = {
  readonly kind: 'file';
  readonly source: string;
  readonly target: string;
  readonly secrets: readonly NamedSecret[];
};

/** Like ScrubFileTask; `folder` is an empty folder for what has to be unpacked, removed by the caller. */
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
  /** Of the target, in hexadecimal. */
  readonly sha256: string;
  /** What was left out of the artifact since it could not be scrubbed; a sentence for whoever looks for it. */
  readonly note?: string;
};

/** An error goes by its fields: a clone of one has lost them. */
export type ScrubAnswer =
  { scrubbed: ScrubbedFile | ScrubbedArtifact } | { error: { message: string; code?: string | undefined } };
