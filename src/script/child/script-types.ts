import type { ScriptType } from '../../protocol/check-types.ts';

/** The differences between script types. */
export const scriptTypeRows: {
  readonly [T in ScriptType]: {
    /** True: the result contains the pages and their errors, and a video is recorded if the check requests one. */
    visitsPages: boolean;
    /** True: the result has a list of API calls, even an empty one. */
    listsApiCalls: boolean;
    /** True: the runtime must support multi-step checks. */
    needsMultiStepSupport: boolean;
    /** The User-Agent: the runtime's desktop browser with the agent's name appended, or only the agent's name. */
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
