import { toError } from '../../errors.ts';
import type { Assertion, AssertionResult, AssertionSource } from '../../protocol/assertions.ts';
import { comparisonRules, isArrayText } from './comparisons.ts';
import { applyPattern, quotedPattern } from './pattern.ts';
import { actualOf, shown } from './text.ts';
import { findByPath } from './json-path.ts';
import { isFields } from '../../json-values.ts';
import { isSensitiveHeader } from '../../sensitive-headers.ts';

/** What a source offers to an assertion: its raw value, or why there is none. */
export type Found = { value: unknown } | { error: string };

/**
 * The sources of one attempt. Each function is called once per assertion of its source, so that expensive work
 * happens only when needed (the function should cache what it parsed). The required `value`:
 *
 * - STATUS_CODE, RESPONSE_TIME: a number; RESPONSE_CODE: a number or text
 * - TEXT_BODY, RESPONSE_DATA, TEXT_ANSWER: the complete text (null = none); the evaluator applies the pattern
 * - HEADERS: all headers, `{name: value
 *
 * values}`; or only the values of `assertion.property` (text, texts, or undefined). The evaluator looks up the name
 * case-insensitively and applies the pattern
 * - JSON_BODY, JSON_ANSWER, JSON_RESPONSE: the parsed document; the evaluator applies the JSONPath
 * - LATENCY: `{avg, min, max, stdDev}` in milliseconds
 * - CERTIFICATE, CONNECTION: the fields that `property` may name
 * - GRPC_METADATA, GRPC_TRAILERS: as HEADERS; GRPC_RESPONSE: as JSON_BODY; GRPC_STATUS_CODE: a number;
 *   GRPC_HEALTHCHECK_STATUS: the number as text
 * - HOP_COUNT, PACKET_LOSS: a number. HOP: a list of texts
 */
export type AssertionSources = { [S in AssertionSource]?: (assertion: Assertion) => Found };

/** How several values count: `every` one must match (JSONPath), or one is enough (a repeated header). */
type Selection = { values: unknown[]; quantifier: 'every' | 'header'; subject: string } | { error: string };

/**
 * Evaluates all assertions in order; never throws. `error` null = passed, else a sentence.
 *
 * - JSONPath with several values: the comparison must hold for each of them. With a single array it must hold for
 *   each element. HAS_VALUE, CONTAINS, IS_EMPTY, IS_NULL and their opposites apply to the array itself, and so do
 *   EQUALS and NOT_EQUALS if the target is the JSON text of an array. `$.list.length` is the array's length.
 * - Nothing found (no such place, an empty selection, no match, no such header): IS_NULL, IS_EMPTY, NOT_EQUALS,
 *   NOT_CONTAINS, NOT_HAS_KEY and NOT_HAS_VALUE pass; the others fail with "nothing was found". A source that cannot
 *   be read at all (a body that is not JSON) fails every comparison.
 * - A repeated header: one matching value is enough, but opposites need all values to match. HAS_KEY on HEADERS
 *   searches for the header named by `property`, or by the target if `property` is empty.
 * - A pattern (`property` of text sources, `regex` of headers) is applied once, without flags. Its first capture
 *   group is compared, or the complete match if it has no group.
 * - A JSONPath must begin with `$`; an empty one selects the complete document.
 */
export function evaluateAssertions(
  assertions: readonly Assertion[],
  sources: AssertionSources,
): AssertionResult[] {
  return assertions.map((assertion) => evaluate(assertion, sources));
}

function evaluate(assertion: Assertion, sources: AssertionSources): AssertionResult {
  const { source, property, comparison, target, regex } = assertion;
  const result: AssertionResult = { source, property, comparison, target, regex, actual: null, error: null };
  if (!Object.hasOwn(comparisonRules, comparison)) {
    result.error = `the comparison ${shown(comparison)} is unknown; use one of ${Object.keys(comparisonRules).join(', ')}`;
    return result;
  }
  const found = read(assertion, sources);
  if ('error' in found) {
    result.error = found.error;
    return result;
  }
  try {
    const selection = dig[source](assertion, found.value);
    if ('error' in selection) {
      result.error = selection.error;
    } else {
      const values = shownValues(assertion, selection.values);
      // One value is shown as it is, several as a list, none as null.
      result.actual = actualOf(values.length > 1 ? values : values[0]);
      if (revealsHeader(assertion, selection.values)) result.target = mask;
      result.error = judge({ ...assertion, target: result.target }, selection, values, target);
    }
  } catch (error: unknown) {
    // A document or a target nested thousands of levels deep overflows the stack.
    result.error = `the assertion cannot be evaluated: ${toError(error).message}`;
  }
  return result;
}

