/**
 * Library files that the agent imports directly instead of the package's main entry; see the file that imports each
 * of them.
 */
declare module 'prom-client/lib/histogram.js' {
  import { Histogram } from 'prom-client';
  export default Histogram;
}
