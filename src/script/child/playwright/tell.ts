/**
 * What every process of a Playwright run tells the host: secrets that the script sets, and how the browser fares. Whoever
 * runs in the process can forge these messages; they decide about this run alone.
 */
export type Tell = (message: {
  type: 'secret' | 'browser';
  [field: string]: string | number | boolean | null;
}) => void;
