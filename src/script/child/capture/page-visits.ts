import type { RecordFile } from './file.ts';
import { bounds, type CountsRecord, type VisitRecord } from './format.ts';
import { plainText } from './text.ts';
import type { Methods } from './wrap.ts';
import { shortened } from '../shortened.ts';

/** The part of Playwright's pages that the capture uses. */
export type Emitter = { on: (event: string, listener: (value: never) => void) => void };
export type Frame = { url: () => string; page: () => Page };
export type Page = Emitter & {
  mainFrame: () => Frame;
  evaluate: (expression: string) => Promise<unknown>;
  isClosed: () => boolean;
};

/** A current or finished visit. `document`: the page document that sent its measurements; null = none yet. */
type Visit = VisitRecord & { document: string | null };
export type PageState = { navigating: boolean; visits: Visit[] };

const writeDelayMs = 300;

/** The records of all page visits of this process. */
export type VisitRecords = {
  states: WeakMap<Page, PageState>;
  /** Writes what has changed since the last write. */
  writeAll: () => void;
  count: (counter: 'consoleErrors' | 'networkErrors' | 'documentErrors') => void;
  /** Null = no more visits are recorded, or the page is blank. */
  newVisit: (state: PageState, url: string) => Visit | null;
  /** Adds an error to the page's latest visit. */
  addError: (page: Page | null, list: 'consoleErrors' | 'networkErrors', text: string) => void;
  /** Takes the measurements that a page has sent. */
  takeVitals: (page: Page, payload: unknown) => void;
};

/** Keeps the records of page visits, and writes changes to `file` with a short delay. */
export function createVisitRecords(file: RecordFile): VisitRecords {
  const states = new WeakMap<Page, PageState>();
  const counts: CountsRecord = {
    kind: 'counts',
    consoleErrors: 0,
    networkErrors: 0,
    documentErrors: 0,
  };
  let nextVisit = 0;
  let countsChanged = false;
  const changed = new Set<Visit>();
  let timer: NodeJS.Timeout | null = null;

  const writeAll = () => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    for (const visit of changed) {
      const { document: _, ...record } = visit;
      file.write(record);
    }
    changed.clear();
    if (countsChanged) file.write(counts);
    countsChanged = false;
  };
  const writeSoon = () => {
    timer ??= setTimeout(writeAll, writeDelayMs).unref();
  };
  const touch = (visit: Visit) => {
    changed.add(visit);
    writeSoon();
  };
  const count = (counter: 'consoleErrors' | 'networkErrors' | 'documentErrors') => {
    counts[counter] += 1;
    countsChanged = true;
    writeSoon();
  };

  const newVisit = (state: PageState, url: string): Visit | null => {
    if (nextVisit >= bounds.visits || url.startsWith('about:')) return null;
    const visit: Visit = {
      kind: 'visit',
      id: nextVisit++,
      startTime: Date.now(),
      url: shortened(url, bounds.url),
      vitals: {},
      onContentLoad: null,
      onLoad: null,
      encoded: 0,
      decoded: 0,
      consoleErrors: [],
      networkErrors: [],
      document: null,
    };
    state.visits.push(visit);
    touch(visit);
    return visit;
  };
  const addError = (page: Page | null, list: 'consoleErrors' | 'networkErrors', text: string) => {
    const visit = page === null ? undefined : states.get(page)?.visits.at(-1);
    if (visit === undefined || visit[list].length >= bounds.pageErrors) return;
    visit[list].push(plainText(text, bounds.shortText));
    touch(visit);
  };
  const takeVitals = (page: Page, payload: unknown) => {
    const state = states.get(page);
    const measured = parsed(payload);
    if (state === undefined || measured === null) return;
    const last = state.visits.at(-1);
    const visit =
      state.visits.find((each) => each.document === measured.id) ??
      (last?.document === null ? last : newVisit(state, page.mainFrame().url()));
    if (visit === null || visit === undefined) return;
    const { id, ...rest } = measured;
    Object.assign(visit, rest, { document: id });
    touch(visit);
  };

  return { states, writeAll, count, newVisit, addError, takeVitals };
}

type Measured = Pick<VisitRecord, 'vitals' | 'onContentLoad' | 'onLoad' | 'encoded' | 'decoded'> & {
  id: string;
};

/** Sent by the page, so it is checked. */
function parsed(payload: unknown): Measured | null {
  if (typeof payload !== 'string' || payload.length > 2000) return null;
  const value = JSON.parse(payload) as Methods | null; // checked below
  if (typeof value !== 'object' || value === null || typeof value['id'] !== 'string') return null;
  const number = (each: unknown) =>
    typeof each === 'number' && Number.isFinite(each) && each >= 0 ? Math.round(each * 1000) / 1000 : null;
  const vitals: { [name: string]: number } = {};
  for (const name of ['CLS', 'FCP', 'LCP', 'TBT', 'TTFB']) {
    const measure = number((value['vitals'] as Methods | undefined)?.[name]);
    if (measure !== null) vitals[name] = measure;
  }
  return {
    id: value['id'].slice(0, 40),
    vitals,
    onContentLoad: number(value['onContentLoad']),
    onLoad: number(value['onLoad']),
    encoded: number(value['encoded']) ?? 0,
    decoded: number(value['decoded']) ?? 0,
  };
}
