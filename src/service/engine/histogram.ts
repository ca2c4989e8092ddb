/**
 * Histograms of logarithmic buckets that can be added up. A value v falls into bucket ceil(ln v / ln γ), and the
 * bucket's middle is within 1 % of each of its values (Masson, Rim, Lee: DDSketch, VLDB 2019). All of it is done in
 * SQL.
 */

/** Largest relative error of a value read from a histogram. */
export const relativeError = 0.01;
const gamma = (1 + relativeError) / (1 - relativeError);
const lnGamma = Math.log(gamma);

/** Bucket of all values below `smallest`; it reads as 0. */
const zeroKey = -32_768;
const smallest = 1e-9;
/** Larger values are not measurements and are ignored. */
export const largestValue = 1e12;

/** SQL: the bucket of a value from 0 to largestValue. */
export const bucketSql = (value: string) =>
  `(case when ${value} < ${smallest} then ${zeroKey} else ceil(ln(${value}) / ${lnGamma}) end)::smallint`;

/** SQL: the value that a bucket's key represents. */
export const bucketValueSql = (key: string) =>
  `(case when ${key} = ${zeroKey} then 0 else exp(${key} * ${lnGamma}) * ${2 / (gamma + 1)} end)`;
