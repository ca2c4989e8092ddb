import { get } from '../base/service.ts';

/** Status pages and services as the public API has them. */

export type ThemeColors = {
  accent: string | null;
  background: string | null;
  card: string | null;
  text: string | null;
};
export type Card = { name: string; services: { serviceId: string; name?: string }[] };
export type PageBody = {
  name: string;
  url: string;
  title: string | null;
  description: string | null;
  customDomain: string | null;
  defaultTheme: 'AUTO' | 'LIGHT' | 'DARK';
  logo: string | null;
  favicon: string | null;
  redirectTo: string | null;
  isPrivate: boolean;
  colors: { light: ThemeColors; dark: ThemeColors } | null;
  cards: Card[];
};
export type StatusPage = PageBody & { id: string; updated_at: string | null };
export type Service = { id: string; name: string; checkIds: string[] };

/** All entries of a list by cursor. */
export const all = async <Entry>(path: string, signal: AbortSignal): Promise<Entry[]> =>
  (await get<{ entries: Entry[] }>(`${path}?paginated=false`, signal)).entries;
