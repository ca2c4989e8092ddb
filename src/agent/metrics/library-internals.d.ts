/** Files of libraries that the agent enters without their front doors; see the one file that imports each of them. */
declare module 'prom-client/lib/histogram.js' {
  import { Histogram } from 'prom-client';
  export default Histogram;
}
