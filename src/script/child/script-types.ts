import type { ScriptType } from '../../protocol/check-types.ts';

/** In what the runs of script types differ. */
export const scriptTypeRows: {
  readonly [T in ScriptType]: {
    /** True: the result has the pages and what went wrong on them, and a video is recorded where one is asked for. */
    visitsPages: boolean;
    /** True: the result has a list of API calls even if there were none. */
    listsApiCalls: boolean;
    /** True: the runtime must support multi-step checks. */
    needsMultiStepSupport: boolean;
    /** The User-Agent: as the desktop browser of the runtime, with the agent's name behind it, or the agent's name alone. */
    userAgent: 'desktop browser' | 'agent';
  };
} = {
  BROWSER: {
    visitsPages: true,
    listsApiCalls: false,
    needsMultiStepSupport: false,
    userAgent: 'desktop browser',
  },
  MULTI_STEP: { visitsPages: false, listsApiCalls: true, needsMultiStepSupport: true, userAgent: 'agent' },
};
