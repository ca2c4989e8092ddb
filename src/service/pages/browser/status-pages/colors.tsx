import { errorAt, type FieldErrors } from '../parts/form/field.tsx';
import { TextField } from '../parts/form/inputs.tsx';
import type { PageBody, ThemeColors } from './pages.ts';

/** The colours of a status page in its two themes. */

const none: ThemeColors = { accent: null, background: null, card: null, text: null };
const names = [
  { name: 'accent', title: 'Links' },
  { name: 'background', title: 'Background' },
  { name: 'card', title: 'Cards' },
  { name: 'text', title: 'Text' },
] as const;

export function ColorFields({
  value,
  errors,
  onChange,
}: {
  value: PageBody['colors'];
  errors: FieldErrors;
  onChange: (value: PageBody['colors']) => void;
}) {
  const colors = { light: { ...none, ...value?.light }, dark: { ...none, ...value?.dark } };
  const set = (theme: 'light' | 'dark', name: keyof ThemeColors, text: string) => {
    const changed = { ...colors, [theme]: { ...colors[theme], [name]: text === '' ? null : text } };
    const isEmpty = [changed.light, changed.dark].every((one) =>
      Object.values(one).every((color) => color === null),
    );
    onChange(isEmpty ? null : changed);
  };
  return (
    <>
      {(['light', 'dark'] as const).map((theme) => (
        <fieldset key={theme} class="field">
          <legend>{theme === 'light' ? 'Colours, light theme' : 'Colours, dark theme'}</legend>
          <div class="field-grid">
            {names.map(({ name, title }) => (
              <TextField
                key={name}
                label={`${title} (${theme})`}
                placeholder="default, or like #2459c4"
                value={colors[theme][name] ?? ''}
                error={errorAt(errors, `colors.${theme}.${name}`)}
                onChange={(text) => set(theme, name, text)}
              />
            ))}
          </div>
        </fieldset>
      ))}
    </>
  );
}
