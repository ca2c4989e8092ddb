import { exitCodes, FatalError } from '../../errors.ts';
import { isFields } from '../../json-values.ts';
import { printable } from '../terminal-text.ts';

/** Which check of a file with several documents runs. */

/**
 * Chooses from the documents of a file: the only check, or the one whose logicalId or name is `name`. A file with one
 * document is that document. Throws FatalError (64).
 */
export function chosenCheck(
  documents: readonly unknown[],
  { path, name }: { path: string; name: string | undefined },
): unknown {
  const [first] = documents;
  if (documents.length === 1 && name === undefined) return first;
  const checks = documents.filter(isCheck);
  const names = checks.map((check) => printable(String(check['logicalId'] ?? check['name'])));
  const found =
    name === undefined
      ? checks
      : checks.filter((check) => [check['logicalId'], check['name']].includes(name));
  const [chosen, second] = found;
  if (chosen !== undefined && second === undefined) return chosen;
  const list = names.length === 0 ? 'no check' : `the checks ${names.join(', ')}`;
  throw new FatalError('CONFIGURATION', `${path} has ${list}`, {
    exitCode: exitCodes.usage,
    remedy: names.length === 0 ? 'add one with checkType' : 'choose one with --name',
  });
}

/** Other documents describe resources that only a service has. */
const isCheck = (value: unknown): value is { [field: string]: unknown } =>
  isFields(value) && (value['kind'] === 'check' || (value['kind'] === undefined && 'checkType' in value));
