import { join } from 'node:path';
import { bounds as recordBounds } from '../../child/capture/format.ts';
import { suiteBounds } from '../../child/suite/format.ts';
import { captureNames } from '../../playwright/capture-names.ts';
import { lostSecretText, mostSecrets } from '../../process/lost-secret.ts';
import { amountOf, textOf } from '../../process/unchecked.ts';
import { fieldsOf } from '../../../json-values.ts';
import { tryKey } from './lines.ts';
import { eachLine, namesIn } from './record-files.ts';

/** Lines of the helpers package: `test` is a key of `tryKey`; null = outside of a test. */
export type ReadMarks = {
  degraded: { test: string | null; reason: string }[];
  soft: Map<string, number>;
  secrets: Set<string>;
  /** Why the secrets are not complete. */
  lostSecret: string | null;
};

/** Limits for all files together, and for a line: the longest secret, each of whose characters may be six as JSON. */
const most = {
  files: 20_000,
  bytes: 16 * 1024 * 1024,
  secrets: mostSecrets,
  lineBytes: 6 * recordBounds.secretLength + 1024,
};

/** No lines. */
export const noMarks = (): ReadMarks => ({
  degraded: [],
  soft: new Map(),
  secrets: new Set(),
  lostSecret: null,
});

/** The lines of the helpers package in the test processes. Never throws. */
export async function readMarks(folder: string): Promise<ReadMarks> {
  const marks = noMarks();
  const names = captureNames(await namesIn(folder, /^capture-\d+-\d+\.jsonl$/, most.files));
  let left = most.bytes;
  for (const name of names) {
    if (left <= 0) break;
    left -= await eachLine(join(folder, name), left, most.lineBytes, (line) => {
      const { testId, retry } = fieldsOf(line['test']);
      const test = typeof testId === 'string' ? tryKey(testId.slice(0, 200), amountOf(retry)) : null;
      if (line['kind'] === 'degraded') {
        if (marks.degraded.length < 5000) marks.degraded.push({ test, reason: textOf(line['reason'], 1024) });
      } else if (line['kind'] === 'soft' && test !== null && marks.soft.size < suiteBounds.tests) {
        marks.soft.set(test, (marks.soft.get(test) ?? 0) + 1);
      } else if (line['kind'] === 'secret' && typeof line['value'] === 'string') {
        if (line['value'].length > recordBounds.secretLength) marks.lostSecret ??= lostSecretText('length');
        else if (marks.secrets.size < most.secrets) marks.secrets.add(line['value']);
      } else if (line['kind'] === 'lost-secret') marks.lostSecret ??= lostSecretText(line['limit']);
    });
  }
  if (left <= 0 || names.length >= most.files) marks.lostSecret ??= lostSecretText('records');
  return marks;
}