/** Stands for a value that may not leave; the comparison gets the value itself. */
const mask = '*********';

const headerSources: ReadonlySet<string> = new Set(['HEADERS', 'GRPC_METADATA', 'GRPC_TRAILERS']);

/** The values as they may be shown: those of sensitive headers are masked. */
function shownValues({ source, property, comparison }: Assertion, values: unknown[]): unknown[] {
  if (!headerSources.has(source) || isAboutKeys(comparison)) return values;
  if (property !== '') return isSensitiveHeader(property) ? values.map(() => mask) : values;
  return values.map((value) =>
    isFields(value)
      ? Object.fromEntries(
          Object.entries(value).map(([name, of]) => [name, isSensitiveHeader(name) ? mask : of]),
        )
      : value,
  );
}

/** Whether the target repeats the value of a sensitive header. */
function revealsHeader({ source, property, comparison, target }: Assertion, values: unknown[]): boolean {
  if (!headerSources.has(source) || !isSensitiveHeader(property) || isAboutKeys(comparison)) return false;
  return target.length >= 8 && values.some((value) => String(value).includes(target));
}

const isAboutKeys = (comparison: Assertion['comparison']): boolean =>
  comparison === 'HAS_KEY' || comparison === 'NOT_HAS_KEY';

/**
 * Null if the comparison with `trueTarget` holds for the values, else a sentence that explains why not, with the values
 * and the target as they may be shown.
 */
function judge(
  { comparison, target }: Assertion,
  selection: Exclude<Selection, { error: string }>,
  shownOnes: unknown[],
  trueTarget: string,
): string | null {
  const rule = comparisonRules[comparison];
  const { subject, quantifier } = selection;
  let { values } = selection;
  const [only] = values;
  const splits =
    values.length === 1 && Array.isArray(only) && !rule.comparesWholeArray && !isArrayText(trueTarget);
  if (splits) values = only;
  if (values.length === 0) {
    return rule.holdsForNothing ? null : `expected ${subject} ${rule.phrase(target)}, but nothing was found`;
  }
  const outcomes = values.map((value) => rule.holds(value, trueTarget));
  const failedAt = outcomes.findIndex((outcome) => outcome !== true);
  if (failedAt === -1) return null;
  if (quantifier === 'header' && !rule.holdsForNothing && outcomes.includes(true)) return null;
  const outcome = outcomes[failedAt];
  const value = shown((splits ? values : shownOnes)[failedAt]);
  const which = values.length > 1 ? `value ${failedAt + 1} of ${values.length} was ${value}` : `was ${value}`;
  const why = typeof outcome === 'string' && target === trueTarget ? ` (${outcome})` : '';
  return `expected ${subject} ${rule.phrase(target)}, but ${which}${why}`;
}

function read(assertion: Assertion, sources: AssertionSources): Found {
  const { source } = assertion;
  const readSource = Object.hasOwn(sources, source) ? sources[source] : undefined;
  if (readSource !== undefined) return readSource(assertion);
  const names = Object.keys(sources).join(', ');
  return { error: `the source ${shown(source)} does not exist for this check; its sources are ${names}` };
}

type Dig = (assertion: Assertion, value: unknown) => Selection;

const scalar =
  (subject: string): Dig =>
  (_assertion, value) => ({ values: value === undefined ? [] : [value], quantifier: 'every', subject });

const text =
  (subject: string): Dig =>
  ({ property }, value) => {
    const whole = value === null || value === undefined ? null : String(value);
    if (property === '' || whole === null) {
      return { values: whole === null ? [] : [whole], quantifier: 'every', subject };
    }
    const match = applyPattern(property, whole);
    if ('error' in match) return match;
    const values = match.text === null ? [] : [match.text];
    return { values, quantifier: 'every', subject: `${subject} at ${quotedPattern(property)}` };
  };

