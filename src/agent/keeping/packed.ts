import { Compile } from 'typebox/compile';
import { Assignment } from '../../protocol/assignments.ts';

/**
 * A held check as it waits in memory and on disk. Its job is a text until it runs: a parsed job takes several times the memory.
 */
export type PackedCheck = Omit<Assignment, 'job'> & { job: string };

const assignments = Compile(Assignment);
const noPauses: Assignment['pauses'] = [];

/** Creates a packer. Checks that it packs share texts that are the same in most of them. */
export function createPacker(): (check: Assignment) => PackedCheck {
  let holder = '';
  let locationId = '';
  return (check) => {
    if (check.holder !== holder) ({ holder } = check);
    if (check.locationId !== locationId) ({ locationId } = check);
    return {
      checkId: check.checkId,
      holder,
      locationId,
      epoch: check.epoch,
      from: check.from,
      intervalSeconds: check.intervalSeconds,
      offsetSeconds: check.offsetSeconds,
      pauses: check.pauses.length === 0 ? noPauses : check.pauses,
      ...(check.sharesVariables === undefined ? {} : { sharesVariables: check.sharesVariables }),
      job: JSON.stringify(check.job),
    };
  };
}

/** The JSON of the whole assignment. */
export const unpackedJson = ({ job, ...check }: PackedCheck): string =>
  `${JSON.stringify(check).slice(0, -1)},"job":${job}}`;

/** Validates each assignment by itself, so that one malformed check does not affect the others. */
export function readAssignments(items: Iterable<unknown>): { checks: PackedCheck[]; invalid: number } {
  const pack = createPacker();
  const checks: PackedCheck[] = [];
  let invalid = 0;
  for (const item of items) {
    if (assignments.Check(item)) checks.push(pack(item));
    else invalid += 1;
  }
  return { checks, invalid };
}
