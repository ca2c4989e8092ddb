/** How `{{X}}` is escaped in its context, so that the surrounding text stays valid. `{{{X}}}` is always raw. */
export type Escaping = 'uri' | 'json' | 'html' | 'raw';

const htmlSigns: { readonly [sign: string]: string } = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#x27;',
};

/** Escapes `text` as a part of a URL, of a JSON string, or of HTML. */
export function escaped(text: string, escaping: Escaping): string {
  switch (escaping) {
    case 'raw':
      return text;
    case 'json':
      return JSON.stringify(text).slice(1, -1);
    case 'html':
      return text.replaceAll(/[&<>"']/g, (sign) => htmlSigns[sign] ?? sign);
    case 'uri':
      // Half of a surrogate pair has no UTF-8 form; converting through a Buffer replaces it.
      return encodeURIComponent(Buffer.from(text).toString());
  }
}