const json =
  (subject: string): Dig =>
  ({ property }, value) => {
    if (property === '' || property === '$') return { values: [value], quantifier: 'every', subject };
    const match = findByPath(property, value);
    if ('error' in match) return match;
    return { values: match.values, quantifier: 'every', subject: `${subject} at ${property}` };
  };

const headers: Dig = ({ property, comparison, target, regex }, value) => {
  const aboutKeys = isAboutKeys(comparison);
  const map = isFields(value) ? Object.entries(value) : null;
  if (property === '' && map !== null) {
    const lowerCase = Object.fromEntries(map.map(([name, of]) => [name.toLowerCase(), of as unknown]));
    if (!aboutKeys) return { values: [lowerCase], quantifier: 'every', subject: 'the headers' };
    const named = Object.hasOwn(lowerCase, target.toLowerCase());
    return { values: [named ? { [target]: true } : {}], quantifier: 'every', subject: 'the headers' };
  }
  const lowerCaseName = property.toLowerCase();
  const raw: unknown =
    map === null
      ? value
      : map.filter(([name]) => name.toLowerCase() === lowerCaseName).flatMap(([, of]) => of);
  const all = (Array.isArray(raw) ? raw : [raw])
    .filter((one) => one !== undefined && one !== null)
    .map(String);
  const subject = `header ${JSON.stringify(property)}`;
  if (aboutKeys) return { values: [all.length > 0 ? { [target]: true } : {}], quantifier: 'every', subject };
  if (regex === null || regex === '') return { values: all, quantifier: 'header', subject };
  const values: string[] = [];
  for (const one of all) {
    const match = applyPattern(regex, one);
    if ('error' in match) return match;
    if (match.text !== null) values.push(match.text);
  }
  return { values, quantifier: 'header', subject: `${subject} at ${quotedPattern(regex)}` };
};

const latency: Dig = ({ property }, value) => {
  const name = property === '' ? 'avg' : property;
  const known = typeof value === 'object' && value !== null && Object.hasOwn(value, name);
  if (!known) return { error: `LATENCY has no property ${shown(property)}; use avg, min, max or stdDev` };
  const one: unknown = (value as Record<string, unknown>)[name]; // hasOwn has confirmed it
  return {
    values: one === null || one === undefined ? [] : [one],
    quantifier: 'every',
    subject: `latency ${name}`,
  };
};

const field =
  (subject: string): Dig =>
  ({ source, property }, value) => {
    if (!isFields(value) || !Object.hasOwn(value, property)) {
      return { error: `${source} has no property ${shown(property)}` };
    }
    const one: unknown = value[property];
    return { values: one === null ? [] : [one], quantifier: 'every', subject: `${subject} ${property}` };
  };

const members =
  (subject: string): Dig =>
  ({ property }, value) => ({
    values: [value],
    quantifier: 'every',
    subject: property === '' ? subject : `the ${property} of ${subject}`,
  });

const dig: { readonly [S in AssertionSource]: Dig } = {
  STATUS_CODE: scalar('status code'),
  RESPONSE_TIME: scalar('response time'),
  RESPONSE_CODE: scalar('response code'),
  TEXT_BODY: text('text body'),
  RESPONSE_DATA: text('response data'),
  TEXT_ANSWER: text('text answer'),
  JSON_BODY: json('JSON body'),
  JSON_ANSWER: json('JSON answer'),
  JSON_RESPONSE: json('JSON response'),
  HEADERS: headers,
  LATENCY: latency,
  CERTIFICATE: field('certificate'),
  CONNECTION: field('connection'),
  TEXT_RESPONSE: text('response'),
  GRPC_STATUS_CODE: scalar('gRPC status code'),
  GRPC_HEALTHCHECK_STATUS: scalar('health status'),
  GRPC_RESPONSE: json('response message'),
  GRPC_METADATA: headers,
  GRPC_TRAILERS: headers,
  HOP_COUNT: scalar('hop count'),
  PACKET_LOSS: scalar('packet loss'),
  HOP: members('the hops'),
};
