import Type, { type Static } from 'typebox';
import { Nullable, StringEnum } from '../../protocol/schema.ts';
import { anyId, PageOf } from '../http/fields/cursor.ts';
import { dateTime } from '../http/fields/dates.ts';
import { ignored } from '../http/fields/ignored-fields.ts';
import { open, strict, strictPartial } from '../http/fields/strict-schema.ts';
import { themes } from './statements.ts';

/** The bodies of status pages. */

/** Limit per page. */
export const maxOnPage = 500;

const Link = Nullable(
  Type.String({
    maxLength: 2048,
    pattern: '^https?://[^\\s"\'<>\\\\]+$',
    description: 'a URL that begins with http:// or https://',
  }),
  { default: null },
);

const Color = Nullable(Type.String({ pattern: '^#[0-9a-fA-F]{6}$', description: 'like #2459c4' }), {
  default: null,
});
const ThemeColors = Type.Object(
  { accent: Color, background: Color, card: Color, text: Color },
  { default: {}, description: 'null = the default colour' },
);

const settable = {
  name: Type.String({ minLength: 1, maxLength: 255 }),
  url: Type.String({
    pattern: '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$',
    description:
      '1 to 63 lower-case letters, digits or hyphens: the page is /status/<url>. No two pages have the same one',
  }),
  customDomain: Nullable(
    Type.String({
      maxLength: 253,
      pattern: '^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$',
      description: 'a host name in lower-case letters: requests for its / are answered with the page',
    }),
    { default: null },
  ),
  description: Nullable(Type.String({ maxLength: 4096 }), { default: null }),
  defaultTheme: StringEnum(themes, { default: 'AUTO', description: 'AUTO = as the reader has it.' }),
  logo: Link,
  favicon: Link,
  redirectTo: {
    ...Link,
    description: 'a URL that begins with http:// or https://: where the logo and the name of the page lead',
  },
  isPrivate: Type.Boolean({ default: false, description: 'Who reads the page must have an API key.' }),
  title: Nullable(Type.String({ minLength: 1, maxLength: 255 }), {
    default: null,
    description: 'The heading of the page; null = its name.',
  }),
  colors: Nullable(Type.Object({ light: ThemeColors, dark: ThemeColors }), {
    default: null,
    description: 'Colours of the page in its two themes; null = the default ones.',
  }),
};

export const StatusPage = open(
  Type.Object(
    {
      id: Type.String({ format: 'uuid' }),
      accountId: Type.String({ format: 'uuid' }),
      ...settable,
      cards: Type.Array(
        Type.Object({
          name: Type.String(),
          services: Type.Array(
            Type.Object({ serviceId: Type.String({ format: 'uuid' }), name: Type.String() }),
          ),
        }),
      ),
      created_at: dateTime,
      updated_at: Nullable(dateTime),
    },
    { $id: 'StatusPage', title: 'StatusPage' },
  ),
);
export const StatusPagePage = PageOf('StatusPage', 'StatusPagePage');

const fields = Type.Object({
  ...settable,
  cards: Type.Array(
    Type.Object({
      name: Type.String({ minLength: 1, maxLength: 255 }),
      services: Type.Array(Type.Object({ serviceId: anyId, name: ignored }), {
        maxItems: maxOnPage,
        default: [],
      }),
    }),
    { maxItems: 50, default: [] },
  ),
  id: ignored,
  accountId: ignored,
  created_at: ignored,
  updated_at: ignored,
});
export const CreateBody = strict(fields);
export const ChangeBody = strictPartial(fields);
export type Cards = Static<typeof fields>['cards'];
