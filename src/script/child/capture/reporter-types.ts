import type { ErrorParts } from './text.ts';

/** The part of Playwright's reporter values that our reporters read. */

export type Step = {
  title: string;
  category: string;
  startTime: Date;
  duration: number;
  error?: ErrorParts;
  steps: Step[];
};

export type TestResult = {
  retry: number;
  status: string;
  startTime: Date;
  duration: number;
  errors: ErrorParts[];
  steps: Step[];
  attachments: { name: string; path?: string; body?: Buffer; contentType: string }[];
};
