import type { Artifact } from '../../protocol/result.ts';

/** A scrubbed file that waits to be sent to the service. */
export type StoredArtifact = {
  id: string;
  /** The file with its bytes. */
  path: string;
  jobId: string;
  attempt: number;
  leaseToken: string;
  name: string;
  type: Artifact['type'];
  contentType: string;
  /** Bytes. */
  size: number;
  /** SHA-256 of the complete file, in base64. */
  sha256: string;
  /** Milliseconds since the epoch. */
  createdAt: number;
};
