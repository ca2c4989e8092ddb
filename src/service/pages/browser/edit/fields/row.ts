/** The description of a form: rows, one for each field of the API. test/service/pages/edit-fields.test.ts compares them with the schema. */

export type Value = string | number | null;
export type Choice = { readonly value: Value; readonly title: string };
/** The body of a check, or a part of it. */
export type Body = { readonly [field: string]: unknown };

/** Lists of the account that fields choose from. */
export type Source =
  'locations' | 'privateLocations' | 'groups' | 'snippets' | 'runtimes' | 'services' | 'certificates';

/** A cell of a row in a list, such as the name of a header. */
export type Column = {
  readonly key: string;
  readonly label: string;
  readonly kind: 'text' | 'choice' | 'switch' | 'area';
  readonly default?: unknown;
  /** An empty text is sent as null. */
  readonly nullable?: boolean;
  readonly max?: number;
  readonly choices?: readonly string[];
  /** The choices that make sense in this row; without it all. */
  readonly choicesOf?: (row: Body) => readonly string[];
  readonly placeholder?: (row: Body) => string;
  /** Whether the cell is shown when it has its default. */
  readonly when?: (row: Body) => boolean;
  /** The text is hidden while it is typed. */
  readonly isSecret?: (row: Body) => boolean;
};

type Common = {
  /** Path in the body, such as `request.url`. */
  readonly path: string;
  readonly label: string;
  readonly hint?: string;
  /** The default of the API; absent = it has none. */
  readonly default?: unknown;
  /** What a new check begins with, if it is not the default. */
  readonly initial?: unknown;
  readonly required?: boolean;
  /** Whether the field is shown. */
  readonly when?: (body: Body) => boolean;
  /** Takes a whole line of the form. */
  readonly isWide?: boolean;
};

/** `empty`: what an empty field sends. Undefined = the field is left out. */
type Kinds =
  | {
      readonly kind: 'text' | 'password' | 'area' | 'code';
      readonly empty?: null | '';
      readonly max?: number;
      readonly placeholder?: string;
    }
  | {
      readonly kind: 'number';
      readonly empty?: null | undefined;
      readonly min?: number;
      readonly max?: number;
      readonly unit?: string;
    }
  | { readonly kind: 'choice'; readonly choices: readonly Choice[] }
  | { readonly kind: 'switch' }
  | { readonly kind: 'words'; readonly max?: number }
  | { readonly kind: 'many'; readonly from: Source; readonly choices?: readonly string[] }
  | { readonly kind: 'several'; readonly choices: readonly Choice[] }
  | { readonly kind: 'pick'; readonly from: Source; readonly none: string | null }
  /** Null, or an object with fields of its own. */
  | { readonly kind: 'object'; readonly rows: readonly Row[] }
  | {
      readonly kind: 'list';
      readonly one: string;
      readonly columns: readonly Column[];
      readonly max?: number;
    }
  | { readonly kind: 'json' }
  | { readonly kind: 'channels' }
  | { readonly kind: 'bundle' };

export type Row = Common & Kinds;

/** Fields with one heading. Folded ones open by a click, or when one of their fields has an error. */
export type Section = {
  readonly title: string;
  readonly isFolded?: boolean;
  readonly intro?: string;
  readonly rows: readonly Row[];
};

/** Choices whose titles are their values. */
export const named = (...values: readonly string[]): readonly Choice[] =>
  values.map((value) => ({ value, title: value }));

/** Numbers with a unit. */
export const numbers = (values: readonly number[], title: (value: number) => string): readonly Choice[] =>
  values.map((value) => ({ value, title: title(value) }));
