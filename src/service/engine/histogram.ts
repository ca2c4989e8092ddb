/**
 * Histograms of logarithmic buckets that can be added up: a value v falls into bucket ceil(ln v / ln γ), and every value of a
 * bucket is told within 1 % by the bucket's middle (Masson, Rim, Lee: DDSketch, VLDB 2019). All of it is done in SQL.
 */

/** Largest relative error of a value that is read from a histogram. */
export const relativeError = 0.01;
const gamma = (1 + relativeError) / (1 - relativeError);
const lnGamma = Math.log(gamma);

/** Bucket of everything below `smallest`: it reads as 0. */
const zeroKey = -32_768;
const smallest = 1e-9;
/** Larger values are no measurements: they are left out. */
export const largestValue = 1e12;

/** SQL: the bucket of a value from 0 to largestValue. */
export const bucketSql = (value: string) =>
  `(case when ${value} < ${smallest} then ${zeroKey} else ceil(ln(${value}) / ${lnGamma}) end)::smallint`;

/** SQL: what a bucket's key stands for. */
export const bucketValueSql = (key: string) =>
  `(case when ${key} = ${zeroKey} then 0 else exp(${key} * ${lnGamma}) * ${2 / (gamma + 1)} end)`;
