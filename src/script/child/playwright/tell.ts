/**
 * Sends a message from any process of a Playwright run to the host: a secret that the script sets, a secret beyond a
 * limit, or a state of the browser. Code in the process can forge these messages; they affect only this run.
 */
export type SendToHost = (message: {
  type: 'secret' | 'lost-secret' | 'browser';
  [field: string]: string | number | boolean | null;
}) => void;
